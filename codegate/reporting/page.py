"""HTML pages that need no network and no other file.

They run only their own script. Jinja's autoescaping stands between the view and the page; ids come from positions,
never from data. Style and script are inline and allowed by their hashes alone (Content Security Policy level 3),
everything else is denied, so that even text which got past the escaping could neither run nor load anything.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Literal

from codegate.gating.estimates import Estimate

if TYPE_CHECKING:
    from jinja2 import Template

WIDTH: Final = 640
HEIGHT: Final = 160
"""Pixels of a chart of pass rates with their intervals, which ``_charts.html.j2`` draws."""

DiffLineKind = Literal["add", "del", "hunk", "file", "same"]


def page_template(name: str, styles: Sequence[str], script: str | None = None, **names: Any) -> "Template":
    """Return a page's template with style, script and security policy.

    ``styles`` and ``script`` are names of codegate's files; ``names`` are further variables of the template.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only pages need it
    from markupsafe import Markup  # noqa: PLC0415

    style, code = "".join(map(_asset, styles)), _asset(script) if script is not None else ""
    if re.search(r"</(style|script)|<!--", style + code, re.IGNORECASE):
        raise ValueError(f"a style sheet or the script of {name} would end its own element")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, auto_reload=False,
        loader=PackageLoader("codegate.reporting"),
    )  # fmt: skip
    environment.globals.update(
        names,
        diff_lines=diff_lines,
        style=Markup(style),  # noqa: S704 - our own file, checked above
        script=Markup(code),  # noqa: S704 - our own file, checked above
        policy=_policy(style, code),
        width=WIDTH,
        height=HEIGHT,
    )
    return environment.get_template(name)


def diff_lines(patch: str) -> list[tuple[DiffLineKind, str]]:
    """Split a unified diff into lines, each with its kind.

    Lines with blob hashes are left out.
    """
    lines = patch.split("\n")
    return [(_diff_kind(line), line) for line in (lines if lines[-1] else lines[:-1]) if not line.startswith("index ")]


def _diff_kind(line: str) -> DiffLineKind:
    if line.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "rename ")):
        return "file"
    if line.startswith("@@"):
        return "hunk"
    return "add" if line.startswith("+") else "del" if line.startswith("-") else "same"


def _asset(name: str) -> str:
    return resources.files("codegate.reporting").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


@dataclass(frozen=True)
class Point:
    """A pass rate's position in a chart, with its interval.

    ``words`` describe the point; ``name`` is the point's label. ``new``: another model answered from here on.
    """

    x: float
    y: float
    low: float
    high: float
    words: str
    name: str = ""
    new: bool = False


def chart_point(at: float, rate: Estimate, words: str, name: str = "", *, new: bool = False) -> Point | None:
    """Return the chart point of ``rate``, None if unknown.

    ``at`` is the horizontal position, as a share of the chart's width; the top of the chart is 100 %. ``words``,
    ``name`` and ``new`` are fields of the ``Point``.
    """
    if rate.value is None or rate.low is None or rate.high is None:
        return None
    y, low, high = (round(HEIGHT * (1.0 - value), 1) for value in (rate.value, rate.low, rate.high))
    return Point(round(WIDTH * at, 1), y, low, high, words, name, new)
