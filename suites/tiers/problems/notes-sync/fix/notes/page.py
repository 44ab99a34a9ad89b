"""The list of notes as a page."""

from html import escape
from pathlib import Path
from string import Template

_PAGE = Template((Path(__file__).parents[1] / "web" / "list.html").read_text(encoding="utf-8"))


def render(notes, text):
    """Return the page with ``notes``, those that were found for ``text``."""
    return _PAGE.substitute(items="".join(map(_item, notes)), text=escape(text))


def _item(note):
    title = note["title"] if note["title"].strip() else "Untitled"
    return f'<li data-id="{note["id"]}" data-version="{note["version"]}">{escape(title)}</li>'
