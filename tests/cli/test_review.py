"""``codegate review``: the page, and decisions that the next run follows."""

import re
from dataclasses import replace
from pathlib import Path

from codegate.suite import Suite
from codegate.suite.store import update_problem
from tests.kit.repository import run_git
from tests.running.world import codegate


def test_a_page_of_every_problem(suite: Suite, tmp_path: Path) -> None:
    done = codegate("review", suite.folder, "--json", cwd=tmp_path)
    assert (done.code, done.document["schema"]) == (0, "codegate.review/1"), done.stderr
    assert done.document["page"] == "review.html"
    assert set(done.document["problems"].values()) == {"active"}
    assert "calc: 3 of 3 problems active, 0 dropped in review" in done.stderr
    text = (tmp_path / "review.html").read_text(encoding="utf-8")
    assert text.count("<article") == 3
    assert f'data-command="codegate review {suite.folder}"' in text
    assert "+    return n // 2" in text
    assert codegate("review", suite.folder, "--out", "deep/page.html", cwd=tmp_path).code == 0
    assert (tmp_path / "deep/page.html").read_text(encoding="utf-8") == text


def test_problems_with_words_alone_come_first(own_suite: Suite, tmp_path: Path) -> None:
    last = own_suite.problems[-1]
    manifest = last.manifest.model_copy(update={"tags": {"statement": "quoted"}})
    update_problem(own_suite, replace(last, manifest=manifest))
    assert codegate("review", own_suite.folder, cwd=tmp_path).code == 0
    text = (tmp_path / "review.html").read_text(encoding="utf-8")
    shown = re.findall(r'data-id="([^"]+)"', text)
    assert shown == [last.id, *(one.id for one in own_suite.problems[:-1])]
    assert text.count("none executed: the statement has words alone") == 1


def test_the_command_of_the_page_can_be_pasted_into_a_shell(own_suite: Suite, tmp_path: Path) -> None:
    own_suite.folder.rename(own_suite.folder.with_name("it's a $(suite)"))
    assert codegate("review", "world/it's a $(suite)", "--out", "p.html", cwd=tmp_path).code == 0
    command = 'data-command="codegate review &#39;world/it&#39;&#34;&#39;&#34;&#39;s a $(suite)&#39;"'
    assert command in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_decisions_need_no_repository_and_a_page_does(own_suite: Suite, tmp_path: Path) -> None:
    repository = own_suite.folder.parent / "repository"
    repository.rename(tmp_path / "elsewhere")
    run_git(tmp_path, "init", "--quiet", "other")
    done = codegate("review", own_suite.folder, "--drop", "calc-half", "--json", cwd=tmp_path)
    assert (done.code, done.document["dropped"], done.document["page"]) == (0, ["calc-half"], None), done.stderr
    assert "calc-half: dropped" in done.stderr
    assert codegate("plan", own_suite.folder, "--json", cwd=tmp_path).document["problems"] == 2
    done = codegate("review", own_suite.folder, cwd=tmp_path)
    assert (done.code, "Give --repository" in done.stderr) == (2, True)
    assert not (tmp_path / "review.html").exists()
    assert codegate("review", own_suite.folder, "--repository", "elsewhere", cwd=tmp_path).code == 0
