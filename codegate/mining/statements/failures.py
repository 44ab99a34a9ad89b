"""What the failing tests showed, in words: the statement that every proven problem can have."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from codegate.grading import TestResult
from codegate.mining.proving.validation import TestOutcomes
from codegate.mining.statements.scrub import normalise
from codegate.mining.statements.vocabulary import FixVocabulary, quotes

_MAX_TESTS: Final = 12
_MAX_MESSAGE: Final = 400
_MAX_MESSAGE_LINES: Final = 4
_MAX_TITLE: Final = 200
_MAX_PARAMETERS: Final = 80

_HUMAN: Final = re.compile(r"[_\W]+")
_GO_TEST: Final = re.compile(r"(?:Test|Fuzz|Example|Benchmark)(?![a-z])")
_SCRIPT: Final = re.compile(r"\.(?:[cm]?[jt]sx?|vue|svelte)$")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_FRAME: Final = re.compile(r"\s*at (?:.{0,200} \()?(?:file://|node:|/|[\w.@-]{1,100}/).{0,300}:\d+:\d+\)?\s*")
_PLACE: Final = re.compile(r"\s*[\w./-]{1,200}\.(?:go|[cm]?[jt]sx?|py):\d+(?::\d+)?: ?")


def describe_failures(name: str, outcomes: TestOutcomes, known: FixVocabulary, fix_paths: Sequence[str]) -> str:
    """Return the failure-derived statement: which behaviours fail, and with which errors; no path of the fix.

    Args:
        name: what the project is called.
        outcomes: what its tests showed.
        known: what only the fix knows; an error that quotes it is left out.
        fix_paths: files that the fix changes.
    """
    component = next((path.removeprefix("src/").split("/")[0] for path in fix_paths if "/" in path), name)
    place = name if component in {name, "lib", "src"} else f"{name} ({component})"
    count = len(outcomes.fail_to_pass)
    noun = "behaviour does" if count == 1 else "behaviours do"
    lines = [f"In {place}, the following {noun} not work as expected:", ""]
    for test in outcomes.fail_to_pass[:_MAX_TESTS]:
        entry = _describe(test, outcomes.evidence.get(test), outcomes.kinds, fix_paths)
        lines.append(entry if not quotes(entry, known) else f"- {title_of(test)}")
    if count > _MAX_TESTS:
        lines.append(f"- and {count - _MAX_TESTS} more like these")
    lines += ["", "Find the cause and mend it, without breaking what works."]
    return "\n".join(lines) + "\n"


def title_of(test: str) -> str:
    """Return a test's name as words, whichever language it is in.

    ``tests/a.py::TestSums::test_of_nothing[x-1]`` is ``Sums: of nothing [x-1]``, ``a.test.js::sums > adds`` is
    ``sums: adds``, ``pkg/sums::TestParse/empty_input`` is ``Parse: empty input``. What is in doubt stays as it is.
    """
    test = " ".join(normalise(test, 4 * _MAX_TITLE).split())
    bare, bracket, parameters = test.partition("[")
    place, colons, rest = bare.partition("::")
    if not colons:
        place, rest = "", bare
    if colons and _SCRIPT.search(place):
        return _cut(test.partition("::")[2].replace(" > ", ": "), _MAX_TITLE)
    if _GO_TEST.match(rest) and not place.endswith(".py"):
        return _cut(_go_title(test.partition("::")[2] if colons else test), _MAX_TITLE)
    parts = [part for part in rest.split("::") if part] or [test]
    if len(parts) == 1 and re.fullmatch(r"\w+(?:\.\w+)+", parts[0]):
        parts = parts[0].split(".")  # package.module.Class.test, as unittest writes it
        parts = parts[-2:] if re.match(r"[A-Z]", parts[-2]) else parts[-1:]
    function = parts[-1]
    words = " ".join(_HUMAN.sub(" ", re.sub(r"^test(?:_|(?=[A-Z0-9])|$)", "", function)).split())
    group = _words(re.sub(r"^Tests?(?=[A-Z_])|Tests?$|TestCase$", "", parts[-2])) if len(parts) > 1 else ""
    shown = parameters.removesuffix("]")
    tail = f" [{_cut(shown, _MAX_PARAMETERS)}]" if bracket else ""
    words = words if "_" in function.removeprefix("test_") else _split_camel(words)
    return _cut(f"{group + ': ' if group else ''}{words or function}{tail}", _MAX_TITLE + _MAX_PARAMETERS)


def _go_title(name: str) -> str:
    function, *cases = name.split("/")
    head = _words(_GO_TEST.sub("", function)) or function
    return ": ".join([head, " / ".join(case.replace("_", " ") for case in cases)] if cases else [head])


def _words(name: str) -> str:
    return " ".join(_HUMAN.sub(" ", _split_camel(name)).split())


def _split_camel(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _describe(test: str, result: TestResult | None, kinds: Mapping[str, str], fix_paths: Sequence[str]) -> str:
    title = title_of(test)
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


def _message(message: str, exception: str, fix_paths: Sequence[str]) -> list[str]:
    """Return the first lines of an error message, shortened, without stack frames and the fix's paths."""
    text = normalise(_COLOUR.sub("", message[:20_000])).strip()
    for name in (exception, exception.rpartition(".")[2]):
        if name and text.startswith(f"{name}:"):
            text = text[len(name) + 1 :].strip()
    for path in fix_paths:
        text = text.replace(path, "…")
    text = re.sub(r"/(?:tmp|home|workspace|root|var)/[^\s'\"]*", "…", text)
    text = re.sub(r"\b0x[0-9a-fA-F]{4,}\b", "0x…", text)
    told = [_PLACE.sub("", line, count=1) if _PLACE.match(line) else line for line in text.splitlines()]
    lines = [line.rstrip() for line in told if line.strip() and not _FRAME.fullmatch(line)][:_MAX_MESSAGE_LINES]
    shown, left = [], _MAX_MESSAGE
    for line in lines:
        if left <= 0:
            break
        shown.append(line if len(line) <= left else line[:left] + "…")
        left -= len(line)
    return shown
