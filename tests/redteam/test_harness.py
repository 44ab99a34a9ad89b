"""The most telling attacks on the host side; all of them are in ``make redteam``."""

import base64
import json

import pytest

from tests.redteam import harness
from tests.redteam.harness.providers import KEYS, encodings, leaks

#: One for each reader, and one for each thing that an input can be instead of what it should be.
FAST = frozenset(
    {
        "suite-aliases", "suite-tag", "suite-key-twice", "suite-depth", "suite-suite-pipe", "suite-hidden-link",
        "suite-hidden-holes", "suite-base-file-link", "suite-privileged", "suite-image-not-allowed",
        "suite-lock-outside", "suite-lock-takes-an-index", "suite-repository-outside", "suite-test-ids-many",
        "config-no-sandbox", "config-key-in-the-file", "address-with-a-user", "address-hexadecimal",
        "predictions-pipe", "predictions-commands", "transcripts-key-twice", "transcripts-device",
        "run-plan", "run-id-is-a-path", "run-sends-the-key-away", "run-journal-pipe", "run-journal-holes",
        "run-transcripts-link", "journal-depth", "lock-outside", "baseline-changed", "baseline-holes",
        "git-planted", "git-borrows-objects", "git-replaced-objects", "action-suite-link", "action-forged-candidate",
        "action-no-sandbox-is-never-green",
        "provider-echo-in-a-401@openai", "provider-echo-in-the-answer@anthropic", "provider-redirect@openai",
        "secrets-in-files", "secrets-in-output", "secrets-in-the-environment-of-git", "commands-in-output",
        "requests-to-another-address",
    }
)  # fmt: skip


@pytest.mark.bwrap
def test_no_attack_on_the_host_succeeds() -> None:
    rows = list(harness.run("bwrap", FAST))
    assert {row.attack for row in rows} == FAST
    assert [row for row in rows if not row.held] == []


def test_there_are_enough_of_them() -> None:
    assert len(harness.ATTACKS) >= 48


@pytest.mark.parametrize("name", encodings(KEYS["OPENAI_API_KEY"]))
def test_a_key_that_leaked_would_be_found(name: str) -> None:
    key = KEYS["OPENAI_API_KEY"]
    text = f"before {encodings(key)[name]} after"
    for data in (text.encode("utf-8", "surrogateescape"), json.dumps(text).encode()):
        assert name in leaks(data, key), data
    assert leaks(base64.b64encode(b"nothing of that kind"), key) == []
