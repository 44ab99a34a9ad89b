import json
import re
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.suite.exchange import read_rows


def _folder(place: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.mark.requirement("D12")
def test_a_task_folder_from_elsewhere_is_read_as_its_adapters_row(tmp_path: Path) -> None:
    row = {"instance_id": "a__b-1", "problem_statement": "It breaks."}

    def read(folder: Path) -> tuple[list[object], list[str]]:
        return read_rows(folder, lambda row, place: (place, row))

    _folder(tmp_path / "tasks/adapter", {"task.toml": "", "tests/config.json": json.dumps(row)})
    _folder(tmp_path / "tasks/broken", {"task.toml": "", "tests/config.json": "[]"})
    _folder(tmp_path / "tasks/first", {"task.yaml": "", "tests/config.json": "{"})
    _folder(tmp_path / "tasks/foreign", {"task.toml": "", "tests/test.sh": "#!/bin/bash\n"})
    linked = _folder(tmp_path / "tasks/linked", {"task.toml": "", "tests/x": ""})
    (linked / "tests/config.json").symlink_to(tmp_path / "tasks/adapter/tests/config.json")
    rows, skipped = read(tmp_path / "tasks")
    assert rows == [row]
    assert read(tmp_path / "tasks/adapter")[0] == rows
    reasons = ("row 2: it is no JSON object", "row 3: first: .* not usable JSON", "row 4: foreign: .* scripts",
               "row 5: linked: .* symbolic link")  # fmt: skip
    for words, entry in zip(reasons, skipped, strict=True):
        assert re.match(words, entry)
    with pytest.raises(UsageError, match="no task folders"):
        read(tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        read(tmp_path / "nowhere")
