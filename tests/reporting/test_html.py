import base64
import functools
import gzip
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from codegate.reporting import render_html
from codegate.reporting.html import interval_plot, row_tags
from codegate.reporting.page import diff_lines
from tests.reporting.example import example, example_view
from tests.reporting.hostile import HOSTILE, PAYLOADS

VOID = {"meta", "input", "br", "img", "link"}
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Page(HTMLParser):
    """Collects the elements of a page and checks that they nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.contents: dict[str, list[str]] = {"script": [], "style": []}
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.contents:
            self.contents[self.open[-1]].append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def shape(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    """Return tags and attribute names in order, without the lines of patches, whose number follows the data."""
    return [
        (tag, tuple(name for name, _ in attributes))
        for tag, attributes in page.elements
        if not (tag == "span" and (dict(attributes).get("class") or "").startswith("d-"))
    ]


def inactive(page: Page) -> None:
    """No attribute runs or loads anything, and ids, classes and addresses are ours."""
    for tag, attributes in page.elements:
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
            assert name not in {"src", "style", "action", "formaction", "srcset", "srcdoc"}, (tag, name)
            if name in {"href", "xlink:href"}:
                assert re.fullmatch(r"#[a-z0-9]+|https://github\.com/acme/shop/[a-z0-9/]+", value or ""), (tag, value)
            if name in {"id", "class", "for"}:
                assert re.fullmatch(r"[a-z0-9 -]+", value or ""), (tag, value)


@functools.cache
def benign_shape() -> list[tuple[str, tuple[str, ...]]]:
    return shape(Page(render_html(example_view("x", n=3))))


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_data_never_becomes_markup(payload: str) -> None:
    page = Page(render_html(example_view(f"x{payload}", n=3)))
    assert shape(page) == benign_shape()
    inactive(page)


def test_the_attempts_of_a_large_report_are_compressed_and_still_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegate.reporting.html._PLAIN", 0)

    def bodies(text: str) -> list[list[tuple[str, tuple[str, ...]]]]:
        page = render_html(example_view(text, n=3))
        assert "Splitting money loses a cent." not in page
        packed = re.findall(r'<template class="packed">([A-Za-z0-9+/=]+)</template>', page)
        return [shape(Page(gzip.decompress(base64.b64decode(each)).decode())) for each in packed]

    assert len(bodies("x")) == 3
    assert bodies("x" + "".join(PAYLOADS.values())) == bodies("x")


def test_the_policy_allows_exactly_the_two_inline_blocks() -> None:
    page = Page(render_html(example_view()))
    (policy,) = [
        dict(attributes)["content"] or ""
        for tag, attributes in page.elements
        if tag == "meta" and ("http-equiv", "Content-Security-Policy") in attributes
    ]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (content,) = ["".join(page.contents[tag])]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
        assert sum(element == tag for element, _ in page.elements) == 1


@pytest.mark.requirement("R1")
def test_nothing_is_loaded_from_anywhere() -> None:
    text = render_html(example_view())
    assert not re.search(r'(?<!href=")https?://', text)
    assert "url(" not in text
    assert "@import" not in text
    assert "innerHTML" not in text
    assert not re.search(r"\beval\b|document\.write|outerHTML|insertAdjacentHTML", text)


def test_every_control_has_a_name_and_every_anchor_a_target() -> None:
    page = Page(render_html(example_view()))
    ids = [dict(attributes)["id"] for _, attributes in page.elements if "id" in dict(attributes)]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.elements:
        values = dict(attributes)
        if tag == "a":
            target = values["href"] or ""
            assert target.startswith("https://github.com/") or target[1:] in ids
        if values.get("role") == "region":
            assert values["aria-label"]
            assert values["tabindex"] == "0"
        if tag == "svg":
            assert values.get("aria-hidden") == "true" or values.get("aria-label")
        if tag == "section":
            assert set((values["aria-labelledby"] or "").split()) <= set(ids)


def test_the_plot_has_its_marks_in_order() -> None:
    _, verdicts = example()
    for verdict in verdicts:
        plot = interval_plot(verdict)
        if verdict.interval is None:
            assert plot is None
            continue
        assert plot is not None
        assert 0 <= plot["low"] <= plot["difference"] <= plot["high"] <= 640
        assert 0 < plot["margin"] < plot["zero"] == 320
        assert (plot["low"] > plot["margin"]) == (verdict.interval[0] > -verdict.margin)


def test_diff_lines_and_tags() -> None:
    kinds = [kind for kind, _ in diff_lines("diff --git a b\nindex 1..2\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n")]
    assert kinds == ["file", "file", "file", "hunk", "del", "add", "same"]
    rows = {row.id: row_tags(row.cells, row.excluded) for row in example_view().problems}
    assert rows["money-00"] == ""
    assert rows["dates-01"] == "failed differs"
    assert rows["cache-02"] == "differs infrastructure"
    assert rows["flaky-01"] == "excluded"


def browse(page: Path, place: str = "", width: int = 1280) -> subprocess.CompletedProcess[str]:
    """Return what is in a page once its scripts have run, and what the browser said."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-sync", "--disable-background-networking", "--disable-component-update"]
    flags += [
        "--virtual-time-budget=30000",
        f"--window-size={width},2000",
        f"--user-data-dir={page.parent / 'profile'}",
    ]
    command = [str(CHROMIUM), *flags, "--dump-dom", f"file://{page}{place}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)


@pytest.mark.sandbox
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(
    "plain", [pytest.param(6_000_000, id="plain", marks=pytest.mark.full), pytest.param(0, id="packed")]
)
def test_a_browser_runs_our_script_and_nothing_else(
    plain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.reporting.html._PLAIN", plain)
    hostile = "".join(payload for payload in PAYLOADS.values() if "pwned" in payload)
    (tmp_path / "report.html").write_text(render_html(example_view(hostile, n=4)), encoding="utf-8")
    done = browse(tmp_path / "report.html", "#p1c1s0&q=DATES&show=failed")
    assert "<title>codegate report" in done.stdout
    assert re.search(r'<html[^>]*class="js"', done.stdout)
    assert "1 of 5 problems</p>" in done.stdout
    attempt = re.search(r'<details[^>]*id="p1c1s0"[^>]*open.*?<article id="p2"', done.stdout, re.DOTALL)
    assert attempt is not None
    assert attempt[0].count("<h4>Reference fix</h4>") == done.stdout.count("<h4>Reference fix</h4>") == 1
    assert "Content Security Policy" not in done.stderr
