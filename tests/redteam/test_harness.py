"""Attacks on the host side: one for each reader, and one for each thing that an input can be instead of a file.

They show that a refusal reaches the command line as one line, exit code and nothing else. What each reader refuses is
a table in the tests of its room.
"""

import base64
import json

import pytest

from tests.redteam import harness
from tests.redteam.harness.providers import KEYS, encodings, leaks

#: Of what a provider may answer, the part that tells most; all of it is in ``make redteam``.
PROVIDER = {
    "provider-echo-in-a-401@openai", "provider-echo-in-the-answer@anthropic", "provider-redirect@openai",
    "secrets-in-files", "secrets-in-output", "secrets-in-the-environment-of-git", "commands-in-output",
    "requests-to-another-address",
}  # fmt: skip
#: A reader of each kind of file gets a pipe; one of them gets the other things too.
FAST = frozenset({*PROVIDER, *harness.ATTACKS} - {
    name for name in harness.ATTACKS if name.endswith(("-device", "-holes")) and not name.startswith("config-")
})  # fmt: skip


@pytest.mark.bwrap
def test_no_attack_on_the_host_succeeds() -> None:
    rows = list(harness.run("bwrap", FAST))
    assert {row.attack for row in rows} == FAST
    assert [row for row in rows if not row.held] == []


@pytest.mark.parametrize("name", encodings(KEYS["OPENAI_API_KEY"]))
def test_a_key_that_leaked_would_be_found(name: str) -> None:
    key = KEYS["OPENAI_API_KEY"]
    text = f"before {encodings(key)[name]} after"
    for data in (text.encode("utf-8", "surrogateescape"), json.dumps(text).encode()):
        assert name in leaks(data, key), data
    assert leaks(base64.b64encode(b"nothing of that kind"), key) == []
