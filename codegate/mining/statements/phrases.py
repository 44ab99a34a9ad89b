"""English of changelogs and commit messages: which words show a symptom, a demand, an action, or talk of the change."""

import re
from typing import Final


def _any(words: str) -> str:
    """Return a pattern of the alternatives in ``words``: one a line, or several between spaces; ``_`` is a space."""
    return "(?:" + "|".join(word.replace("_", " ") for word in words.split()) + ")"


def _has(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b{_any(words)}\b", re.IGNORECASE)


def _opens(words: str) -> re.Pattern[str]:
    return re.compile(rf"^{_any(words)}\b", re.IGNORECASE)


#: Talk of the change, its tests, its place or its author instead of the program.
ABOUT_CHANGE: Final = _has(
    r"""I we we're we've I'm I've my our this_(?:commit|pr|patch|change|fix|mr|pull_request|branch|adds|fixes|makes)
    the_(?:fix|patch) the_(?:solution|change)_(?:is|was|here) (?:locally|manually)_tested code_comments?
    pull_request follow[-_]?up (?<!\.)merge[ds]? refactor\w*
    (?:unit|regression)[-_]tests? in_(?:the_)?tests? add(?:s|ed|ing)?_(?:a_|more_|some_)?tests?
    (?:failing|broken|flaky)_tests?
    test(?:s|ed|ing)?_(?:cases?|suites?|added|for|cover|pass|now|when|that|fail\w*) test\w?\x5f\w*
    coverage changelog (?:es)?lint\w* mypy pylint pyright
    assign(?:ed|ing|s)?_(?:an?|the) CI TODO flake8 root_cause oversight line_\d+
    backport\w* TL;?DR the_old inner if-elif code_path \w+_(?:branch|clause) implementation revert\w* LGTM review\w*
    guard\w* (?:is|are|was|were|been|gets?)_fixed side_effect_of
    you_(?:may|might|should)_(?:have|need|want)
    self\.\w+ blindly typos? misspel\w* spelling docstring bug[-_]?fix(?:es)? still[-_]open
    this_(?:does(?:_not|n't)|should_(?:not|n't))_(?:address|cover|touch)
    (?:handl|catch|swallow|suppress)\w*_[^.]*(?-i:Error|Exception)s?
    \w*(?-i:Error|Exception)s?_[^.]*(?:handled|caught|swallowed|suppressed)"""
)
#: Sentences that need the one before them, or are half of one.
DEPENDENT: Final = _opens(
    r"""it its that this they these those such both only here the_(?:latter|former|same) also however thus but and or
    which so now is are was were has have had even although while rather matching mirroring then otherwise similarly
    does doesn't cannot can can't could should must will may might apparently obviously maybe because since
    in_(?:this|that|addition|other) with_(?:this|that) something_like
    as_such likewise therefore for_(?:this|that|example|instance) e\.g i\.e where"""
)
#: Verbs that open the description of an action on the code.
ACTION: Final = _opens(
    r"""add(?:s|ed|ing)? us(?:e|es|ing) mov(?:e|es|ed|ing) remov\w+ renam\w+ refactor\w* chang(?:e|es|ed|ing) updat\w+
    cop(?:y|ies|ied) prepend\w* append\w* replac\w+ call(?:s|ing)? pass(?:es|ing)? set(?:s|ting)? introduc\w+
    implement\w* switch\w* convert\w* extract\w* wrap\w* check\w* bump\w* simplif\w+ clean\w* rewrit\w+ rework\w*
    delet\w+ drop\w* split\w* merge\w* adjust\w* tweak\w* improv\w+ document\w* typo\w* tests? see closes? note todo
    create\w* defin\w+ initiali[sz]e\w* cast\w* strip\w* sort\w* reorder\w* inline\w* delay\w* store\w* cache\w*
    reduc\w+ increas\w+ decreas\w+ enhanc\w* instead because hence show_that shows_that"""
)
#: A first word in front of an article is an order ("Route the value …"), unless it is one of these.
ORDER: Final = re.compile(
    "^(?!"
    + _any(
        """when if for in on after before with using given during as at by from under without since not unlike like
    despite until unless once whenever wherever previously formerly currently some of to over
    between within via problem all any each every
    no the a an return raise show display print emit escape treat produce generate warn report make ensure fix allow"""
    )
    + r"\b)[A-Za-z]+ (?:the|a|an|all|any|each|every|both)\b",
    re.IGNORECASE,
)
#: Verbs of a title that speak of the code; other orders in a title ("Keep the last line") are demands on the program.
TITLE_ACTION: Final = _opens(
    r"""add\w* mov(?:e|es|ed|ing) remov\w+ renam\w+ refactor\w* chang(?:e|es|ed|ing) updat\w+ replac\w+ introduc\w+
    implement\w* enhanc\w* extract\w* wrap\w* bump\w* simplif\w+ clean\w* rewrit\w+ rework\w* merge\w* adjust\w*
    tweak\w* improv\w+ document\w* typo\w* tests? create\w* defin\w+ initiali[sz]e\w* inline\w* delet\w+ copy prepend\w*
    delay\w* store\w* reduc\w+ increas\w+ decreas\w+ release\w* version\w* oops us(?:e|es|ed|ing)"""
)
#: Verbs of a demand on the program, in their base form.
_DEMANDED: Final = """
    abort accept align allow apply assume attach avoid bind block build bypass cap capture catch check
    clamp clear clip close coerce collapse collect combine compare compile complete compute consider consume convert
    deal copy count decode defer deny dereference derive detect determine disable disallow discard display distinguish
    do drain drop emit enable encode enforce ensure escape evaluate exclude expand expose extend fall fill filter
    flatten flush follow forbid force format forward generate get give guard handle hide highlight honou?r ignore
    include increment infer inherit insert interpolate interpret invalidate join keep leave let limit list load log
    look make map mark match merge mutate narrow normali[sz]e not omit open order output override overwrite pad
    parse pass permit pick prefer preserve prevent print process produce propagate protect provide push put quote
    raise read recogni[sz]e recover reference refuse reject relax remember render report require reset resolve respect
    restore restrict retain retry return reuse round run sanitize save scan select send separate serialize set shorten
    show skip sort specify split stop stringify strip subtract support suppress swallow sync take tell terminate throw
    tolerate track transform translate traverse treat trigger trim truncate try turn unescape unify unwrap use
    validate verify wait walk warn work write yield
"""
_NO_NOUNS: Final = """
    accept allow avoid detect emit ensure forbid generate handle honou?r ignore omit preserve prevent produce raise
    recogni[sz]e reject respect support suppress swallow throw tolerate treat warn
"""
#: What opens a title as a demand; some of the verbs are nouns too.
DEMAND: Final = re.compile(
    r"^(?:(?:properly|correctly|always|only|also|better) )?"
    rf"(?:{_any(_NO_NOUNS)}\b(?![(.])(?! (?:is|are|by)\b)|{_any(_DEMANDED)}\b(?![(.])"
    r"(?! (?:of|in|for|on|at|is|are|when|from|to|by)\b))",
    re.IGNORECASE,
)
TO_DO: Final = _any(_DEMANDED)
#: A verb of those in the third person: "the parser rejects ...".
DOES: Final = _has(" ".join(f"{verb}(?:e?s)" for verb in _DEMANDED.split()))
DEFECT: Final = _has(
    r"""crash\w* wrong\w* incorrect\w* missing fail\w* leak\w* infinite hang\w* (?:error|exception)$
    (?:errors?|exceptions?)_(?:when|if|on|in|while|with|for|from|instead)
    \w+Error lost loses? drop(?:s|ped) ignor\w+ broken breaks? duplicat\w+ unexpected\w* mishandl\w+ overflow\w* panics?
    not never inconsisten\w+ corrupt\w* misinterpret\w* mangl\w+ bad
    off[-_]by[-_]one over[-_]?zealous overly raises? throws? cannot can't doesn't without
    instead_of being superfluous redundant spurious unwanted
    extra excessive needless unnecessary double[sd]? misplaced misaligned flicker\w*
    too_(?:many|few|much|long|early|late) stale races? deadlock\w* quadratic regressions? truncat\w+
    (?:nil|null)(?:[-_]pointer)?[-_]dereferenc\w+"""
)
OBSERVED: Final = _has(
    r"""previously before_this used_to currently at_present as_of_now crash(?:e[sd])? rais(?:e[sd]|ing) throws? threw
    fail(?:s|ed|ing)? wrong(?:ly)? incorrect(?:ly)? broken breaks? broke does(?:_not|n't) did(?:_not|n't) do_not don't
    cannot can't could(?:_not|n't) is(?:_not|n't) are(?:_not|n't) was were caus(?:e[sd]|ing) result(?:s|ed|ing)_in
    instead_of ignor(?:e[sd]|ing) lost loses leads?_to led_to would bug unexpected(?:ly)? rather_than no_way unable
    impossible hangs? leaks? missing mistakenly erroneously even_(?:if|though|when)"""
)
#: Of those, what a changelog also says of the program after the change.
NEUTRAL: Final = _has(
    r"""does(?:_not|n't) do(?:_not|n't) is(?:_not|n't) are(?:_not|n't) cannot can't raise[sd]? throws? ignore[sd]?
    instead_of rather_than even_(?:if|though|when)"""
)
EXPECTED: Final = _has(
    r"""should(?:n't)? must(?:n't)? ought_to expected (?:is|are)_(?:meant|supposed|intended)_to shall
    (?:is|are)_allowed guarantee[sd]?"""
)
A_BUG: Final = "(?:an? |the |some )?(?:bug|issue|problem)s? (?:with|in|for|that|related(?: to)?) "
FIX: Final = (
    "^(?:also )?"
    + _any(
        r"fix(?:e[sd]|ing)?"
        r" resolve[sd]?(?=_(?:an?_|the_|some_)?(?:\w+_)?(?:bug|crash|error|failure|issue|panic|problem))"
        r" correct(?:ed|s)? repair(?:ed|s)? address(?:ed|es)? solve[sd]?"
    )
    + f"(?: up)?(?: for)? (?:{A_BUG})?"
)
BUG: Final = r"(?:(?:an?|the|some|another) )?(?:\w+ )?" + _any(
    "bugs? issues? problems? regressions? errors? cases? situations? edge[-_]cases? corner[-_]cases?"
)
#: Verbs of the past in the present, where no participle is meant.
_PAST_AND_PRESENT: Final = (
    "raised:raises returned:returns failed:fails crashed:crashes caused:causes resulted:results produced:produces"
    " displayed:displays printed:prints dropped:drops broke:breaks led:leads showed:shows got:gets"
    " threw:throws treated:treats included:includes required:requires converted:converts wrote:writes"
    " allowed:allows accepted:accepts kept:keeps emitted:emits gave:gives went:goes assumed:assumes ended:ends"
    " stopped:stops expected:expects removed:removes added:adds ignored:ignores triggered:triggers"
    " rejected:rejects discarded:discards rendered:renders"
)
PRESENT: Final = dict(pair.split(":") for pair in _PAST_AND_PRESENT.split())
#: Verbs of "Fix X crashing when ...", by their first letters: those that tell what a program does wrong. Not "parsing":
#: "fenced code parsing" is a name.
_DOING: Final = (
    "crashing:crashes failing:fails raising:raises throwing:throws returning:returns giving:gives dropping:drops"
    " losing:loses ignoring:ignores leaking:leaks hanging:hangs breaking:breaks causing:causes swallowing:swallows"
    " producing:produces emitting:emits showing:shows printing:prints rendering:renders treating:treats"
    " converting:converts overwriting:overwrites skipping:skips stripping:strips removing:removes adding:adds"
    " accepting:accepts rejecting:rejects allowing:allows getting:gets leaving:leaves missing:misses"
    " collapsing:collapses mangling:mangles corrupting:corrupts consuming:consumes matching:matches escaping:escapes"
    " duplicating:duplicates inserting:inserts including:includes mutating:mutates modifying:modifies"
    " blocking:blocks reporting:reports truncating:truncates misparsing:misparses"
    " setting:sets yielding:yields writing:writes reading:reads keeping:keeps having:has requiring:requires"
)
DOING: Final = dict(pair.split(":") for pair in _DOING.split())
_NO_SUBJECTS: Final = """is are was were be been being get gets got has have had a an the as not and or when if that of
    in to for with by from longer"""
BEFORE_PARTICIPLE: Final = frozenset(_NO_SUBJECTS.split())
TENSES: Final[tuple[tuple[str, str], ...]] = (
    (r"\bthan previously\b", "than before"),
    (r"(?<!/)\bwas\b(?!/)", "is"),
    (r"(?<!/)\bwere\b(?!/)", "are"),
    (r"\bdid(?: not|n't)\b", "does not"),
    (r"\bcould(?: not|n't)\b", "cannot"),
    (r"\bcould\b", "can"),
    (r"(?<!is )(?<!was )(?<!are )(?<!were )(?<!be )(?<!been )\bused to\b", "would"),
    (r"\bhad\b", "has"),
)
