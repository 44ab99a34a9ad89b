from ranges import summary


def test_a_range_and_a_number():
    assert summary([1, 2, 3, 7]) == "1-3,7"
