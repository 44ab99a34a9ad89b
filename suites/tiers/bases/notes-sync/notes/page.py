"""The list of notes as a page."""

from pathlib import Path
from string import Template

_PAGE = Template((Path(__file__).parents[1] / "web" / "list.html").read_text(encoding="utf-8"))


def render(notes, text):
    """Return the page with ``notes``, those that were found for ``text``."""
    return _PAGE.substitute(items="".join(f'<li data-id="{note["id"]}">{note["title"]}</li>' for note in notes))
