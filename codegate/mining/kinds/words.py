"""What a change calls itself: its title, text and branch, the labels and issues, the lines it adds to a changelog."""

import re
from collections.abc import Iterable, Iterator
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


def _opens(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(words.split())})\b", re.IGNORECASE)


def _has(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


#: What may stand before a title's own words: a type or a scope, a tag, references, an emoji.
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
_REFACTORS: Final = ("refactor", "ref", "chore", "style", "docs", "doc", "test", "tests", "build", "ci", "types")
_TYPES: Final[dict[str, Kind]] = {
    **dict.fromkeys(("fix", "fixes", "hotfix", "bugfix", "bug"), "bugfix"),
    **dict.fromkeys(("feat", "feature", "features", "enh", "enhancement", "new"), "feature"),
    **dict.fromkeys(_REFACTORS, "refactor"),
    **dict.fromkeys(("perf",), "perf"),
    **dict.fromkeys(("security", "sec"), "security"),
}

#: How a title begins: the first that matches counts. A space in a pattern is written as \s.
_OPENINGS: Final[tuple[tuple[str, Kind, re.Pattern[str]], ...]] = (
    (
        "fix",
        "bugfix",
        _opens(r"(?:(?:hot|bug)[-\s]?)?fix(?:e[sd]|ing|up)? repair\w* tests?\sand\sfix properly correct(?:s|ed|ly)?"),
    ),
    (
        "handle",
        "bugfix",
        _opens(
            r"handl(?:e[sd]?|ing) respect\w* honou?r\w* preserv\w+ ensur\w+ restor\w+ reject\w* make\ssure keep\w*"
            r" work\s?around patch\w* catch\w* escap\w+ account\sfor tolerat\w+"
            # A missing check is a defect, though it is added.
            r" add(?:s|ed|ing)?\s(?:(?!support|tests?\b)[\w'-]+\s){0,2}"
            r"(?:nil|null|none|bounds?|range|overflow|length|error|\w+Error)\s(?:handling|checks?|guards?)"
        ),
    ),
    (
        "prevent",
        "bugfix",
        _opens(
            r"prevent\w* avoid\w* guard\w* protect\w* block(?:s|ed|ing)? stop\w* never no\slonger do(?:es)?\s?n[o']t"
            r" disallow\w* forbid\w*"
        ),
    ),
    ("deprecate", "feature", _opens(r"deprecat\w+")),
    (
        "speed up",
        "perf",
        _opens(r"speed\w* optimi[sz]\w+ faster perf(?:ormance)? improv\w+\s(?:the\s)?(?:performance|speed|efficiency)"),
    ),
    (
        "add",
        "feature",
        _opens(
            r"add(?:s|ed|ing|itional)? enh feat implement\w* introduc\w+ support(?:s|ed|ing)? allow\w* enabl\w+"
            r" provid\w+ new creat\w+ expos\w+ extend\w* featur\w+ accept\w* let permit\w* offer\w* include define"
        ),
    ),
    (
        "rework",
        "refactor",
        _opens(
            r"refactor\w* renam\w+ mov(?:e[sd]?|ing) clean\w* simplif\w+ moderni[sz]\w+ reorgani[sz]\w+ rewrit\w+"
            r" rewrote extract\w* split convert\w* remov\w+ drop\w* delet\w+ replac\w+ restructur\w+ unif\w+"
            r" inline reformat\w* re-?implement\w* typ(?:e|ing|es) annotat\w+ migrat\w+ port bump upgrad\w+"
            r" lint\w* tidy tests? docs? document\w* use\s[^\n]{1,60}\sinstead\sof"
        ),
    ),
    (
        "change",
        "feature",
        _opens(r"chang\w+ updat\w+ improv\w+ enhanc\w+ tweak\w* make adjust\w* switch\w* set use"),
    ),
)

_DEFECT: Final = _has(
    r"fix(?:es|ed|ing)?|bugs?|bug-?fix(?:es)?|regressions?|crash(?:es|ed|ing)?|incorrect(?:ly)?|wrong(?:ly)?|broken",
    r"break(?:s|ing|age)?|leak(?:s|ed|ing)?|races?|deadlocks?|overflow\w*|underflow\w*|off[- ]by[- ]one",
    r"fail(?:s|ed|ing|ures?)?|hang(?:s|ing)?|infinite|corrupt\w*|mishandl\w+|typo|(?:edge|corner)[- ]cases?|misleading",
    r"inconsisten\w+|unexpected(?:ly)?|mistaken(?:ly)?|spurious|faulty|instead of|not work\w*|does ?n[o']t|properly",
    r"correctly|truncat\w+|lost|los(?:es|ing)|mangl\w+|missing|invalid|duplicated?|ignor(?:es|ed|ing)|as expected",
    r"(?<!raise )(?:Type|Value|Key|Index|Attribute|Name|Unicode|Recursion|Import|ZeroDivision|UnboundLocal)Error",
    r"NoneType|panics?|nil pointer|segfault\w*|again",
)
_OFFER: Final = _has(
    r"add(?:s|ed|ing)?|support(?: for)?|features?|enhancements?|ability|allow(?:s|ed|ing)?|options?(?:al)?|new",
    r"implement\w*|introduc\w+|param(?:eter)?s?|flags?|customi[sz]\w+|configurable",
)
_FASTER: Final = _has(
    r"faster|speed(?:s|ed|ing)?[- ]?up|performance|quadratic|optimi[sz]\w+|efficien\w+|memory usage",
    r"reduce (?:the )?(?:number of|memory|overhead)|unnecessary (?:\w+ ){0,2}(?:computation|work|call|cop(?:y|ie))\w*",
)
_SECURITY: Final = _has(
    r"CVE-\d{4}-\d{4,}|GHSA(?:-[a-z0-9]{4}){3}|vulnerab\w+|security (?:fix|issue|bug|hole|advisory|problem|flaw)|ReDoS",
    r"(?:path|directory) traversal|(?:code|command|sql|header|crlf) injection|XSS|CSRF|prototype pollution",
    r"(?:prevent|avoid|block|disallow|forbid|den(?:y|ie)|restrict|protect)\w* [^\n]{0,40}?(?:__proto__|prototype)",
)
_DEPRECATES: Final = _has(r"deprecat(?:e[sd]?|ing|ion)")
_REPORT: Final = _has(
    r"regression|bugs?|crash(?:es|ed)?|traceback|broken|incorrect(?:ly)?|wrong(?:ly)?|steps to reproduce|reproduc\w+",
    r"(?:actual|expected) (?:behaviou?r|result)|previously|used to|root cause|raised (?:an? )?\w+Error",
)
_CLOSES_FIX: Final = re.compile(
    r"\bfix(?:e[sd])?\b:?\s+(?:issue\s+)?(?:#|GH-|[\w.-]+/[\w.-]+#|https?://\S+/issues/)\d+", re.IGNORECASE
)
_BUG_BRANCH: Final = re.compile(
    r"(?:^|[/:_-])(?:fix(?:e[sd]|ing)?|bug(?:s|fix)?|hotfix|regression)(?:[-/_\d]|$)", re.IGNORECASE
)
_FEATURE_BRANCH: Final = re.compile(
    r"(?:^|[/:_-])(?:feat(?:ure)?s?|add|support|enhance(?:ment)?|new)(?:[-/_]|$)", re.IGNORECASE
)

_LABELS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("security", re.compile(r"security|vulnerab|\bcve", re.IGNORECASE)),
    ("bugfix", re.compile(r"\bbugs?\b|bug-?fix|regression|defect|crash|broken|\bfix\b", re.IGNORECASE)),
    ("perf", re.compile(r"perf(?:ormance)?\b|\bspeed", re.IGNORECASE)),
    ("feature", re.compile(r"enhancement|feature|improvement|proposal|\bfeat\b|deprecat", re.IGNORECASE)),
    ("refactor", re.compile(r"refactor|clean-?up|tech(?:nical)?[- ]debt|chore|maintenance|typing", re.IGNORECASE)),
)
_NOT_YET: Final = re.compile(r"(?:needs?|possible|potential|maybe|not)[ -:]|\?|tracker|wontfix|triage", re.IGNORECASE)

CHANGELOG: Final = re.compile(
    r"(?:^|/)(?:changelog|changes|change_log|news|history|releases?|release[-_]?notes|whatsnew|newsfragments)"
    r"(?:\.\w{1,4})?(?:/.*)?$|(?:^|/)(?:changelog\.d|\.changeset|\.changes)/",
    re.IGNORECASE,
)
_FRAGMENT: Final = re.compile(
    r"\.(?P<type>bugfix|feature|fix|misc|removal|deprecation|security|perf|performance)(?:\.\d+)?\.\w+$"
)
_HEADING: Final = re.compile(
    r"^[\s#*=-]*(?:[\w.]+ )?(?P<word>added|(?:new )?features?|enhancements?|new|fix(?:ed|es)?|bug[- ]?fix(?:es)?"
    r"|bugs(?: fixed)?|changed|changes|improvements?|deprecat(?:ed|ions?)|removed|performance|security|upgrade|other)"
    r"\s*:?[\s#*:]*$",
    re.IGNORECASE,
)
_VERSION: Final = re.compile(r"^(?:#{1,2} |\[?v?\d+\.\d+|version )", re.IGNORECASE)
#: What the heading or the name of a fragment begins with.
_SECTIONS: Final[tuple[tuple[str, Kind], ...]] = (
    ("fix", "bugfix"), ("bug", "bugfix"), ("secur", "security"), ("perf", "perf"), ("add", "feature"),
    ("feat", "feature"), ("new", "feature"), ("enh", "feature"), ("deprec", "feature"), ("remov", "refactor"),
    ("misc", "refactor"),
)  # fmt: skip
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|\d+\.)\s*")


@dataclass(frozen=True)
class Signal:
    """One thing that was seen.

    Attributes:
        name: of the sort of thing; the weights go by it.
        kind: what it speaks for.
        detail: what exactly was seen, for people; one line.
    """

    name: str
    kind: Kind
    detail: str = ""


def word_signals(unit: Unit) -> Iterator[Signal]:
    """Yield what the unit's own title, text and branch say it is."""
    text = unit.message[:_MAX_TEXT]
    body = text.partition("\n")[2]
    headline = list(title_signals(_headline(unit.title, unit.branch, body), "title"))
    yield from headline or title_signals(_first_line(body), "body")
    yield from _found("security", "security", _SECURITY, f"{unit.title}\n{body}")
    yield from _found("report", "bugfix", _REPORT, body)
    yield from _found("closes", "bugfix", _CLOSES_FIX, text)
    yield from _found("fix branch", "bugfix", _BUG_BRANCH, unit.branch)
    yield from _found("feature branch", "feature", _FEATURE_BRANCH, unit.branch)


def enrichment_signals(unit: Unit, enrichment: Enrichment) -> Iterator[Signal]:
    """Yield what a forge says: labels, the pull request's text, and the issues that it closes."""
    if enrichment.title != unit.title:
        yield from title_signals(enrichment.title, "title")
    yield from _found("report", "bugfix", _REPORT, enrichment.body[:_MAX_TEXT])
    yield from _found("security", "security", _SECURITY, f"{enrichment.title}\n{enrichment.body[:_MAX_TEXT]}")
    yield from label_signals((*enrichment.labels, *(label for issue in enrichment.issues for label in issue.labels)))
    for issue in enrichment.issues:
        yield from title_signals(issue.title, "issue")
        yield from _found("issue report", "bugfix", _REPORT, issue.body[:_MAX_TEXT])
        yield from _found("security", "security", _SECURITY, f"{issue.title}\n{issue.body[:_MAX_TEXT]}")


def title_signals(title: str, place: str) -> Iterator[Signal]:
    """Yield what a title (of the ``place`` that names the signals) says: its type, how it begins, its other words."""
    kind, tag, rest = _strip(title[:_MAX_TITLE])
    if kind is not None:
        yield Signal(f"{place} type", kind, title.partition(":")[0].strip())
    yield from (Signal(f"{place} tag", signal.kind, signal.detail) for signal in label_signals([tag]))
    opening = next(((name, of, found) for name, of, pattern in _OPENINGS if (found := pattern.match(rest))), None)
    # "fix: allow X": the type is the author's own word for what it is.
    typed = kind == "bugfix"
    if opening is not None and not (typed and opening[0] in {"add", "rework", "change"}):
        yield Signal(f"{place}: {opening[0]}", opening[1], opening[2][0].lower())
    end = opening[2].end() if opening is not None else 0
    if opening is None or opening[0] != "fix":
        yield from _found(f"{place} defect", "bugfix", _DEFECT, rest[end:])
    if not typed and (opening is None or opening[0] not in {"fix", "handle", "prevent", "add"}):
        yield from _found(f"{place} offer", "feature", _OFFER, rest[end:])
    if opening is None or opening[0] not in {"fix", "speed up"}:
        yield from _found(f"{place}: speed up", "perf", _FASTER, rest)
    if opening is None or opening[0] != "deprecate":
        yield from _found(f"{place}: deprecate", "feature", _DEPRECATES, rest)


def label_signals(labels: Iterable[str]) -> Iterator[Signal]:
    """Yield what the labels of a pull request or an issue say."""
    for label in labels:
        text = label[:100]
        if _NOT_YET.search(text):
            continue
        kind = next((of for of, pattern in _LABELS if pattern.search(text)), None)
        if kind is not None:
            yield Signal("label", kind, text)


def changelog_signals(unit: Unit, cut: Cut) -> Iterator[Signal]:
    """Yield what the lines that the unit adds to changelogs say: their section, or their own first word."""
    for change in unit.changes:
        file = cut.fixed.get(change.path)
        if file is None or file.is_link or change.path in cut.fix or not CHANGELOG.search(change.path):
            continue
        fragment = _FRAGMENT.search(change.path)
        kind = _section_kind(fragment["type"]) if fragment is not None else None
        if kind is not None:
            yield Signal("changelog section", kind, change.path.rpartition("/")[2])
        if len(file.data) <= _MAX_CHANGELOG_BYTES:
            old = cut.base.get(change.path)
            before = frozenset(decode(old.data).splitlines()) if old is not None else frozenset()
            yield from islice(_entries(before, decode(file.data).splitlines()), _MAX_ENTRIES)


def _entries(before: frozenset[str], after: list[str]) -> Iterator[Signal]:
    """Yield what the list items say that are in ``after`` alone."""
    section: Kind | None = None
    heading = ""
    for line in after:
        found = _HEADING.match(line[:_MAX_TITLE])
        item = _BULLET.match(line) if line not in before else None
        if found is not None:
            section, heading = _section_kind(found["word"].lower()), found["word"]
        elif _VERSION.match(line[:_MAX_TITLE]):
            section, heading = None, ""
        elif item is not None:
            if section is not None:
                yield Signal("changelog section", section, heading)
            yield from title_signals(line[item.end() :], "changelog")


def _section_kind(word: str) -> Kind | None:
    return next((kind for start, kind in _SECTIONS if word.startswith(start)), None)


def _headline(title: str, branch: str, body: str) -> str:
    """Return the title; of a merge that has none, the subject of its first commit."""
    if title != branch and not title.startswith("Merge "):
        return title
    subjects = [line[2:] for line in body.splitlines() if line.startswith("* ") and not line.startswith("* Merge ")]
    return subjects[-1] if subjects else title


def _first_line(body: str) -> str:
    lines = (line.strip(" *-") for line in body.splitlines())
    return next((line for line in lines if line and not line.startswith("Merge ")), "")


def _strip(title: str) -> tuple[Kind | None, str, str]:
    """Return the conventional type that ``title`` begins with, its tag, and the title after what stands before it."""
    kind: Kind | None = None
    tag, rest = "", title.strip()
    for _ in range(_MAX_PREFIXES):
        match = _PREFIX.match(rest)
        if match is None or not match.end() or not rest[match.end() :].strip():
            break
        kind = kind or _TYPES.get((match["type"] or "").lower())
        tag = tag or match["tag"] or ""
        rest = rest[match.end() :]
    return kind, tag, rest


def _found(name: str, kind: Kind, pattern: re.Pattern[str], text: str) -> Iterator[Signal]:
    match = pattern.search(text)
    if match is not None:
        yield Signal(name, kind, " ".join(match[0].split())[:80])
