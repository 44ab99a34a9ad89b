import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
from jobs import LeaseLost, Queue


class Jobs(Queue):
    def __init__(self, path):
        self.now, self.path = 0, path
        super().__init__(path, lambda: self.now, lease=60, attempts=3)

    def ids(self, *names):
        """Take all that can be taken."""
        found = []
        while (job := self.take(list(names) or ["mail"])) is not None:
            found.append(job["id"])
        return found


@pytest.fixture
def jobs(tmp_path):
    return Jobs(str(tmp_path / "jobs.db"))


def failed(jobs, error="no"):
    job = jobs.take(["mail"])
    jobs.fail(job["id"], job["token"], error)
    return job["attempt"]


def test_a_job_is_taken_once(jobs):
    assert jobs.add("mail", {"to": ["ann", None]}) == 1
    job = jobs.take(["mail"])
    assert (job["id"], job["name"], job["data"], job["attempt"]) == (1, "mail", {"to": ["ann", None]}, 1)
    assert jobs.take(["mail"]) is None


def test_a_job_is_done(jobs):
    jobs.add("mail", 1)
    job = jobs.take(["mail"])
    jobs.done(1, job["token"])
    assert jobs.counts() == {"waiting": 0, "leased": 0, "done": 1, "dead": 0}


def test_names(jobs):
    for name in ("mail", "print", "mail", "scan"):
        jobs.add(name, None)
    assert jobs.ids("print", "scan") == [2, 4]
    assert jobs.take([]) is None
    assert jobs.ids("mail") == [1, 3]


def test_the_order(jobs):
    for after, priority in ((0, 0), (0, 5), (0, 0), (0, 9)):
        jobs.add("mail", None, after=after, priority=priority)
    assert jobs.ids() == [4, 2, 1, 3]


def test_priority_comes_before_the_name(jobs):
    jobs.add("mail", None, priority=1)
    jobs.add("print", None, priority=2)
    assert jobs.ids("mail", "print") == [2, 1]


def test_a_failed_job_is_repeated(jobs):
    jobs.add("mail", None)
    for attempt, pause in ((1, 2), (2, 4)):
        assert failed(jobs) == attempt
        jobs.now += pause - 1
        assert jobs.take(["mail"]) is None
        jobs.now += 1
    assert failed(jobs, "full") == 3
    assert jobs.dead() == [(1, "mail", "full")]


def test_a_dead_job_is_revived(jobs):
    jobs.add("mail", None)
    for _ in range(3):
        failed(jobs)
        jobs.now += 100
    jobs.revive(1)
    assert jobs.counts()["dead"] == 0
    assert failed(jobs) == 1


def test_jobs_outlive_the_queue(jobs):
    jobs.add("mail", "x")
    jobs.take(["mail"])
    again = Jobs(jobs.path)
    assert again.counts()["leased"] == 1
    again.now = 60
    assert again.take(["mail"])["data"] == "x"


@pytest.mark.edge_case
def test_keys(jobs):
    assert jobs.add("mail", 1, key="k") == 1
    assert jobs.add("mail", 2, key="k") == 1
    job = jobs.take(["mail"])
    assert jobs.add("mail", 3, key="k") == 1
    jobs.done(1, job["token"])
    assert jobs.add("mail", 4, key="k") == 2
    assert (jobs.take(["mail"])["data"], jobs.take(["mail"])) == (4, None)


@pytest.mark.edge_case
def test_jobs_without_a_key_are_all_added(jobs):
    assert [jobs.add("mail", None), jobs.add("mail", None)] == [1, 2]


@pytest.mark.edge_case
def test_tokens(jobs):
    jobs.add("mail", None)
    job = jobs.take(["mail"])
    for change in (jobs.done, jobs.extend, lambda *of: jobs.fail(*of, "no")):
        with pytest.raises(LeaseLost):
            change(1, "x")
        with pytest.raises(KeyError):
            change(7, job["token"])
    jobs.done(1, job["token"])
    with pytest.raises(LeaseLost):
        jobs.done(1, job["token"])


@pytest.mark.edge_case
def test_only_dead_jobs_are_revived(jobs):
    jobs.add("mail", None)
    for number in (1, 2):
        with pytest.raises(ValueError):
            jobs.revive(number)


@pytest.mark.edge_case
def test_counts_of_nothing(jobs):
    assert jobs.counts() == {"waiting": 0, "leased": 0, "done": 0, "dead": 0}
    assert jobs.dead() == []


@pytest.mark.temporal
def test_a_later_job(jobs):
    jobs.add("mail", None, after=10)
    jobs.add("mail", None, after=5)
    jobs.now = 9
    assert jobs.ids() == [2]
    assert jobs.counts() == {"waiting": 1, "leased": 1, "done": 0, "dead": 0}
    jobs.now = 10
    assert jobs.ids() == [1]


@pytest.mark.temporal
def test_what_could_be_taken_first_is_first(jobs):
    jobs.add("mail", None, after=10)
    jobs.add("mail", None, after=5)
    jobs.now = 20
    assert jobs.ids() == [2, 1]


@pytest.mark.temporal
def test_a_lease_ends(jobs):
    jobs.add("mail", None)
    job = jobs.take(["mail"])
    jobs.now = 59
    assert jobs.take(["mail"]) is None
    jobs.now = 60
    with pytest.raises(LeaseLost):
        jobs.done(1, job["token"])
    again = jobs.take(["mail"])
    assert (again["attempt"], again["token"] != job["token"]) == (2, True)
    with pytest.raises(LeaseLost):
        jobs.fail(1, job["token"], "late")
    jobs.done(1, again["token"])


@pytest.mark.temporal
def test_a_lease_that_ended_has_its_place_in_the_order(jobs):
    jobs.add("mail", None)
    jobs.add("mail", None, after=59)
    jobs.add("mail", None, after=61)
    jobs.take(["mail"])
    jobs.now = 200
    assert jobs.ids() == [2, 1, 3]


@pytest.mark.temporal
def test_a_lease_is_extended(jobs):
    jobs.add("mail", None)
    job = jobs.take(["mail"])
    jobs.now = 50
    jobs.extend(1, job["token"])
    jobs.now = 109
    assert jobs.take(["mail"]) is None
    jobs.now = 110
    assert jobs.take(["mail"])["attempt"] == 2


@pytest.mark.temporal
def test_the_last_lease_ends(jobs):
    jobs.add("mail", None)
    for _ in range(3):
        jobs.take(["mail"])
        jobs.now += 60
    assert jobs.take(["mail"]) is None
    assert jobs.dead() == [(1, "mail", "lease ended")]


@pytest.mark.performance
def test_no_job_is_given_twice(jobs):
    for _ in range(40):
        jobs.add("mail", None)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: jobs.take(["mail"])["id"], range(40)))
    assert sorted(found) == list(range(1, 41))


@pytest.mark.performance
def test_a_take_reads_few_rows(jobs, monkeypatch):
    steps, connect = 0, sqlite3.connect

    def count():
        nonlocal steps
        steps += 1

    def counted(*arguments, **more):
        database = connect(*arguments, **more)
        database.set_progress_handler(count, 100)
        return database

    for _ in range(1_500):
        jobs.add("mail", None)
    monkeypatch.setattr(sqlite3, "connect", counted)
    assert jobs.take(["mail"])["id"] == 1
    assert steps <= 20
