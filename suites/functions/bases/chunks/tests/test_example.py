from chunks import chunks


def test_the_last_list_may_be_shorter():
    assert list(chunks([1, 2, 3], 2)) == [[1, 2], [3]]
