from natural import natural_sorted


def test_numbers_are_compared_by_value():
    assert natural_sorted(["file10", "file2"]) == ["file2", "file10"]
