"""Read signals from titles, texts, branches, labels, issues and changelogs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from codegate.languages.syntax import decode
from codegate.mining.cut import Cut
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
from codegate.suite import Kind

_MAX_TEXT: Final = 20_000
_MAX_TITLE: Final = 500
_MAX_PREFIXES: Final = 4
_MAX_CHANGELOG_BYTES: Final = 1 << 20
_MAX_ENTRIES: Final = 20
_MAX_HEADING: Final = 4  # words

CHANGELOG: Final = re.compile(
    r"(?:^|/)(?:changelog|changes|change_log|news|history|releases?|release[-_]?notes|whatsnew|newsfragments)"
    r"(?:\.\w{1,4})?(?:/.*)?$|(?:^|/)(?:changelog\.d|\.changeset|\.changes)/",
    re.IGNORECASE,
)
#: Prefixes of a title: a type or a scope, a tag, references, an emoji.
_PREFIX: Final = re.compile(
    r"\s*(?:"
    r"(?P<type>[A-Za-z]+)(?:\([^()]{0,60}\))?!?:(?=\s)"
    r"|\[(?P<tag>[^\[\]]{1,40})\]:?"
    r"|(?:(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|see|refs?|issue|gh|bpo|pr|and|,|&)\s*){0,2}"
    r"(?:(?:#|!|\bGH-|\bbpo-|\b[A-Z][A-Z0-9]{1,9}-)\d+|(?<=issue )\d+)(?:\s*[:,.–—-]+(?=\s)|(?=,?\s))"
    r"|[\w./*-]{1,40}:(?=\s)"
    r"|:\w{2,30}:|[^\w\s\"'`(\[#@$_.-]+(?=\s)"
    r")\s*",
    re.IGNORECASE,
)
_NOT_YET: Final = re.compile(r"(?:needs?|possible|potential|maybe|not)[ -:]|\?|tracker|wontfix|triage", re.IGNORECASE)
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|\d+\.)\s*")


@dataclass(frozen=True)
class Signal:
    """One sign of a kind of change.

    Attributes:
        name: the type of sign.
        bits: its weight.
        detail: the words in which it was seen, on one line.
    """

    name: str
    kind: Kind
    bits: float
    detail: str = ""


#: Kinds of change, and the words that name them in types, tags, labels, branches and sections of changelogs.
_NAMES: Final[tuple[tuple[Kind, str], ...]] = (
    ("security", r"sec|secur\w*|vulnerab\w*|cve"),
    ("bugfix", r"(?:bug|hot)?fix(?:e[sd]|ing)?|bugs?|regressions?|defects?|crash(?:es)?|broken"),
    ("perf", r"perf|performance|speed\w*"),
    ("feature", r"feat|features?|enh|enhance\w*|add(?:ed)?|new|support|improvements?|proposals?|deprecat\w*"),
    ("refactor", r"ref|refactor\w*|clean\w*|chores?|maintenance|typ(?:es?|ing)|style|docs?|tests?|build|ci|remov\w*"
     r"|misc|debt"),
)  # fmt: skip
#: Bits of a kind's name, by where it stands.
_NAMED: Final = {"type": 3.0, "tag": 2.0, "label": 3.0, "section": 2.5, "branch": 1.5}

#: The lexicon of titles: words that one begins with (the first that fits counts), and words that stand in it. An entry
#: has its name, the kind that it speaks for, and bits: the binary logarithm of how much more often its words were seen
#: among hand-labelled, executed bug fixes than among other executed changes (204 changes of eight repositories),
#: pulled towards zero.
_OPENINGS: Final[tuple[tuple[str, Kind, float, str], ...]] = (
    ("fix", "bugfix", 3.0, r"(?:(?:hot|bug)[- ]?)?fix(?:e[sd]|ing|up)?|repair\w*|tests? and fix|properly"
     r"|correct(?:s|ed|ly)?"),
    ("handle", "bugfix", 1.0, r"handl(?:e[sd]?|ing)|respect\w*|honou?r\w*|preserv\w+|ensur\w+|restor\w+|reject\w*"
     r"|make sure|keep\w*|work ?around|patch\w*|catch\w*|escap\w+|account for|tolerat\w+"
     r"|add(?:s|ed|ing)? (?:(?!support|tests?\b)[\w'-]+ ){0,2}"
     r"(?:nil|null|none|bounds?|range|overflow|length|error|\w+Error) (?:handling|checks?|guards?)"),
    ("prevent", "bugfix", 1.5, r"prevent\w*|avoid\w*|guard\w*|protect\w*|block(?:s|ed|ing)?|stop\w*|never|no longer"
     r"|do(?:es)? ?n[o']t|disallow\w*|forbid\w*"),
    ("deprecate", "feature", 2.5, r"deprecat\w+"),
    ("speed up", "perf", 2.5, r"speed\w*|optimi[sz]\w+|faster|perf(?:ormance)?"
     r"|improv\w+ (?:the )?(?:performance|speed|efficiency)"),
    # Accepting input that was refused before may fix a bug or fulfil a wish.
    ("allow", "feature", 1.0, r"support(?:s|ed|ing)?|allow\w*|enabl\w+|accept\w*|let|permit\w*"),
    ("add", "feature", 2.0, r"add(?:s|ed|ing|itional)?|enh|feat|implement\w*|introduc\w+|provid\w+|new|creat\w+"
     r"|expos\w+|extend\w*|featur\w+|offer\w*|include|define"),
    ("rework", "refactor", 1.5, r"refactor\w*|renam\w+|mov(?:e[sd]?|ing)|clean\w*|simplif\w+|moderni[sz]\w+"
     r"|reorgani[sz]\w+|rewrit\w+|rewrote|extract\w*|split|convert\w*|remov\w+|drop\w*|delet\w+|replac\w+"
     r"|restructur\w+|unif\w+|inline|reformat\w*|re-?implement\w*|typ(?:e|ing|es)|annotat\w+|migrat\w+|port|bump"
     r"|upgrad\w+|lint\w*|tidy|tests?|docs?|document\w*|use .{1,60} instead of"),
)  # fmt: skip
_WITHIN: Final[tuple[tuple[str, Kind, float, str], ...]] = (
    ("defect", "bugfix", 1.5, r"fix(?:es|ed|ing)?|bugs?|bug-?fix(?:es)?|regressions?|crash(?:es|ed|ing)?"
     r"|incorrect(?:ly)?|wrong(?:ly)?|broken|break(?:s|ing|age)?|leak(?:s|ed|ing)?|races?|deadlocks?|overflow\w*"
     r"|underflow\w*|off[- ]by[- ]one|fail(?:s|ed|ing|ures?)?|hang(?:s|ing)?|infinite|corrupt\w*|mishandl\w+|typo"
     r"|(?:edge|corner)[- ]cases?|misleading|inconsisten\w+|unexpected(?:ly)?|mistaken(?:ly)?|spurious|faulty"
     r"|instead of|not work\w*|does ?n[o']t|properly|correctly|truncat\w+|lost|los(?:es|ing)|mangl\w+|missing"
     r"|invalid|duplicated?|ignor(?:es|ed|ing)|as expected|NoneType|panics?|nil pointer|segfault\w*|again"
     r"|(?<!raise )(?:Type|Value|Key|Index|Attribute|Name|Unicode|Recursion|Import|ZeroDivision|UnboundLocal)Error"),
    ("offer", "feature", 1.0, r"add(?:s|ed|ing)?|support(?: for)?|features?|enhancements?|ability"
     r"|allow(?:s|ed|ing)?|options?(?:al)?|new|implement\w*|introduc\w+|param(?:eter)?s?|flags?|customi[sz]\w+"
     r"|configurable"),
    ("speed up", "perf", 2.5, r"faster|speed(?:s|ed|ing)?[- ]?up|performance|quadratic|optimi[sz]\w+|efficien\w+"
     r"|memory usage|reduce (?:the )?(?:number of|memory|overhead)"
     r"|unnecessary (?:\w+ ){0,2}(?:computation|work|call|cop(?:y|ie))\w*"),
    ("deprecate", "feature", 2.5, r"deprecat(?:e[sd]?|ing|ion)"),
)  # fmt: skip
#: Openings after which words of ``offer`` do not count.
_EITHER_WAY: Final = frozenset({"handle", "prevent", "allow", "add"})
#: Factors for the bits of a title's words, by where the title stands.
_PLACES: Final = {"title": 1.0, "body": 0.5, "changelog": 0.5, "issue": 0.5}
#: Words of a bug report in longer texts.
_REPORT: Final = re.compile(
    r"\b(?:regression|bugs?|crash(?:es|ed)?|traceback|broken|incorrect(?:ly)?|wrong(?:ly)?|steps to reproduce"
    r"|reproduc\w+|(?:actual|expected) (?:behaviou?r|result)|previously|used to|root cause|raised (?:an? )?\w+Error)\b",
    re.IGNORECASE,
)
_SECURITY: Final = re.compile(
    r"\b(?:CVE-\d{4}-\d{4,}|GHSA(?:-[a-z0-9]{4}){3}|vulnerab\w+|security (?:fix|issue|bug|hole|advisory|problem|flaw)"
    r"|ReDoS|(?:path|directory) traversal|(?:code|command|sql|header|crlf) injection|XSS|CSRF|prototype pollution"
    r"|(?:prevent|avoid|block|disallow|forbid|den(?:y|ie)|restrict|protect)\w* [^\n]{0,40}?(?:__proto__|prototype))\b",
    re.IGNORECASE,
)


def without_type(title: str) -> str:
    """Return ``title`` without a type and scope such as ``fix(parser):``."""
    match = _PREFIX.match(title)
    typed = match is not None and _kind_named([match["type"] or ""])
    return title[match.end() :] if match is not None and typed else title


def word_signals(unit: Unit) -> Iterator[Signal]:
    """Yield signals in the change's title, text and branch."""
    body = unit.message[:_MAX_TEXT].partition("\n")[2]
    headline = list(title_signals(_headline(unit.title, unit.branch, body), "title"))
    yield from headline or title_signals(_first_line(body), "body")
    yield from _text_signals(unit.title, body)
    yield from _named("branch", unit.branch)


def enrichment_signals(unit: Unit, enrichment: Enrichment) -> Iterator[Signal]:
    """Yield signals in labels, texts and issues on GitHub."""
    if enrichment.title != unit.title:
        yield from title_signals(enrichment.title, "title")
    yield from _text_signals(enrichment.title, enrichment.body[:_MAX_TEXT])
    yield from label_signals((*enrichment.labels, *(label for issue in enrichment.issues for label in issue.labels)))
    for issue in enrichment.issues:
        yield from title_signals(issue.title, "issue")
        yield from _text_signals(issue.title, issue.body[:_MAX_TEXT])


def title_signals(title: str, place: str) -> Iterator[Signal]:
    """Yield signals in a title, named after its ``place``.

    ``place`` is where the title is from, such as ``changelog``.
    """
    kind, tag, rest = _strip(title[:_MAX_TITLE])
    if kind is not None:
        yield Signal(f"{place} type", kind, _NAMED["type"] * _PLACES[place], title.partition(":")[0].strip())
    yield from _named("tag", tag)
    # "fix: allow X": the type is the author's own word for what it is.
    bug = kind == "bugfix"
    first, end = "", 0
    for name, of, bits, pattern in _OPENINGS:
        match = re.match(rf"(?:{pattern})\b", rest, re.IGNORECASE)
        if match is not None:
            first, end = name, match.end()
            if not (bug and of in {"feature", "refactor"}):
                yield Signal(f"{place}: {name}", of, bits * _PLACES[place], match[0].lower())
            break
    for name, of, bits, pattern in _WITHIN:
        counted = first not in {name, "fix"} and not (of == "feature" and (bug or first in _EITHER_WAY))
        match = re.search(rf"\b(?:{pattern})\b", rest[end:], re.IGNORECASE)
        if counted and match is not None:
            yield Signal(f"{place}: {name}", of, bits * _PLACES[place], match[0].lower())


def label_signals(labels: Iterable[str]) -> Iterator[Signal]:
    """Yield signals in the labels of a pull request."""
    for label in labels:
        yield from _named("label", "" if _NOT_YET.search(label[:100]) else label[:100])


def changelog_signals(unit: Unit, cut: Cut) -> Iterator[Signal]:
    """Yield signals in the changelog lines that a change adds."""
    for change in unit.changes:
        file = cut.fixed.get(change.path)
        if file is None or file.is_link or change.path in cut.fix or not CHANGELOG.search(change.path):
            continue
        yield from _named("section", " ".join(change.path.rpartition("/")[2].split(".")[1:-1]))
        if len(file.data) <= _MAX_CHANGELOG_BYTES:
            old = cut.base.get(change.path)
            before = frozenset(decode(old.data).splitlines()) if old is not None else frozenset()
            yield from islice(_entries(before, decode(file.data).splitlines()), _MAX_ENTRIES)


def _entries(before: frozenset[str], after: list[str]) -> Iterator[Signal]:
    heading = ""
    for line in after:
        item = _BULLET.match(line)
        words = re.findall(r"\w+", line[:_MAX_TITLE])
        if item is None and words and not line[0].isspace() and len(words) <= _MAX_HEADING:
            heading = line[:_MAX_TITLE]
        elif item is not None and line not in before:
            yield from _named("section", heading)
            yield from title_signals(line[item.end() :], "changelog")


def _text_signals(title: str, body: str) -> Iterator[Signal]:
    report, hole = _REPORT.search(body), _SECURITY.search(f"{title}\n{body}")
    if report is not None:
        yield Signal("report", "bugfix", 1.0, " ".join(report[0].split()))
    if hole is not None:
        yield Signal("security", "security", 2.0, " ".join(hole[0].split())[:80])


def _named(place: str, text: str) -> Iterator[Signal]:
    """Yield the signal ``place`` if ``text`` names a kind.

    ``place`` is where the text is from, such as ``label``.
    """
    kind = _kind_named(re.findall(r"[A-Za-z]+", text))
    if kind is not None:
        yield Signal(place, kind, _NAMED[place], text)


def _kind_named(words: Sequence[str]) -> Kind | None:
    return next(
        (kind for kind, pattern in _NAMES if any(re.fullmatch(pattern, word, re.IGNORECASE) for word in words)), None
    )


def _headline(title: str, branch: str, body: str) -> str:
    """Return the title, or a merge's first commit subject.

    The title of a merge is its ``branch``, or begins with "Merge"; its ``body`` lists the subjects.
    """
    if title != branch and not title.startswith("Merge "):
        return title
    subjects = [line[2:] for line in body.splitlines() if line.startswith("* ") and not line.startswith("* Merge ")]
    return subjects[-1] if subjects else title


def _first_line(body: str) -> str:
    lines = (line.strip(" *-") for line in body.splitlines())
    return next((line for line in lines if line and not line.startswith("Merge ")), "")


def _strip(title: str) -> tuple[Kind | None, str, str]:
    """Return a title's type, tag and remaining words."""
    kind: Kind | None = None
    tag, rest = "", title.strip()
    for _ in range(_MAX_PREFIXES):
        match = _PREFIX.match(rest)
        if match is None or not match.end() or not rest[match.end() :].strip():
            break
        kind = kind or _kind_named([match["type"] or ""])
        tag = tag or match["tag"] or ""
        rest = rest[match.end() :]
    return kind, tag, rest
