"""Turn steps of CI into set-up commands.

Set-up runs without root and without the files of a GitHub runner, and installs the project as editable.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from codegate.environments.expressions import EXPRESSION

QUOTED: Final = r"""'[^']*'|"(?:[^"\\]|\\.)*\""""
_REST: Final = rf"(?:{QUOTED}|[^;&|\n'\"])*"  # the rest of a simple command
_APT: Final = re.compile(rf"(?:sudo\s+(?:-\S+\s+)*)?(?:\b[A-Z_]+=\S+\s+)*\bapt(?:-get)?\s({_REST})")
_PACKAGE: Final = re.compile(r"[a-z0-9][a-z0-9+.-]{1,99}")
_SUDO: Final = re.compile(rf"\bsudo\s{_REST}")
_MANAGER: Final = re.compile(
    rf"\bcorepack\s{_REST}|\bnpm\s+(?:i|install|add)\s+(?:-g|--global)\s+(?:npm|pnpm|yarn|corepack)(?:@\S+)?(?=\s*(?:[;&|]|$))",
    re.MULTILINE,
)
_OUTPUT: Final = re.compile(r"^.*>>?\s*[\"']?\$\{?GITHUB_(?:OUTPUT|STEP_SUMMARY)\}?[\"']?[ \t]*$\n?", re.MULTILINE)
_PIP: Final = re.compile(rf"\bpip3?\s+install\b{_REST}")
_COPY: Final = re.compile(r"(?<=\s)(?<!-e )(?<!--editable )((['\"]?)\./?(?:\[[\w., -]+\])?\2)(?=\s|$)")
_EXPORTED: Final = re.compile(
    r"""^[ \t]*echo\s+["']?([A-Za-z_]\w*)=([^"'$`\n]*?)["']?\s*>>\s*["']?\$\{?GITHUB_ENV\}?["']?[ \t]*$""", re.MULTILINE
)
_GITHUB_FILE: Final = re.compile(r"\bGITHUB_(?:ENV|PATH|OUTPUT|STEP_SUMMARY)\b")
STRUCTURE: Final = re.compile(r"<<|\\$|^\s*(?:if|for|while|case)\b", re.MULTILINE)
GITHUB_PLACES: Final = {"GITHUB_WORKSPACE": "/workspace", "RUNNER_TEMP": "/tmp", "RUNNER_OS": "Linux"}  # noqa: S108


@dataclass(frozen=True)
class RewrittenStep:
    """A CI step, rewritten as a part of set-up.

    Attributes:
        text: the commands; empty if nothing is left.
        packages: system packages that the step would install, which the sandbox brings instead.
        env: variables that the step sets for later steps, and GitHub's variables that it reads.
        left_out: parts left out or rewritten, with reasons.
        unknown: expressions that only GitHub can evaluate; their lines are left out.
    """

    text: str
    packages: tuple[str, ...]
    env: Mapping[str, str]
    left_out: tuple[str, ...]
    unknown: tuple[str, ...]


def rewrite_step(text: str) -> RewrittenStep:
    """Return a CI step's shell text, rewritten for set-up."""
    packages: list[str] = []
    left_out: list[str] = []
    env: dict[str, str] = {}

    def install(match: re.Match[str]) -> str:
        words = match[1].split()
        if "install" in words:
            named = [word.partition("=")[0] for word in words[words.index("install") + 1 :] if word[0] not in "-<>"]
            packages.extend(name for name in named if _PACKAGE.fullmatch(name))
            left_out.extend(f"the system's package `{name[:60]}`" for name in named if not _PACKAGE.fullmatch(name))
        return ":"

    def drop(reason: str, match: re.Match[str]) -> str:
        left_out.append(f"`{shorten(match[0])}`: {reason}")
        return ":"

    def editable(match: re.Match[str]) -> str:
        changed = _COPY.sub(r"-e \1", match[0])
        if changed != match[0]:
            left_out.append(f"`{shorten(match[0])}` is rewritten with `-e`: tests would run a copy of the project")
        return changed

    def export(match: re.Match[str]) -> str:
        env[match[1]] = match[2]
        return ""

    unknown = tuple(dict.fromkeys(shorten(expression) for expression in EXPRESSION.findall(text)))
    left_out += [f"`{expression}` has no value here" for expression in unknown]
    if unknown:
        lines = [] if STRUCTURE.search(text) else [line for line in text.splitlines() if "${{" not in line]
        text = "\n".join(lines)
    text = _EXPORTED.sub(export, one_line_each(text))
    text = text if STRUCTURE.search(text) else _OUTPUT.sub("", text)
    text = _APT.sub(install, text)
    text = _SUDO.sub(lambda match: drop("it needs root", match), text)
    text = _MANAGER.sub(lambda match: drop("the build brings what `packageManager` names", match), text)
    text = _PIP.sub(editable, text)
    for name in dict.fromkeys(_GITHUB_FILE.findall(text)):
        env[name] = "/dev/null"
        if name in {"GITHUB_ENV", "GITHUB_PATH"}:
            left_out.append(f"what a step writes to `{name}`")
    env |= {name: value for name, value in GITHUB_PLACES.items() if re.search(rf"\b{name}\b", text)}
    kept = (re.sub(r"^\s*(?:: *(?:&&|;|$) *)+|(?: *(?:&&|;) *:)+ *$", "", line) for line in text.splitlines())
    text = "\n".join(line.rstrip() for line in kept if line.strip())
    done = all(line.lstrip().startswith(("#", "set ")) for line in text.splitlines())
    return RewrittenStep("" if done else text, tuple(packages), env, tuple(left_out), unknown)


def one_line_each(text: str) -> str:
    """Return a shell text with continued lines joined."""
    return re.sub(r"\\\n\s*", " ", text)


def shorten(text: str) -> str:
    """Return a command's beginning on one line, for messages."""
    return " ".join(text.split())[:80]
