"""Render the report as Markdown for a GitHub job summary.

Templates define the layout. All that they print is escaped unless it is a ``Figure``: a ``Name`` becomes a code span,
in which nothing is markup, a link or a mention; a sentence is escaped where Markdown, HTML or GitHub would read it as
more than text. Tables are cut between rows when the size limit is near.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from codegate.gating import worst_first
from codegate.reporting import figures, table
from codegate.reporting.cells import Name, Title
from codegate.reporting.figures import Figure
from codegate.reporting.measure_table import cost_and_time, optional_measures
from codegate.reporting.plain import one_line
from codegate.reporting.view import ReportView
from codegate.wording import code_fence

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

SUMMARY_LIMIT: Final = 1024 * 1024
"""Most bytes of a GitHub job summary; GitHub drops a larger one altogether."""

_SHORT_NAME: Final = 120  # most characters of a name in a comment
SHORT: Final = 700  # most characters of a sentence in a comment
_CUT: Final = "*Cut to the size limit; the HTML and JSON reports hold everything.*"


_ESCAPED: Final = re.compile(
    r"[\\`*\[~|]"
    r"|<(?=[A-Za-z/!?])"  # a tag
    r"|&(?=[#A-Za-z])"  # a character reference
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis; not within a word
    r"|^[#>]|^[-+=](?=[\s=-]|$)"  # a block: heading, quotation, list, rule
)
_BROKEN_UP: Final = re.compile(
    r"(?<=@)(?=\w)|(?<=#)(?=\w)|(?i:(?<=gh-))(?=\d)"  # mentions, issues
    r"|(?<=[A-Za-z])(?=:/)|(?i:(?<=www))(?=\.)"  # links, also behind an underscore
)
_ZERO_WIDTH: Final = "\u200b"


@lru_cache(maxsize=1 << 16)  # texts are escaped again whenever a page is rendered to fit
def escape(text: str) -> str:
    """Return ``text`` as one line without markup.

    Characters of Markdown or HTML get a backslash. Mentions, references to issues and bare links cannot be escaped, so
    a zero-width space breaks them up. A dollar sign that could end a formula becomes a character reference.
    """
    line = _BROKEN_UP.sub(_ZERO_WIDTH, one_line(text, 2000))
    line = re.sub(r"^(\d+)(?=[.)](\s|$))", r"\1\\", _ESCAPED.sub(r"\\\g<0>", line))
    return re.sub(r"\$(?!\d)", "&#36;", line)


@lru_cache(maxsize=1 << 16)
def code(text: str) -> str:
    """Return ``text`` as a code span; "" for no text."""
    line = one_line(text, 2000)
    if not line:
        return ""
    # In a table, a backslash escapes a following vertical bar, so a space of no width separates them.
    line = line.replace("\\|", f"\\{_ZERO_WIDTH}|")
    fence = code_fence(line)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def table_row(cells: Iterable[str]) -> str:
    """Return a Markdown table row; vertical bars are escaped."""
    return "|" + "|".join(" " + re.sub(r"(?<!\\)\|", r"\\|", _cell(cell)) + " " for cell in cells) + "|"


def _head(names: Sequence[str]) -> str:
    titles = (name if isinstance(name, Name) else Figure(name) for name in names)
    return f"{table_row(titles)}\n|{' --- |' * len(names)}"


def _cell(text: str) -> str:
    if isinstance(text, Figure):
        return text
    if isinstance(text, Title) and text.address:
        shown = escape(text).replace("]", "\\]")
        return f"[{shown}]({text.address})"
    return code(text) if isinstance(text, Name) else escape(text)


@cache
def markdown_template(name: str) -> "Template":
    """Return a template that escapes what it prints.

    ``Markup`` and ``Figure`` are printed as they are.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only pages need it
    from markupsafe import Markup  # noqa: PLC0415

    def mark(convert: Callable[[str], str]) -> "Callable[[Any], Markup]":
        return lambda value: Markup(convert(value))  # noqa: S704 - converted to inert Markdown

    def finalize(value: Any) -> "Markup":
        return value if isinstance(value, Markup) else Markup(_cell(value if isinstance(value, str) else str(value)))  # noqa: S704

    # With autoescape, texts that macros return count as escaped.
    environment = Environment(
        autoescape=True, finalize=finalize, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, auto_reload=False, loader=PackageLoader("codegate.reporting"),
    )  # fmt: skip
    environment.filters.update(
        code=mark(code),
        name=mark(lambda text: code(one_line(text, _SHORT_NAME))),
        short=mark(lambda text: escape(one_line(text, SHORT))),
        ours=mark(str),
        row=mark(table_row),
        head=mark(_head),
    )
    environment.globals.update(
        verdict_glyphs=figures.VERDICT_GLYPHS,
        unknown=figures.UNKNOWN,
        notes=figures.notes,
        newly_failing=table.newly_failing,
        newly_passing=table.newly_passing,
        mismatches=table.mismatches,
        floors=table.floors,
        statistics=table.statistics,
        warnings=table.warnings,
        failures=table.failures,
        cost_and_time=cost_and_time,
        optional_measures=optional_measures,
        everything=lambda view: (*table.warnings(view), table.matrix(view), *table.details(view)),
    )
    return environment.get_template(name)


def render_to_limit(render: Callable[[int], str], limit: int, most: int) -> str:
    """Render as many table rows as fit into ``limit`` bytes.

    ``render`` gets the number of rows that a table may have, at most ``most``. If even no row fits, the last lines are
    removed.
    """

    def page(rows: int) -> str:
        text = re.sub(r"\n{3,}", "\n\n", render(rows)).strip() + "\n"
        return text if rows == most else f"{text}\n{_CUT}\n"

    low, high, best = 0, most, None
    while low <= high:
        rows = high if best is None and high == most else (low + high) // 2
        text = page(rows)
        if len(text.encode("utf-8", "replace")) <= limit:
            best, low = text, rows + 1
        else:
            high = rows - 1
    return best if best is not None else _first_lines(page(0), limit)


def _first_lines(text: str, limit: int) -> str:
    room = limit - len(_CUT) - 2
    kept: list[str] = []
    for line in text.splitlines():
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, "", _CUT]) + "\n"


def render_markdown(view: ReportView, *, limit: int = SUMMARY_LIMIT) -> str:
    """Render the report as Markdown of at most ``limit`` bytes."""
    template = markdown_template("report.md.j2")
    view = replace(view, verdicts=worst_first(view.verdicts))
    return render_to_limit(
        lambda most: template.render(view=view, most=most), max(limit, 1000), max(len(view.problems), 1000)
    )
