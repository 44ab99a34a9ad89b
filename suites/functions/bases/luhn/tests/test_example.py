from luhn import check_digit


def test_a_known_number():
    assert check_digit("7992739871") == "3"
