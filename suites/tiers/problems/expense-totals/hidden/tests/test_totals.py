import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "totals.sh"
HEAD = "date,category,amount\n"


def totals(lines, *arguments):
    done = subprocess.run(
        ["sh", str(SCRIPT), *arguments], input=HEAD + lines, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_sums_of_each_category():
    status, out, _ = totals("2024-03-05,travel,12.50\n2024-03-06,food,3\n2024-03-07,travel,1.25\n")
    assert (status, out) == (0, "travel,13.75\nfood,3.00\n")


def test_the_largest_comes_first():
    _, out, _ = totals("2024-03-05,a,9\n2024-03-05,b,10\n2024-03-05,c,100\n")
    assert out == "c,100.00\nb,10.00\na,9.00\n"


def test_one_month():
    status, out, _ = totals("2024-03-05,a,1\n2024-04-01,a,2\n2023-03-05,a,4\n", "--month", "2024-03")
    assert (status, out) == (0, "a,1.00\n")


def test_a_bad_line():
    status, out, errors = totals("2024-03-05,a,1\n2024-03-05,a\n2024-03-05,a,ten\n")
    assert (status, out) == (1, "a,1.00\n")
    assert errors == "line 3: bad\nline 4: bad\n"


@pytest.mark.edge_case
def test_equal_totals_are_in_order_of_their_category():
    _, out, _ = totals("2024-03-05,b,1\n2024-03-05,a,1.00\n2024-03-05,c,1.0\n")
    assert out == "a,1.00\nb,1.00\nc,1.00\n"


@pytest.mark.edge_case
def test_blanks_letters_and_empty_lines():
    status, out, errors = totals("2024-03-05, Travel ,1\n\n 2024-03-06,TRAVEL, 2 \n")
    assert (status, out, errors) == (0, "travel,3.00\n", "")


@pytest.mark.edge_case
@pytest.mark.parametrize("amount", ["", "-", "1.", ".5", "1e3", "1 2", "0x10", "+1"])
def test_what_is_no_number(amount):
    status, out, errors = totals(f"2024-03-05,a,{amount}\n")
    assert (status, out, errors) == (1, "", "line 2: bad\n")


@pytest.mark.edge_case
def test_refunds():
    status, out, _ = totals("2024-03-05,a,-2.50\n2024-03-05,a,2\n2024-03-05,b,0\n")
    assert (status, out) == (0, "b,0.00\na,-0.50\n")


@pytest.mark.edge_case
def test_bad_lines_of_other_months_are_reported_too():
    status, out, errors = totals("2024-03-05,a,1\n2023-01-01,a,x\n", "--month", "2024-03")
    assert (status, out, errors) == (1, "a,1.00\n", "line 3: bad\n")


@pytest.mark.edge_case
@pytest.mark.parametrize("arguments", [("--year", "2024"), ("--month",), ("x",), ("--month", "2024-03", "x")])
def test_other_arguments(arguments):
    status, out, _ = totals("2024-03-05,a,1\n", *arguments)
    assert (status, out) == (2, "")


@pytest.mark.edge_case
def test_no_expenses():
    assert totals("") == (0, "", "")
