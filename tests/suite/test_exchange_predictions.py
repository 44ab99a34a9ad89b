"""SWE-bench's predictions, in every shape that tools write them in."""

import json
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.suite import Base, Problem, Provenance, Suite
from codegate.suite.exchange import Prediction, export_suite, predictions_for
from codegate.suite.exchange.predictions import read_predictions
from tests.kit.repository import make_repository

from . import builders

ONE = {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": "diff --git a b\n+{\n"}
TWO = {"instance_id": "a-2", "model_name_or_path": "m", "model_patch": None, "cost": {"usd": 1}, "instance": {}}

BOTH = (Prediction.model_validate(ONE), Prediction.model_validate(TWO))


def _read(folder: Path, text: str) -> tuple[Prediction, ...]:
    path = folder / "predictions.json"
    path.write_text(text)
    return read_predictions(path)


@pytest.mark.parametrize(
    "text",
    [
        f"{json.dumps(ONE)}\n{json.dumps(TWO)}\n",
        f"\ufeff{json.dumps(ONE)}\n{json.dumps(TWO)}\n",
        json.dumps([ONE, TWO]),
        f"[\n{json.dumps(ONE)},\n{json.dumps(TWO)}\n]",
        json.dumps({"a-1": ONE, "a-2": TWO}),
        f'{{"a-1":\n{json.dumps(ONE)},\n"a-2":\n{json.dumps(TWO)}}}',
        json.dumps({"a-1": {**ONE, "instance_id": "a-1"}, "a-2": {"model_name_or_path": "m", "model_patch": None}}),
    ],
)
def test_every_shape_says_the_same(tmp_path: Path, text: str) -> None:
    assert _read(tmp_path, text) == BOTH


def test_an_instance_may_have_any_name(tmp_path: Path) -> None:
    keyed = {"instance_id": {"model_name_or_path": "m", "model_patch": "x"}}
    assert [found.instance_id for found in _read(tmp_path, json.dumps(keyed))] == ["instance_id"]


def _suite(folder: Path) -> Suite:
    """Return a suite of problems from pull requests, from a commit, from a row, and from nowhere."""
    commit = make_repository(folder / "shop")

    def problem(name: str, **provenance: object) -> Problem:
        facts = {"kind": "handwritten", **provenance}
        return builders.problem(name, base=Base(commit=commit), provenance=Provenance.model_validate(facts))

    return builders.suite(
        folder / "suite",
        problem("p-17", pull_request=17),
        problem("p-17-again", pull_request=17),
        problem("p-abc", commit="abc" + "0" * 37),
        problem("p-row", upstream="django__django-17"),
        problem("p-hand"),
        repository="../shop",
    )


@pytest.mark.parametrize("slug", [None, "acme/web-shop", "acme/shop_2.0"])
def test_predictions_may_have_the_ids_of_an_export(tmp_path: Path, slug: str | None) -> None:
    suite = _suite(tmp_path)
    ids = export_suite(suite, tmp_path / "rows.jsonl", slug=slug).ids
    assert ids["p-row"] == "django__django-17"
    assert len({*ids.values(), *ids}) == 8  # three problems have ids of the export's own
    file = tmp_path / "predictions.json"
    for names in (ids.values(), ids):
        file.write_text(json.dumps([{**ONE, "instance_id": name} for name in names]))
        assert [found.instance_id for found in predictions_for(suite, file)] == list(ids)


def test_predictions_of_other_problems_are_refused(tmp_path: Path) -> None:
    suite = _suite(tmp_path)
    file = tmp_path / "predictions.json"
    for names, said in (
        (["p-17", "acme__shop-18"], "not in suite demo: acme__shop-18"),
        (["acme__shop-17", "other__shop-abc000000000"], "several repositories: acme/shop, other/shop"),
    ):
        file.write_text(json.dumps([{**ONE, "instance_id": name} for name in names]))
        with pytest.raises(UsageError, match=said):
            predictions_for(suite, file)


BROKEN = {
    "nothing": ("", "holds no predictions"),
    "no predictions": ("[]", "holds no predictions"),
    "words": ("I could not do it", "not usable JSON"),
    "a cut array": (json.dumps([ONE, TWO])[:-5], "not usable JSON"),
    "a cut line": (json.dumps(ONE) + "\n" + json.dumps(TWO)[:-5], "row 2"),
    "a line that is no object": (json.dumps(ONE) + "\n7\n", "row 2"),
    "no id": (json.dumps([ONE, {"model_name_or_path": "m", "model_patch": ""}]), "row 2"),
    "no model": (json.dumps({"instance_id": "a-1", "model_patch": ""}), "model_name_or_path"),
    "a patch under another key": (
        "\n".join(json.dumps(row) for row in (ONE, {"instance_id": "a-2", "model_name_or_path": "m", "patch": "x"})),
        "row 2: model_patch",
    ),
    "a patch that is no text": (json.dumps({**ONE, "model_patch": ["x"]}), "model_patch"),
    "another instance under a key": (json.dumps({"a-9": ONE}), "another instance"),
    "a key's value that is no object": (json.dumps({"a-1": "diff"}), "a-1"),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        _read(tmp_path, text)
    assert said in str(caught.value)
    assert "predictions.json" in str(caught.value)
