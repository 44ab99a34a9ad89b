import sqlite3
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def board(games, most=10, season="s1", players=("ann", "bob", "cy", "dee")):
    database = sqlite3.connect(":memory:")
    database.executescript((ROOT / "schema.sql").read_text())
    database.executemany("INSERT INTO players (name) VALUES (?)", [(name,) for name in players])
    for player, when, points, annulled in games:
        database.execute(
            "INSERT INTO games (player, season, points, annulled) SELECT id, ?, ?, ? FROM players WHERE name = ?",
            (when, points, annulled, player),
        )
    query = (ROOT / "leaderboard.sql").read_text()
    rows = database.execute(query, {"season": season, "most": most})
    assert [column[0] for column in rows.description] == ["place", "player", "points", "games"]
    return rows.fetchall()


def test_points_are_summed():
    rows = board([("ann", "s1", 3, 0), ("bob", "s1", 5, 0), ("ann", "s1", 4, 0)])
    assert rows == [(1, "ann", 7, 2), (2, "bob", 5, 1)]


def test_one_season_counts():
    rows = board([("ann", "s1", 3, 0), ("ann", "s2", 50, 0), ("bob", "s2", 1, 0)])
    assert rows == [(1, "ann", 3, 1)]


def test_fewer_games_come_first():
    rows = board([("ann", "s1", 2, 0), ("ann", "s1", 2, 0), ("bob", "s1", 4, 0)])
    assert rows == [(1, "bob", 4, 1), (2, "ann", 4, 2)]


def test_the_best_are_listed():
    rows = board([("ann", "s1", 1, 0), ("bob", "s1", 2, 0), ("cy", "s1", 3, 0)], most=2)
    assert rows == [(1, "cy", 3, 1), (2, "bob", 2, 1)]


@pytest.mark.edge_case
def test_annulled_games_count_for_nothing():
    rows = board([("ann", "s1", 9, 1), ("ann", "s1", 1, 0), ("bob", "s1", 2, 1)])
    assert rows == [(1, "ann", 1, 1)]


@pytest.mark.edge_case
def test_a_shared_place_leaves_the_next_free():
    rows = board([("dee", "s1", 9, 0), ("cy", "s1", 5, 0), ("bob", "s1", 5, 0), ("ann", "s1", 1, 0)])
    assert rows == [(1, "dee", 9, 1), (2, "bob", 5, 1), (2, "cy", 5, 1), (4, "ann", 1, 1)]


@pytest.mark.edge_case
def test_all_of_the_last_place_are_listed():
    rows = board([("ann", "s1", 9, 0), ("cy", "s1", 5, 0), ("bob", "s1", 5, 0)], most=2)
    assert rows == [(1, "ann", 9, 1), (2, "bob", 5, 1), (2, "cy", 5, 1)]


@pytest.mark.edge_case
def test_points_can_be_negative_or_nothing():
    rows = board([("ann", "s1", -2, 0), ("bob", "s1", 0, 0)])
    assert rows == [(1, "bob", 0, 1), (2, "ann", -2, 1)]
