"""Graders of the usual kind, to see that an attack is one: what they pass has its bug and is called fixed.

``python -m tests.redteam.grader.naive [ID ...]`` prints, for each attack, which of three graders it fools. All three
start from a fresh sandbox with the whole patch and the right test files, and run ``python -m pytest`` there:

* ``exit``: the exit status is 0;
* ``junit``: the JUnit report has every expected test, and each has passed;
* ``lines``: the output has a line ``PASSED id`` for every expected test, and the exit status is 0.
"""

import json
import sys
from collections.abc import Iterator
from typing import Final

import click

from codegate.sandbox import Command, EnvironmentRecipe, SandboxFile, SandboxLimits, select_backend
from codegate.suite import PatchError, Tree, apply_patch
from tests.redteam.grader import ATTACKS, submissions
from tests.redteam.grader.grading import Submission, patch_of
from tests.redteam.grader.projects import LOCK, PROJECTS, changes

_SECONDS: Final = 40.0

_DRIVER: Final = """
import json, os, subprocess, sys, xml.etree.ElementTree as xml
files, runner = json.loads(sys.argv[3]), sys.argv[4]
paths = [os.getcwd(), os.path.join(os.getcwd(), "src"), sys.argv[2]]
environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
command = [sys.executable, "-m", "pytest", "-rA", "--junitxml=/tmp/junit.xml", *files]
if runner == "unittest":
    command = [sys.executable, "-m", "unittest", *(name[:-3].replace("/", ".") for name in files)]
done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
cases = {}
try:
    for case in xml.parse("/tmp/junit.xml").iter("testcase"):
        name = "%s::%s" % (case.get("classname"), case.get("name"))
        cases[name] = not [one for one in case if one.tag in ("failure", "error", "skipped")]
except Exception:
    pass
text = done.stdout.decode("utf-8", "replace")[-200000:]
os.write(int(sys.argv[1]), json.dumps({"status": done.returncode, "cases": cases, "text": text}).encode())
"""


def judge(chosen: Iterator[Submission]) -> Iterator[tuple[str, dict[str, bool]]]:
    """Yield each submission's id and what each grader says of it."""
    backend = select_backend("bwrap", "naive")
    try:
        environment = backend.prepare(EnvironmentRecipe("3.11", LOCK))
        for one in chosen:
            project = PROJECTS[one.project]
            if project.environment != "tests":
                continue
            try:
                changed = apply_patch(project.tree, patch_of(one))
            except PatchError:  # even such a grader applies patches with git
                continue
            tree = project.tree.overlay(changed).overlay(changes(project.hidden))
            sandbox = backend.open(environment, SandboxLimits(lifetime_seconds=120, memory_bytes=512 << 20))
            try:
                sandbox.put(_files(tree))
                done = sandbox.run(
                    Command(
                        argv=(
                            "{python}", "-I", "-c", _DRIVER, "{records}", "{site}", json.dumps(project.test_files),
                            project.runner,
                        ),
                        timeout_seconds=_SECONDS,
                        records=True,
                    )
                )  # fmt: skip
                said = json.loads(done.records or b"{}")
            finally:
                sandbox.close()
            expected = project.fail_to_pass + project.pass_to_pass
            named = {_junit_name(test): test for test in expected}
            status = said.get("status") == 0
            yield (
                one.id,
                {
                    "exit": status,
                    "junit": all(said.get("cases", {}).get(name) for name in named),
                    "lines": status and all(f"PASSED {test}" in said["text"] for test in expected),
                },
            )
    finally:
        backend.close()


def _files(tree: Tree) -> tuple[SandboxFile, ...]:
    return tuple(SandboxFile(path, file.data, file.mode) for path, file in tree.items())


def _junit_name(test: str) -> str:
    path, *names = test.split("::")
    return "::".join([".".join([path.removesuffix(".py").replace("/", "."), *names[:-1]]), names[-1]])


def main() -> None:
    """Print the table."""
    fooled: dict[str, int] = {"exit": 0, "junit": 0, "lines": 0}
    attacks: dict[str, bool] = {}
    for key, said in judge(iter(submissions(ATTACKS, frozenset(sys.argv[1:]) or None).values())):
        words = [name for name, passed in said.items() if passed]
        for name in words:
            fooled[name] += 1
        attack = key.partition("@")[0]
        attacks[attack] = attacks.get(attack, False) or bool(words)
        click.echo(f"{key:<45} {' '.join(words) or '-'}")
    click.echo(f"fooled: {fooled}; {sum(attacks.values())} of {len(attacks)} attacks fool at least one grader")


if __name__ == "__main__":
    main()
