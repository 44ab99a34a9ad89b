import pytest
from reports import as_csv, as_markdown, as_text

ENTRIES = [
    {"name": "ann", "cents": 1005},
    {"name": " BOB ", "cents": 250},
    {"name": "Ann", "cents": 95},
    {"name": "", "cents": 7},
    {"name": "cy", "cents": 250},
]


def test_csv():
    assert as_csv(ENTRIES) == "name,amount\nAnn,11.00\nBob,2.50\nCy,2.50\nUnknown,0.07\n"


def test_markdown():
    assert as_markdown(ENTRIES[:2]) == "| name | amount |\n|---|---|\n| Ann | 10.05 |\n| Bob | 2.50 |\n"


def test_text():
    assert as_text(ENTRIES) == "Ann spent 11.00\nBob spent 2.50\nCy spent 2.50\nUnknown spent 0.07\n"


@pytest.mark.parametrize(
    ("report", "text"), [(as_csv, "name,amount\n"), (as_markdown, "| name | amount |\n|---|---|\n"), (as_text, "\n")]
)
def test_nothing(report, text):
    assert report([]) == text


def test_a_debt_that_was_repaid():
    entries = [{"name": "ann", "cents": 100}, {"name": "ann", "cents": -100}, {"name": "bob", "cents": 1}]
    assert as_csv(entries) == "name,amount\nBob,0.01\nAnn,0.00\n"


def test_entries_are_left_alone():
    entries = [{"name": " ann ", "cents": 1}]
    assert as_text(entries) == "Ann spent 0.01\n"
    assert entries == [{"name": " ann ", "cents": 1}]
