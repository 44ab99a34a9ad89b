"""Finds the examples of a problem, in whatever language it is."""

from collections.abc import Iterator
from itertools import chain

from codegate.mining.cut import Cut
from codegate.mining.probes.example import Example, Found, chosen
from codegate.mining.probes.line_example import line_examples
from codegate.mining.probes.python_example import python_examples
from codegate.mining.proving.validation import OpenSandbox, Validated


def find_examples(cut: Cut, validated: Validated, open_sandbox: OpenSandbox, public: str, seed: str) -> list[Example]:
    """Return examples of what the fix changes: the clearest of each of up to three failing test functions.

    The probes run on base and fix; those that differ run once more on both, and must give the same again.

    Args:
        cut: the problem's parts.
        validated: how its tests are run, and which of them the fix makes pass.
        open_sandbox: gives fresh sandboxes of its environment.
        public: the base's text: its literals are not hidden.
        seed: what the drawn literals follow from.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    languages = (python_examples, line_examples)
    found: Iterator[Found] = chain.from_iterable(
        language(cut, validated, open_sandbox, public, seed) for language in languages
    )
    return chosen(found)
