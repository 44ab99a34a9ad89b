import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from stock import Expired, SoldOut, Stock

ROOT = Path(__file__).resolve().parents[1]


class Shop(Stock):
    def __init__(self, path):
        self.now = 0
        super().__init__(path, lambda: self.now, 100)


@pytest.fixture
def shop(tmp_path):
    shop = Shop(str(tmp_path / "stock.db"))
    shop.receive("cup", 5)
    shop.receive("pot", 1)
    return shop


def test_what_is_received_is_available(shop):
    shop.receive("cup", 2)
    assert (shop.available("cup"), shop.available("pot"), shop.available("pan")) == (7, 1, 0)


def test_a_reservation(shop):
    shop.reserve("a", {"cup": 2, "pot": 1})
    assert (shop.available("cup"), shop.available("pot")) == (3, 0)


def test_a_confirmed_order(shop):
    shop.reserve("a", {"cup": 2})
    shop.confirm("a")
    assert shop.available("cup") == 3
    shop.now = 1_000
    assert shop.available("cup") == 3


def test_a_released_order(shop):
    shop.reserve("a", {"cup": 2})
    shop.release("a")
    assert shop.available("cup") == 5
    with pytest.raises(Expired):
        shop.confirm("a")


def test_all_or_nothing(shop):
    shop.reserve("a", {"pot": 1})
    with pytest.raises(SoldOut) as raised:
        shop.reserve("b", {"pot": 1, "cup": 2, "pan": 1})
    assert raised.value.args == (["pan", "pot"],)
    assert shop.available("cup") == 5


def test_the_stock_is_in_the_file(shop, tmp_path):
    shop.reserve("a", {"cup": 4})
    other = Shop(str(tmp_path / "stock.db"))
    assert other.available("cup") == 1
    other.confirm("a")
    assert shop.history("cup") == [("received", None, 5), ("reserved", "a", 4), ("confirmed", "a", 4)]


def test_the_history(shop):
    shop.reserve("a", {"cup": 1})
    shop.reserve("b", {"cup": 2})
    shop.release("a")
    shop.confirm("b")
    assert shop.history("cup")[1:] == [("reserved", "a", 1), ("reserved", "b", 2), ("released", "a", 1), ("confirmed", "b", 2)]
    assert shop.history("pan") == []


@pytest.mark.edge_case
def test_the_same_again_does_nothing(shop):
    for _ in range(2):
        shop.reserve("a", {"cup": 2})
    for _ in range(2):
        shop.confirm("a")
    shop.release("none")
    assert shop.available("cup") == 3
    assert len(shop.history("cup")) == 3


@pytest.mark.edge_case
def test_other_lines_of_the_same_order(shop):
    shop.reserve("a", {"cup": 2})
    for lines in ({"cup": 3}, {"cup": 2, "pot": 1}):
        with pytest.raises(ValueError):
            shop.reserve("a", lines)
    assert (shop.available("cup"), shop.available("pot")) == (3, 1)


@pytest.mark.edge_case
def test_a_confirmed_order_is_final(shop):
    shop.reserve("a", {"cup": 2})
    shop.confirm("a")
    with pytest.raises(ValueError):
        shop.release("a")
    with pytest.raises(ValueError):
        shop.reserve("a", {"cup": 2})
    assert shop.available("cup") == 3


@pytest.mark.edge_case
@pytest.mark.parametrize("lines", [{}, {"cup": 0}, {"cup": 1, "pot": -1}])
def test_lines_are_checked(shop, lines):
    with pytest.raises(ValueError):
        shop.reserve("a", lines)
    with pytest.raises(ValueError):
        shop.receive("cup", 0)
    assert shop.available("cup") == 5


@pytest.mark.edge_case
def test_names_are_no_sql(shop):
    name = "x'; DROP TABLE orders; --"
    shop.receive(name, 1)
    shop.reserve(name, {name: 1})
    assert shop.history(name) == [("received", None, 1), ("reserved", name, 1)]


@pytest.mark.temporal
def test_a_reservation_ends(shop):
    shop.now = 10
    shop.reserve("a", {"cup": 2})
    shop.now = 109
    assert shop.available("cup") == 3
    shop.now = 110
    assert shop.available("cup") == 5
    with pytest.raises(Expired):
        shop.confirm("a")


@pytest.mark.temporal
def test_it_is_confirmed_in_the_last_second(shop):
    shop.reserve("a", {"cup": 2})
    shop.now = 99
    shop.confirm("a")
    assert shop.history("cup")[-1] == ("confirmed", "a", 2)


@pytest.mark.temporal
def test_a_repetition_does_not_prolong(shop):
    shop.reserve("a", {"cup": 2})
    shop.now = 60
    shop.reserve("a", {"cup": 2})
    shop.now = 100
    assert shop.available("cup") == 5


@pytest.mark.temporal
def test_an_order_is_reserved_anew(shop):
    shop.reserve("a", {"cup": 2})
    shop.now = 100
    shop.reserve("a", {"pot": 1})
    assert (shop.available("cup"), shop.available("pot")) == (5, 0)
    assert shop.history("cup") == [("received", None, 5), ("reserved", "a", 2), ("expired", "a", 2)]


@pytest.mark.temporal
def test_what_ended_is_entered_before_what_comes_next(shop):
    shop.reserve("b", {"cup": 1})
    shop.reserve("a", {"cup": 2})
    shop.now = 5
    shop.reserve("0", {"cup": 1})
    shop.now = 200
    with pytest.raises(SoldOut):
        shop.reserve("c", {"cup": 6})
    shop.reserve("c", {"cup": 5})
    assert shop.history("cup")[4:] == [("expired", "a", 2), ("expired", "b", 1), ("expired", "0", 1), ("reserved", "c", 5)]


@pytest.mark.performance
def test_threads_do_not_sell_twice(shop):
    def reserve(name):
        try:
            shop.reserve(name, {"cup": 1})
        except SoldOut:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(reserve, "abcdefghijkl")) == 5
    assert shop.available("cup") == 0


@pytest.mark.performance
def test_processes_do_not_sell_twice(shop, tmp_path):
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from stock import SoldOut, Stock
try:
    Stock({str(tmp_path / "stock.db")!r}, lambda: 0, 100).reserve(sys.argv[1], {{"pot": 1}})
except SoldOut:
    print("sold out")
"""
    started = [
        subprocess.Popen([sys.executable, "-c", program, name], stdout=subprocess.PIPE, text=True) for name in "abc"
    ]
    assert sorted(process.communicate()[0] for process in started) == ["", "sold out\n", "sold out\n"]


@pytest.mark.edge_case
def test_the_file_is_sqlite(shop, tmp_path):
    database = sqlite3.connect(tmp_path / "stock.db")
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
