from stock import Stock


def test_what_is_added_is_free():
    stock = Stock()
    stock.add("tea", 3)
    stock.add("tea", 2)
    assert stock.free("tea") == 5
    assert stock.free("milk") == 0


def test_what_is_reserved_is_not_free():
    stock = Stock()
    stock.add("tea", 5)
    assert stock.reserve("tea", 3) is True
    assert stock.reserve("tea", 2) is True
    assert stock.free("tea") == 0


def test_no_more_is_reserved_than_is_free():
    stock = Stock()
    stock.add("tea", 5)
    assert stock.reserve("tea", 6) is False
    assert stock.reserve("milk", 1) is False
    assert stock.free("tea") == 5


def test_what_was_done_is_logged():
    stock = Stock()
    stock.add("tea", 5)
    stock.reserve("tea", 4)
    stock.reserve("tea", 2)
    assert stock.log() == [("add", "tea", 5), ("reserve", "tea", 4), ("refuse", "tea", 2)]


def test_a_log_is_a_copy():
    stock = Stock()
    stock.log().append("x")
    assert stock.log() == []


def test_shops_have_nothing_in_common():
    one, other = Stock(), Stock()
    one.add("tea", 5)
    assert other.free("tea") == 0
    assert other.log() == []
