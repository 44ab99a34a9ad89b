"""Takes the README's pictures of the demo's report and comment: ``python .ci/screenshots.py DEMO``, with Chromium."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

from codegate.reporting import read_result, render_comment

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
THEMES = {"light": "1", "dark": "0"}
PAGE = """\
<!DOCTYPE html><meta charset="utf-8"><style>
:root {{ color-scheme: light dark; }}
body {{ font: 14px/1.5 system-ui, "DejaVu Sans", sans-serif; margin: 16px; background: light-dark(#fff, #0d1117);
  color: light-dark(#1f2328, #f0f6fc); }}
blockquote {{ margin: 0 0 16px; padding: 0 1em; border-left: .25em solid light-dark(#d1242f, #da3633); }}
table {{ border-collapse: collapse; }}
th, td {{ padding: 6px 13px; border: 1px solid light-dark(#d1d9e0, #3d444d); text-align: left; }}
code {{ padding: .2em .4em; border-radius: 6px; font-size: 85%; background: light-dark(#818b981f, #656c7633); }}
.title {{ color: light-dark(#d1242f, #f85149); }}
</style>{body}
"""


def comment_page(demo: Path) -> str:
    """Return the demo's comment as a page that looks like GitHub's."""
    text = render_comment(read_result((demo / "reports" / "report.json").read_bytes()))
    body = MarkdownIt("commonmark").enable("table").render(text)
    return PAGE.format(body=re.sub(r"\[!CAUTION\]", '<span class="title">⊗ Caution</span><br>', body))


def picture(page: Path, name: str, size: str) -> None:
    """Take a picture of ``page`` in both themes."""
    for theme, number in THEMES.items():
        target = PICTURES / f"{name}-{theme}.png"
        subprocess.run(
            [
                "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}",
                f"--blink-settings=preferredColorScheme={number}", f"--screenshot={target}", page.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip


if __name__ == "__main__":
    demo = Path(sys.argv[1])
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        comment = Path(folder) / "comment.html"
        comment.write_text(comment_page(demo), encoding="utf-8")
        picture(comment, "comment", "860,620")
    picture(demo / "reports" / "report.html", "report", "1280,1180")
