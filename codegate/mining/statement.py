"""What the model is told: the change's own words, scrubbed, or what the failing tests showed.

Two modes. ``change`` takes the commit's or pull request's text when enough of it is left and none of it gives the
fix away. ``failure`` is made from the failing tests' titles and errors: no test source and no path of the fix.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from codegate.grading import TestResult
from codegate.mining.cut import Cut
from codegate.mining.history import Unit
from codegate.mining.syntax import IDENTIFIER, decode
from codegate.mining.validation import TestOutcomes

MIN_WORDS: Final = 8
MASK: Final = "[redacted]"
_MAX_READ: Final = 50_000
_MAX_CHARACTERS: Final = 6000
_MAX_MASKS: Final = 3
_RUN: Final = 8
_MAX_TESTS: Final = 12
_MAX_MESSAGE: Final = 400
_MAX_MESSAGE_LINES: Final = 4

_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE: Final = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_DIFF_LINE: Final = re.compile(r"^(?:diff --git |index [0-9a-f]+\.\.|--- a/|\+\+\+ b/|@@ -\d|[+-](?![ -]))")
_TRAILER: Final = re.compile(
    r"^\s*(?:[A-Z][a-z]+(?:-[A-Za-z]+)+|Change-Id|Cc|Closes|Fixes|Resolves|Refs?|Bug|Issue|See)\s*:\s.*$"
)
_PLUMBING: Final = re.compile(
    r"^\s*(?:Merge (?:pull request|PR|branch|branches|remote-tracking|tag)\b.*|Merged (?:in|PR)\b.*"
    r"|See merge request .*|Auto merge of .*|\(cherry picked from .*|Conflicts:.*|# Conflicts.*"
    r"|[-*]\s*\[[ xX]\].*|\d+: .* r=\S+.*|---+|\*\*\*+)$",
    re.IGNORECASE,
)
_CLOSES: Final = re.compile(
    r"(?:\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see|related to|part of|issue)\b:?\s*)?"
    r"(?:\bissue\s+)?(?:\b[\w.-]+/[\w.-]+[#!]\d+|\bGH-\d+|(?<![\w&])[#!]\d+)(?:\s*(?:,|and|&)\s*[#!]\d+)*",
    re.IGNORECASE,
)
_LINK: Final = re.compile(r"(?:https?|git|ssh)://[^\s)>\]]+")
_SHA: Final = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b")
_EMPTY_BRACKETS: Final = re.compile(r"[(\[]\s*[,;.]?\s*[)\]]")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_HUMAN: Final = re.compile(r"[_\W]+")
_CODE_LIKE: Final = re.compile(r"[^_]_[^_]|[0-9]|[a-z][A-Z]")


@dataclass(frozen=True)
class StatementText:
    """A statement and how it was made."""

    mode: Literal["change", "failure"]
    text: str


@dataclass(frozen=True)
class FixVocabulary:
    """What only the fix knows: the tokens of its added lines, and the identifiers that are not in the base."""

    lines: tuple[tuple[str, ...], ...]
    identifiers: frozenset[str]


def vocabulary(cut: Cut) -> FixVocabulary:
    """Return what the source part of ``cut`` adds."""
    added = [line for lines in added_lines(cut).values() for line in lines]
    tokens = tuple(tuple(_TOKEN.findall(line)) for line in added)
    # A plain word ("over", "short") is English in a statement, whatever the fix calls by it.
    words = {word for line in tokens for word in line if IDENTIFIER.fullmatch(word) and _CODE_LIKE.search(word)}
    known: set[str] = set()
    for file in cut.base.values():
        if words <= known:
            break
        known |= words & set(IDENTIFIER.findall(file.data.decode("utf-8", "replace")))
    return FixVocabulary(tokens, frozenset(words - known))


def added_lines(cut: Cut) -> dict[str, list[str]]:
    """Return, by path, the stripped lines of the fixed source files that their base versions do not have."""
    found: dict[str, list[str]] = {}
    for path, file in cut.fix.items():
        old = cut.base.get(path)
        before = {line.strip() for line in decode(old.data).splitlines()} if old is not None else set()
        lines = decode(file.data).splitlines() if file is not None else []
        found[path] = [line.strip() for line in lines if line.strip() and line.strip() not in before]
    return found


def write_statement(name: str, unit: Unit, cut: Cut, outcomes: TestOutcomes) -> StatementText | None:
    """Return the statement of a problem, or None when every wording would give the fix away.

    Args:
        name: the suite's name, as the name of the project.
        unit: the change.
        cut: its parts.
        outcomes: what its tests showed.
    """
    known = vocabulary(cut)
    text = _masked(scrub(unit), known)
    if text is not None and len(_WORD.findall(text.replace(MASK, ""))) >= MIN_WORDS:
        return StatementText("change", f"{text}\n")
    text = describe_failures(name, outcomes, known, tuple(cut.fix))
    return None if _quotes(text, known) else StatementText("failure", text)


def scrub(unit: Unit) -> str:
    """Return the unit's title and body without references, trailers, patches, checklists and merge plumbing."""
    body = unit.message[:_MAX_READ].partition("\n")[2]
    lines = [line for line in _FENCE.sub("", _COMMENT.sub("", body)).splitlines() if not _is_plumbing(line)]
    if unit.kind == "merge" and any(line.strip() and not line.startswith("* ") for line in lines):
        # The merge has a text of its own; subjects of the merged commits tell how, not what.
        lines = [line for line in lines if not line.startswith("* ")]
    title = _without_references("" if _is_plumbing(unit.title) else unit.title)
    kept = [_without_references(line) for line in lines]
    if title and kept:
        kept = [line for line in kept if line.strip(" *") != title]
    text = "\n".join([title, "", *kept]) if title else "\n".join(kept)
    return re.sub(r"\n{3,}", "\n\n", text).strip()[:_MAX_CHARACTERS]


def _is_plumbing(line: str) -> bool:
    return any(pattern.match(line) for pattern in (_TRAILER, _PLUMBING, _DIFF_LINE))


def _without_references(line: str) -> str:
    bare, before = line, ""
    while bare != before:  # what is removed may bring another reference to light ("#1#2")
        before = bare
        for pattern in (_LINK, _CLOSES, _SHA, _EMPTY_BRACKETS):
            bare = pattern.sub(" ", bare)
    if bare == line:
        return line.rstrip()
    indent = line[: len(line) - len(line.lstrip())]
    # What stood around a reference must not begin or end the line ("Fixes #1. The text" leaves ". The text").
    text = re.sub(r"[ \t]+([.,;:])(?=\s|$)", r"\1", re.sub(r"[ \t]+", " ", bare)).lstrip(" .,;:)")
    text = re.sub(r"([.!?])(?:\s*[.,;:])+(?=\s|$)", r"\1", text)
    return (indent + text).rstrip(" ,;:-(") if text else ""


def _masked(text: str, known: FixVocabulary) -> str | None:
    """Return ``text`` with the fix's own identifiers masked; None when it quotes the fix or little would be left."""
    if not text or _quotes(text, known):
        return None
    named = {word for word in IDENTIFIER.findall(text) if word in known.identifiers}
    if len(named) > _MAX_MASKS:
        return None
    for word in named:
        text = re.sub(rf"\b{re.escape(word)}\b", MASK, text)
    return text


def _quotes(text: str, known: FixVocabulary) -> bool:
    """Return whether ``text`` repeats a run of at least eight tokens of a line that the fix adds."""
    runs = {line[start : start + _RUN] for line in known.lines for start in range(len(line) - _RUN + 1)}
    tokens = _TOKEN.findall(text)
    return any(tuple(tokens[start : start + _RUN]) in runs for start in range(len(tokens) - _RUN + 1))


def describe_failures(name: str, outcomes: TestOutcomes, known: FixVocabulary, fix_paths: Sequence[str]) -> str:
    """Return the failure-derived statement: which behaviours fail, and with which errors."""
    component = next((path.removeprefix("src/").split("/")[0] for path in fix_paths if "/" in path), name)
    count = len(outcomes.fail_to_pass)
    noun = "behaviour does" if count == 1 else "behaviours do"
    lines = [f"In {name} ({component}), the following {noun} not work as expected:", ""]
    for test in outcomes.fail_to_pass[:_MAX_TESTS]:
        entry = _describe(test, outcomes.evidence.get(test), outcomes.kinds, fix_paths)
        lines.append(entry if not _quotes(entry, known) else f"- {_title(test)}")
    if count > _MAX_TESTS:
        lines.append(f"- and {count - _MAX_TESTS} more like these")
    lines += ["", "Find the cause and mend it, without breaking what works."]
    return "\n".join(lines) + "\n"


def _describe(test: str, result: TestResult | None, kinds: Mapping[str, str], fix_paths: Sequence[str]) -> str:
    title = _title(test)
    if kinds.get(test) == "collection":
        return f"- {title}: the tests cannot even be imported"
    if result is None or result.status == "missing":
        ending = "it does not finish in time" if kinds.get(test) == "timeout" else "it ends the process"
        return f"- {title}: {ending}"
    message = _message(result.message, result.exception or "", fix_paths)
    exception = (result.exception or "").rpartition(".")[2]
    head = f"- {title}" + (f" (`{exception}`)" if exception else "")
    if not message:
        return head
    quoted = "\n".join(f"      {line}" for line in message)
    return f"{head}:\n\n{quoted}\n"


def _title(test: str) -> str:
    """Return the test's name as words, with its parameters: ``test_a_b[x-1]`` becomes ``a b [x-1]``."""
    parts = test.partition("::")[2].split("::") if "::" in test else [test]
    function, bracket, parameters = parts[-1].partition("[")
    words = " ".join(_HUMAN.sub(" ", re.sub(r"^test_?", "", function)).split()) or function
    group = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", re.sub(r"^Tests?|Tests?$", "", parts[-2])) if len(parts) > 1 else ""
    group = " ".join(_HUMAN.sub(" ", group).split())
    shown = parameters.removesuffix("]")
    tail = f" [{shown[:80]}{'…' if len(shown) > 80 else ''}]" if bracket else ""
    return f"{group + ': ' if group else ''}{words}{tail}"


def _message(message: str, exception: str, fix_paths: Sequence[str]) -> list[str]:
    """Return the first lines of an error message, shortened and without the fix's paths."""
    text = message.strip()
    for name in (exception, exception.rpartition(".")[2]):
        if name and text.startswith(f"{name}:"):
            text = text[len(name) + 1 :].strip()
    for path in fix_paths:
        text = text.replace(path, "…")
    text = re.sub(r"/(?:tmp|home|workspace|root|var)/[^\s'\"]*", "…", text)
    text = re.sub(r"\b0x[0-9a-fA-F]{4,}\b", "0x…", text)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()][:_MAX_MESSAGE_LINES]
    shown, left = [], _MAX_MESSAGE
    for line in lines:
        if left <= 0:
            break
        shown.append(line if len(line) <= left else line[:left] + "…")
        left -= len(line)
    return shown
