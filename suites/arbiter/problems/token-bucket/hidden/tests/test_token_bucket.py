import pytest
from steps import steps
from token_bucket import TokenBucket


def test_a_burst_empties_the_bucket():
    bucket = TokenBucket(3, 100)
    assert [bucket.take(0) for _ in range(4)] == [True, True, True, False]


def test_tokens_come_back():
    bucket = TokenBucket(2, 100)
    assert bucket.take(0, 2) is True
    assert bucket.take(100) is True
    assert bucket.take(110) is False


def test_too_few_tokens_are_left_alone():
    bucket = TokenBucket(5, 100)
    assert bucket.take(0, 3) is True
    assert bucket.take(0, 3) is False
    assert bucket.take(0, 2) is True


def test_the_wait_for_several_tokens():
    bucket = TokenBucket(3, 100)
    assert bucket.wait(0, 3) == 0
    assert bucket.take(0, 3) is True
    assert bucket.wait(0, 2) == 200


@pytest.mark.edge_case
def test_a_bucket_never_overflows():
    bucket = TokenBucket(2, 100)
    assert bucket.take(0) is True
    assert bucket.take(5_000, 2) is True
    assert bucket.take(5_000) is False


@pytest.mark.edge_case
def test_more_than_the_capacity_can_never_be_taken():
    bucket = TokenBucket(2, 100)
    assert bucket.take(0, 3) is False
    with pytest.raises(ValueError):
        bucket.wait(0, 3)


@pytest.mark.edge_case
@pytest.mark.parametrize("tokens", [0, -1])
def test_at_least_one_token_is_asked_for(tokens):
    bucket = TokenBucket(2, 100)
    with pytest.raises(ValueError):
        bucket.take(0, tokens)
    with pytest.raises(ValueError):
        bucket.wait(0, tokens)


@pytest.mark.edge_case
@pytest.mark.parametrize(("capacity", "interval"), [(0, 100), (1, 0), (-1, 1)])
def test_limits_are_checked(capacity, interval):
    with pytest.raises(ValueError):
        TokenBucket(capacity, interval)


@pytest.mark.temporal
def test_time_towards_the_next_token_is_kept():
    bucket = TokenBucket(3, 100)
    assert bucket.take(0, 3) is True
    assert bucket.take(150) is True
    assert bucket.take(199) is False
    assert bucket.take(200) is True


@pytest.mark.temporal
def test_a_full_bucket_saves_up_no_time():
    bucket = TokenBucket(1, 100)
    assert bucket.take(250) is True
    assert bucket.take(300) is False
    assert bucket.wait(300) == 50


@pytest.mark.temporal
def test_time_does_not_go_back():
    bucket = TokenBucket(1, 100)
    assert bucket.take(500) is True
    assert bucket.take(100) is False
    assert bucket.wait(450) == 100
    assert bucket.take(600) is True


@pytest.mark.performance
def test_a_long_rest_is_no_work():
    bucket = TokenBucket(1_000_000_000, 1)
    with steps(at_most=2_000):
        for second in range(50):
            taken = bucket.take(second * 1_000_000, 1_000)
    assert taken is True
