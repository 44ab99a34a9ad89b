"""Every page in a real browser: accessible, nothing cropped, printed with its headers."""

import hashlib
import html
import json
import random
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from codegate.gating.trend import Alarm
from codegate.reporting import render_dashboard, render_html, render_review, review_view
from tests.gating.test_trend import nights
from tests.reporting.example import example_view
from tests.reporting.test_html import CHROMIUM, browse
from tests.reporting.test_review import shown
from tests.suite.builders import suite

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


def dashboard(_: Path) -> str:
    draw = random.Random(1)
    return render_dashboard(nights(draw, lambda _: [0.6] * 12, 9), [Alarm("drop", "page", "The pass rate fell.")])


def review(folder: Path) -> str:
    return render_review(review_view(suite(folder / "s"), "codegate review s", (shown("p-1"), shown("p-2"))))


PAGES: dict[str, Callable[[Path], str]] = {
    "report": lambda _: render_html(example_view(n=6)),
    "dashboard": dashboard,
    "review": review,
}


def measured(text: str, script: str, folder: Path, width: int = 1280) -> object:
    """Return what ``script`` answers within a page, whose policy would refuse it."""
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    answer = """
const answer = (found) => {
  const out = document.createElement("pre");
  out.id = "answer";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
};
"""
    ours = (answer + script).replace("</script", "<\\/script")
    (folder / "page.html").write_text(bare.replace("</body>", f"<script>{ours}</script></body>"), encoding="utf-8")
    found = re.search(r'<pre id="answer">(.*?)</pre>', browse(folder / "page.html", width=width).stdout, re.DOTALL)
    assert found is not None, "the script did not end"
    return json.loads(html.unescape(found[1]))


AXE = "axe-core@4.14.1"
AXE_SHA256 = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
RULES = """
for (const details of document.querySelectorAll("details")) details.open = true;
axe.run(document, { resultTypes: ["violations"] }).then((found) => {
  answer(found.violations.map((one) => [one.id, one.nodes[0].html.slice(0, 200)]));
});
"""


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("axe")
    subprocess.run(["npm", "pack", "--silent", AXE], cwd=folder, check=True, capture_output=True, timeout=120)
    (archive,) = folder.glob("*.tgz")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == AXE_SHA256
    with tarfile.open(archive) as files:
        script = files.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


@pytest.mark.full
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm on this machine")
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 500)])
@pytest.mark.parametrize("page", ["report", "dashboard", "review"])
def test_axe_finds_nothing_with_everything_open(axe: str, page: str, theme: str, width: int, tmp_path: Path) -> None:
    text = PAGES[page](tmp_path).replace("<html ", f'<html data-theme="{theme}" ')
    text = text.replace("<main", f"<script>localStorage.setItem('codegate-theme', '{theme}')</script><main")
    assert measured(text, axe + RULES, tmp_path, width) == []


CROPPED = """
for (const fold of document.querySelectorAll("details")) fold.open = true;
answer(Array.from(document.querySelectorAll("main *"))
  .filter((one) => one.getBoundingClientRect().right > innerWidth && !one.closest("pre, svg, .hidden"))
  .map((one) => one.outerHTML.slice(0, 100)));
"""


@pytest.mark.parametrize("page", ["report", "dashboard"])
def test_nothing_is_cropped_on_a_narrow_screen(page: str, tmp_path: Path) -> None:
    assert measured(PAGES[page](tmp_path), CROPPED, tmp_path, 500) == []


@pytest.mark.full
def test_printed_tables_keep_their_headers(tmp_path: Path) -> None:
    text = render_html(example_view(n=4)).replace("@media print", "@media screen")
    heads = "answer(Array.from(document.querySelectorAll('#matrix ~ .scroll thead th'), (one) => one.innerText))"
    assert measured(text, heads, tmp_path) == ["Problem", "good", "worse"]
