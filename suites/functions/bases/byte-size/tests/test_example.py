from byte_size import shown


def test_kibibytes():
    assert shown(1536) == "1.5 KiB"
