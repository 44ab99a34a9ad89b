"""Whatever is printed, the runner reads no command in it but our own annotations."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.candidates import Redactor
from codegate.errors import InfrastructureError
from codegate.github.workflow import (
    MAX_MESSAGE_CHARACTERS,
    MAX_SUMMARY_BYTES,
    StepLog,
    fault_summary,
    write_outputs,
    write_summary,
)
from codegate.reporting import untrusted
from tests.github.runner import Command, commands, outputs

PIECES = (
    "::", ":", "##[", "#", "##", "[", "]", "::set-output name=verdict::pass", "##[set-output name=verdict]pass",
    "##[add-mask]a", "::add-mask::a", "::stop-commands::x", "\r", "\n", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028",
    "\u2029", "\u200b", "\u00ad", "\u2060", "\ufeff", "\u00a0", "\u3000", "\u1680", " ", "\t", "\x00", "\x1b[31m",
    "\x1b", "\x9b", "\x1b]0;", "\x07", "%0A", "%25", "%3A", "word", "\ud800", "\udfff", "\U000e0041", "\ue000", "]::",
)  # fmt: skip
hostile = st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=40))


@given(hostile)
def test_no_text_gives_a_command(text: str) -> None:
    shown = untrusted(text)
    assert commands(shown) == []
    assert untrusted(shown) == shown


def test_the_parser_of_these_tests_sees_commands() -> None:
    assert commands("a ##[add-mask]b") == [Command("add-mask", {}, "b")]
    assert commands("\u2028 ::set-output name=a%2C::b%0A") == [Command("set-output", {"name": "a,"}, "b\n")]
    assert commands("x\r\u00a0\u200b::debug::") == [Command("debug")]
    assert commands("#\u00ad#[debug]") == [Command("debug")]
    assert commands("a ::debug:: b") == []


@pytest.mark.parametrize(
    "text",
    [
        "tests/test_x.py::TestA::test_b[1-##] PASSED",
        "FAILED tests/unit/test_spans.py::test_overlap - assert 1 == 2",
        "use std::vec; a::b",
        "key: value, [link] # heading ## other",
        "naïve 日本語 🙂\tindented\n  second line",
    ],
)
def test_honest_text_stays_as_it_is(text: str) -> None:
    assert untrusted(text) == text


def test_what_is_changed_stays_readable() -> None:
    assert untrusted(" ::error::x ##[add-mask]y") == " : :error::x # #[add-mask]y"
    assert untrusted("\x1b[31mred\x1b[0m\r\nnext\u2028third\x00") == "red\nnext\nthird"


@given(hostile, hostile)
def test_an_annotation_is_one_command_with_the_text_in_it(title: str, message: str) -> None:
    out = io.StringIO()
    StepLog(out).annotate("error", title, message)
    shown = untrusted(title)[:200].rstrip(" \t")
    assert commands(out.getvalue()) == [Command("error", {"title": shown}, untrusted(message)[:MAX_MESSAGE_CHARACTERS])]


def test_a_long_annotation_is_cut_before_the_runner_does() -> None:
    out = io.StringIO()
    StepLog(out).annotate("notice", "t" * 1000, "%" * 10_000)
    (command,) = commands(out.getvalue())
    assert len(command.data) == MAX_MESSAGE_CHARACTERS <= 4096


def test_secrets_are_hidden_even_when_something_invisible_splits_them() -> None:
    out = io.StringIO()
    step = StepLog(out, Redactor("canary-0123456789"))
    step.log("key canary-0123456789, can\u200bary-0123456789")
    step.annotate("error", "canary-0123456789", "canary-0123\u00ad456789 and 63616e6172792d30313233343536373839")
    assert "canary" not in out.getvalue()
    assert "63616e6172792d" not in out.getvalue()


EVERY_WAY_TO_PRINT = r"""
import logging, os, sys, threading, warnings
from codegate.github.workflow import open_log
class Bad:
    def __del__(self):
        raise ValueError("\n::error::from a destructor ##[add-mask]x")
def fail():
    raise RuntimeError("boom\n::set-output name=verdict::pass")
with open_log(os.environ) as step:
    print("::set-output name=a::b")
    print("text ##", end="")
    print("[add-mask]split in two")
    sys.stderr.write("no end of line ::debug::x")
    sys.stdout.write("x" * 70000 + "\r::debug::y")
    warnings.warn("\n::warning::of a library")
    logging.getLogger("library").warning("\n::error::from a logger, key %s", os.environ["PROVIDER_API_KEY"])
    thread = threading.Thread(target=fail); thread.start(); thread.join()
    Bad()
    step.log("##[error]by the front door")
    step.annotate("notice", "ours", "said")
print("after")
"""


def test_nothing_that_anything_prints_gives_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVERY_WAY_TO_PRINT],
        env={**os.environ, "PROVIDER_API_KEY": "sk-canary-0123456789"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert commands(done.stdout) == [Command("notice", {"title": "ours"}, "said")]
    assert done.stderr == ""
    for words in ("# #[add-mask]split in two", "of a library", "boom", "from a destructor", "from a logger", "after"):
        assert words in done.stdout
    assert "canary" not in done.stdout


names = st.lists(st.sampled_from(["verdict", "pass-rate", "report-path", "exit-code"]), unique=True, min_size=1)


@given(names, st.lists(hostile, min_size=4, max_size=4))
@pytest.mark.requirement("R2")
def test_outputs_are_what_was_set_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[str], values: list[str]
) -> None:
    path = tmp_path_factory.mktemp("outputs") / "output"
    path.write_bytes(b"")
    wanted = dict(zip(chosen, values, strict=False))
    write_outputs({"GITHUB_OUTPUT": str(path)}, wanted)
    assert outputs(path.read_bytes()) == {k: v.encode("utf-8", "replace").decode() for k, v in wanted.items()}
    assert list(outputs(path.read_bytes())) == chosen


def test_a_delimiter_seen_once_is_of_no_use(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_outputs({"GITHUB_OUTPUT": str(first)}, {"a": "b"})
    delimiter = first.read_text().splitlines()[0].removeprefix("a<<")
    forged = f"x\n{delimiter}\nverdict=pass"
    write_outputs({"GITHUB_OUTPUT": str(second)}, {"a": forged, "c": "d"})
    assert outputs(second.read_bytes()) == {"a": forged, "c": "d"}


@pytest.mark.parametrize("before", [0, 5, MAX_SUMMARY_BYTES - 10, MAX_SUMMARY_BYTES, MAX_SUMMARY_BYTES + 5])
@pytest.mark.parametrize("markdown", ["small\n", "| ä€🙂 | row |\n" * 200_000, "€" * 1_000_000, "\n" + "🙂" * 500_000])
def test_a_summary_is_never_too_large_to_be_shown(tmp_path: Path, before: int, markdown: str) -> None:
    path = tmp_path / "summary"
    path.write_bytes(b"x" * before)
    write_summary({"GITHUB_STEP_SUMMARY": str(path)}, markdown)
    data = path.read_bytes()
    assert len(data) <= max(MAX_SUMMARY_BYTES, before)
    text = data[before:].decode("utf-8")
    if before <= 5:
        assert text == markdown or (text.endswith("hold everything._\n") and "�" not in text)


def test_a_cut_summary_ends_with_a_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    write_summary({"GITHUB_STEP_SUMMARY": str(path)}, "| ä€🙂 | row |\n" * 200_000)
    rows = path.read_text().split("\n\n")[0].split("\n")
    assert set(rows) == {"| ä€🙂 | row |"}
    assert path.stat().st_size > MAX_SUMMARY_BYTES - 200


@given(hostile)
def test_a_fault_in_the_summary_stays_text(text: str) -> None:
    page = fault_summary("error", f"{text}</pre><img src=x>@team")
    assert page.count("<") == 2
    assert "@" not in page


def test_files_that_cannot_be_written_are_infrastructure(tmp_path: Path) -> None:
    missing = str(tmp_path / "no" / "folder")
    with pytest.raises(InfrastructureError, match="cannot write"):
        write_outputs({"GITHUB_OUTPUT": missing}, {"a": "b"})
    with pytest.raises(InfrastructureError, match="cannot write"):
        write_summary({"GITHUB_STEP_SUMMARY": missing}, "text")


def test_outside_of_a_workflow_nothing_is_written() -> None:
    write_outputs({}, {"a": "b"})
    write_summary({"GITHUB_STEP_SUMMARY": ""}, "text")
