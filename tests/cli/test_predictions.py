"""Answers made elsewhere: graded."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from codegate.suite import LockedEnvironment, Provenance, Suite, make_problem, write_suite
from tests.running.world import NAMES, codegate

pytestmark = pytest.mark.bwrap


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in rows))
    return path


def test_grade_takes_the_ids_that_an_export_writes(own_suite: Suite, tmp_path: Path) -> None:
    manifests = [problem.manifest for problem in own_suite.problems]
    pulls = [
        manifest.model_copy(update={"provenance": Provenance(kind="handwritten", pull_request=number)})
        for number, manifest in enumerate(manifests, start=7)
    ]
    write_suite(
        own_suite.folder.parent / "pulls",
        name="calc",
        repository="../repository",
        environments=[LockedEnvironment(one, own_suite.locks[one.id]) for one in own_suite.manifest.environments],
        problems=[
            make_problem(manifest, one.statement, one.tests, one.hidden, one.fix, one.environment)
            for manifest, one in zip(pulls, own_suite.problems, strict=True)
        ],
    )
    suite = own_suite.folder.parent / "pulls"
    export = ("mine", "export", suite, "--format", "swe-bench", "--slug", "acme/calc", "--out", "rows.jsonl")
    assert codegate(*export, cwd=tmp_path).code == 0
    instances = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [instance["instance_id"] for instance in instances] == ["acme__calc-7", "acme__calc-8", "acme__calc-9"]
    file = write(
        tmp_path / "p.jsonl",
        [
            {"instance_id": one["instance_id"], "model_name_or_path": "ours", "model_patch": text}
            for one in instances
            for text in (one["patch"], None)
        ],
    )
    done = codegate("grade", suite, "--predictions", file, "--sandbox", "bwrap", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    graded = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["problem"], one["sample"]) for one in graded] == [
        (f"calc-{name}", sample) for name in NAMES for sample in (0, 1)
    ]
    assert [one["grade"]["resolved"] for one in graded] == [True, False] * 3
