import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "rotate.sh"


def backup(stamp, name="db"):
    return f"{name}-{stamp}.tar.gz"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


def fill(folder, *names):
    for name in names:
        (folder / name).write_text("x")


def rotate(*arguments):
    done = subprocess.run(["sh", str(SCRIPT), *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


NEWEST, SAME_DAY, DAY_BEFORE, MONTH_BEFORE, YEAR_BEFORE = (
    backup(stamp) for stamp in ("20240310-180000", "20240310-060000", "20240309-120000", "20240215-120000", "20230310-120000")
)
ALL = (NEWEST, SAME_DAY, DAY_BEFORE, MONTH_BEFORE, YEAR_BEFORE)


@pytest.mark.parametrize(
    ("options", "going"),
    [
        (("--last", 1), [YEAR_BEFORE, MONTH_BEFORE, DAY_BEFORE, SAME_DAY]),
        (("--last", 3), [YEAR_BEFORE, MONTH_BEFORE]),
        (("--last", 9), []),
        (("--days", 1), [YEAR_BEFORE, MONTH_BEFORE, DAY_BEFORE, SAME_DAY]),
        (("--days", 3), [YEAR_BEFORE, SAME_DAY]),
        (("--months", 2), [YEAR_BEFORE, DAY_BEFORE, SAME_DAY]),
        (("--months", 3), [DAY_BEFORE, SAME_DAY]),
        (("--last", 2, "--months", 2), [YEAR_BEFORE, DAY_BEFORE]),
        (("--last", 0), [YEAR_BEFORE, MONTH_BEFORE, DAY_BEFORE, SAME_DAY]),
    ],
)
def test_what_goes(folder, options, going):
    fill(folder, *ALL)
    assert rotate(*options, folder) == (0, going)
    assert sorted(os.listdir(folder)) == sorted(ALL)


def test_what_goes_is_removed(folder):
    fill(folder, *ALL)
    assert rotate("--delete", "--days", 2, folder) == (0, [YEAR_BEFORE, MONTH_BEFORE, SAME_DAY])
    assert sorted(os.listdir(folder)) == [DAY_BEFORE, NEWEST]
    assert rotate("--delete", "--days", 2, folder) == (0, [])


def test_names_do_not_matter_to_each_other(folder):
    others = [backup("20200101-000000", "my-files"), backup("20200102-000000", "my-files")]
    fill(folder, *ALL, *others)
    assert rotate("--last", 4, folder) == (0, [YEAR_BEFORE])
    assert rotate("--last", 1, folder)[1][-1] == others[0]


@pytest.mark.edge_case
def test_other_files_are_left_alone(folder):
    others = ["notes.txt", "db-2024031-180000.tar.gz", "db-20240310-18000.tar.gz", "db-20240310-180000.tar", "-20200101-000000.tar.gz"]
    fill(folder, *ALL, *others, "x-20200101-000000.tar.gz.part", "20200101-000000.tar.gz")
    (folder / "sub").mkdir()
    fill(folder / "sub", backup("20200101-000000"))
    (folder / backup("20200102-000000")).mkdir()
    (folder / backup("20200103-000000")).symlink_to(folder / "notes.txt")
    assert rotate("--last", 4, folder) == (0, [YEAR_BEFORE])


@pytest.mark.edge_case
@pytest.mark.parametrize("name", ["two words", "-rf", "a'b", "$HOME", "*", "ü", "  x", ".hidden", "a\\nb", "x-20240101-000000"])
def test_odd_names(folder, name):
    old, new = backup("20240101-000000", name), backup("20240102-000000", name)
    fill(folder, old, new, "other")
    assert rotate("--last", 1, "--delete", folder) == (0, [old])
    assert sorted(os.listdir(folder)) == sorted([new, "other"])


@pytest.mark.edge_case
def test_marked_backups_stay(folder):
    fill(folder, *ALL, YEAR_BEFORE + ".keep")
    assert rotate("--last", 1, "--delete", folder) == (0, [MONTH_BEFORE, DAY_BEFORE, SAME_DAY])
    assert sorted(os.listdir(folder)) == [YEAR_BEFORE, YEAR_BEFORE + ".keep", NEWEST]


@pytest.mark.edge_case
def test_marked_backups_count(folder):
    fill(folder, *ALL, NEWEST + ".keep")
    assert rotate("--last", 1, folder)[1] == [YEAR_BEFORE, MONTH_BEFORE, DAY_BEFORE, SAME_DAY]
    assert rotate("--days", 1, folder)[1] == [YEAR_BEFORE, MONTH_BEFORE, DAY_BEFORE, SAME_DAY]


@pytest.mark.edge_case
def test_no_backups(folder):
    assert rotate("--last", 1, folder) == (0, [])


@pytest.mark.edge_case
def test_a_folder_with_blanks(tmp_path):
    folder = tmp_path / "my old  backups"
    folder.mkdir()
    fill(folder, *ALL)
    assert rotate(folder, "--last", 4) == (0, [YEAR_BEFORE])
    assert rotate("--last", 4, "--", folder) == (0, [YEAR_BEFORE])


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--last", "1"),
        ("FOLDER",),
        ("--delete", "FOLDER"),
        ("--last", "FOLDER"),
        ("--last", "-1", "FOLDER"),
        ("--last", "", "FOLDER"),
        ("--last", "1x", "FOLDER"),
        ("--weeks", "1", "FOLDER"),
        ("--last", "1", "FOLDER", "FOLDER"),
        ("--last", "1", "FOLDER/none"),
        ("FOLDER", "--days"),
    ],
)
def test_usage_errors(folder, arguments):
    fill(folder, *ALL)
    assert rotate(*(word.replace("FOLDER", str(folder)) for word in arguments)) == (2, [])
    assert sorted(os.listdir(folder)) == sorted(ALL)


@pytest.mark.temporal
def test_days_without_a_backup_do_not_count(folder):
    far = [backup(f"{year}0101-000000") for year in (2001, 2009, 2017)]
    fill(folder, *far)
    assert rotate("--days", 2, folder) == (0, [far[0]])
    assert rotate("--months", 2, folder) == (0, [far[0]])


@pytest.mark.temporal
def test_the_newest_of_a_day_is_kept(folder):
    day = [backup(f"20240310-{time}") for time in ("000000", "235958", "235959")]
    fill(folder, *day)
    assert rotate("--days", 5, folder) == (0, day[:2])


@pytest.mark.temporal
def test_a_day_is_of_its_month(folder):
    stamps = [backup(f"{day}-120000") for day in ("20231231", "20240101", "20240131", "20240201")]
    fill(folder, *stamps)
    assert rotate("--months", 3, folder) == (0, [stamps[1]])
