from versions import compare


def test_a_later_version():
    assert compare("1.10", "1.9") == 1
