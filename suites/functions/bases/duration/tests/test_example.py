from duration import seconds


def test_hours_and_minutes():
    assert seconds("1h30m") == 5400
