"""A key that a program prints: run without a shell, known to every redactor, asked for again when it is refused."""

import os
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from codegate.candidates import (
    CandidateSpec,
    Message,
    ProblemKey,
    ProviderError,
    Sampling,
    open_provider,
    redactor_for,
    registry,
)
from codegate.errors import UsageError
from tests.kit.model_server import as_json, chat_answer, wire_server

KEY = ProblemKey(problem="p", sample=0)
QUESTION = (Message(role="user", text="?"),)
# Prints another key each time, and keeps count beside itself.
PRINTER = """\
import os, pathlib, sys
count = pathlib.Path(sys.argv[1])
count.write_text(count.read_text() + os.getcwd() + "\\n" if count.exists() else os.getcwd() + "\\n")
print("canary-printed-key-%d" % min(2, len(count.read_text().split())))
"""


def candidate(url: str, *command: str) -> CandidateSpec:
    return CandidateSpec(provider="openai", model="m", base_url=f"{url}/v1", api_key_command=command)


def test_a_key_is_printed_once_and_again_when_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-this-one-at-all")
    before = redactor_for()
    ended = as_json({"error": {"message": "ended: canary-printed-key-1"}}, 401)
    fine = as_json(chat_answer(message={"content": "You sent canary-printed-key-2."}))
    with wire_server(fine, ended, fine, ended) as server:
        spec = candidate(server.url, sys.executable, "-c", PRINTER, str(tmp_path / "count"))
        client = open_provider(spec)
        assert client is not None
        for _ in range(2):
            answer = client.complete(KEY, QUESTION, (), Sampling())
        with pytest.raises(ProviderError, match="`api_key_command`"):
            client.complete(KEY, QUESTION, (), Sampling())
        client.close()
    used = [request.headers["authorization"].rpartition("-")[2] for request in server.received]
    assert used == ["1", "1", "2", "2"], "the third key is the second again: it was refused and is not sent again"
    assert (tmp_path / "count").read_text().split() == ["/"] * 3, "nothing of a checkout is found by a relative path"
    assert answer.text == "You sent [redacted]."
    assert before.redact("canary-printed-key-2") == "[redacted]", "a redactor of before knows it too"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/no/such/program",), "cannot be started: No such file"),
        (("sh", "-c", "echo leaked-canary-value >&2; exit 3"), r"ended with status 3: \[redacted\]"),
        (
            ("sh", "-c", "echo quoted-value-0815; echo no use: quoted-value-0815 >&2; exit 1"),
            r": no use: \[redacted\] T",
        ),
        (("true",), "printed no key"),
        (("sh", "-c", "yes | head -c 20000"), "printed too much"),
        (("printf", r"a\nb-key-with-a-line-break"), "non-printable"),
        (("sh", "-c", "sleep 60 & sleep 60"), "printed no key within 0.5 s"),
    ],
)
def test_what_prints_no_key_is_named(command: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "leaked-canary-value")
    monkeypatch.setattr(registry, "KEY_SECONDS", 0.5 if "sleep" in str(command) else 30.0)
    with pytest.raises(UsageError, match=words):
        open_provider(candidate("http://127.0.0.1:1", *command))


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with wire_server(as_json(chat_answer())) as server:
        client = open_provider(candidate(server.url, "echo", f"$(touch {marker})"))
        assert client is not None
        client.complete(KEY, QUESTION, (), Sampling())
        client.close()
    assert not os.path.lexists(marker)
    assert [request.headers["authorization"][:13] for request in server.received] == ["Bearer $(touc"]


def test_a_key_has_one_source_and_identity_leaves_it_out() -> None:
    with pytest.raises(ValidationError, match="two sources of one key"):
        CandidateSpec(provider="openai", model="m", api_key_env="A_KEY", api_key_command=("a",))
    assert candidate("http://127.0.0.1:1", "a").key() == candidate("http://127.0.0.1:1", "b").key()
