import re
import sqlite3

import pytest
from pages import BadCursor, page, prepare

SECRET = b"secret"


class Feed:
    def __init__(self, *posts):
        self.database = sqlite3.connect(":memory:")
        self.database.execute(
            "CREATE TABLE posts (id INTEGER PRIMARY KEY, author TEXT, created INTEGER, title TEXT, hidden INTEGER)"
        )
        prepare(self.database)
        prepare(self.database)
        for number, created in enumerate(posts, 1):
            self.add(number, created)

    def add(self, number, created, author="ann", hidden=0):
        self.database.execute("INSERT INTO posts VALUES (?, ?, ?, ?, ?)", (number, author, created, f"p{number}", hidden))

    def remove(self, number):
        self.database.execute("DELETE FROM posts WHERE id = ?", (number,))

    def page(self, size, cursor=None, **more):
        self.found = page(self.database, SECRET, size, cursor, **more)
        return [post["id"] for post in self.found["posts"]]

    def next(self, size, **more):
        return self.page(size, self.found["next"], **more)

    def previous(self, size, **more):
        return self.page(size, self.found["previous"], **more)

    def sides(self):
        return self.found["previous"] is not None, self.found["next"] is not None


@pytest.fixture
def feed():
    return Feed(10, 20, 30, 40, 50)


def test_the_first_page(feed):
    assert feed.page(2) == [5, 4]
    assert feed.found["posts"][0] == {"id": 5, "author": "ann", "created": 50, "title": "p5"}
    assert feed.sides() == (False, True)


def test_the_pages_behind(feed):
    assert [feed.page(2), feed.next(2), feed.next(2)] == [[5, 4], [3, 2], [1]]
    assert feed.sides() == (True, False)


def test_the_pages_before(feed):
    feed.page(3)
    assert feed.next(3) == [2, 1]
    assert feed.previous(2) == [4, 3]
    assert feed.sides() == (True, True)
    assert feed.previous(2) == [5]
    assert feed.sides() == (False, True)


def test_the_feed_of_an_author(feed):
    feed.add(6, 25, author="bob")
    feed.add(7, 35, author="bob")
    assert feed.page(1, author="bob") == [7]
    assert feed.next(1, author="bob") == [6]
    assert feed.sides() == (True, False)


def test_hidden_posts(feed):
    feed.add(6, 60, hidden=1)
    feed.add(7, 5, hidden=1)
    assert feed.page(4) == [5, 4, 3, 2]
    assert feed.next(4) == [1]
    assert feed.sides() == (True, False)


@pytest.mark.edge_case
def test_equal_times_go_by_id():
    feed = Feed(7, 7, 7, 7, 7)
    assert [feed.page(2), feed.next(2), feed.next(2)] == [[5, 4], [3, 2], [1]]
    assert feed.previous(1) == [2]
    assert feed.previous(9) == [5, 4, 3]


@pytest.mark.edge_case
def test_a_page_that_is_just_full(feed):
    assert feed.page(5) == [5, 4, 3, 2, 1]
    assert feed.sides() == (False, False)


@pytest.mark.edge_case
def test_no_posts():
    feed = Feed()
    assert feed.page(5) == []
    assert feed.sides() == (False, False)


@pytest.mark.edge_case
@pytest.mark.parametrize("size", [0, -1, 101])
def test_sizes_are_checked(feed, size):
    with pytest.raises(ValueError):
        feed.page(size)
    assert feed.page(100) == [5, 4, 3, 2, 1]


@pytest.mark.temporal
def test_a_new_post_shifts_nothing(feed):
    feed.page(2)
    feed.add(6, 60)
    assert feed.next(2) == [3, 2]
    assert feed.previous(9) == [6, 5, 4]


@pytest.mark.temporal
def test_a_post_that_went_shifts_nothing(feed):
    feed.page(2)
    feed.remove(5)
    feed.remove(4)
    assert feed.next(2) == [3, 2]
    assert feed.sides() == (False, True)


@pytest.mark.temporal
def test_a_page_that_has_become_empty(feed):
    feed.page(4)
    feed.remove(1)
    assert feed.next(4) == []
    assert feed.sides() == (False, False)


@pytest.mark.temporal
def test_an_old_post_that_comes_late(feed):
    feed.page(2)
    feed.next(2)
    feed.add(9, 35)
    assert feed.previous(9) == [5, 4, 9]


@pytest.mark.edge_case
def test_cursors_are_texts_for_addresses(feed):
    feed.page(1, author="ann")
    feed.next(1, author="ann")
    for name in ("next", "previous"):
        assert re.fullmatch("[A-Za-z0-9_.=-]+", feed.found[name])


@pytest.mark.edge_case
def test_cursors_are_signed(feed):
    feed.page(1)
    cursor = feed.found["next"]
    for place in range(len(cursor)):
        other = "A" if cursor[place] != "A" else "B"
        with pytest.raises(BadCursor):
            feed.page(1, cursor[:place] + other + cursor[place + 1 :])
    with pytest.raises(BadCursor):
        page(feed.database, b"other", 1, cursor)


@pytest.mark.edge_case
@pytest.mark.parametrize("cursor", ["", "x", ".", "é", "' OR 1=1 --", "W10="])
def test_what_is_no_cursor(feed, cursor):
    with pytest.raises(BadCursor):
        feed.page(1, cursor)


@pytest.mark.edge_case
def test_a_cursor_is_of_one_feed(feed):
    feed.page(1)
    with pytest.raises(BadCursor):
        feed.next(1, author="ann")
    feed.page(1, author="ann")
    with pytest.raises(BadCursor):
        feed.next(1)


@pytest.mark.edge_case
def test_an_author_is_no_sql(feed):
    assert feed.page(5, author="x' OR '1'='1") == []


def traced(feed, action):
    statements = []
    feed.database.set_trace_callback(statements.append)
    action()
    feed.database.set_trace_callback(None)
    return statements


@pytest.mark.performance
@pytest.mark.parametrize("author", [None, "ann"])
def test_a_page_reads_few_rows(author):
    feed = Feed(*range(5_000))
    feed.page(10, author=author)
    for step in range(3):
        feed.next(10, author=author)
    steps = 0

    def count():
        nonlocal steps
        steps += 1

    feed.database.set_progress_handler(count, 100)
    statements = traced(feed, lambda: feed.next(10, author=author))
    assert len(statements) <= 3
    assert "OFFSET" not in " ".join(statements).upper()
    assert steps <= 20
