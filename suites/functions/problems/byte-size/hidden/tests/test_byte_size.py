import pytest
from byte_size import shown


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (2047, "1.9 KiB"),
        (1024**2 - 1, "1023.9 KiB"),
        (1024**2, "1.0 MiB"),
        (5 * 1024**3, "5.0 GiB"),
        (1024**4, "1.0 TiB"),
        (5000 * 1024**4, "5000.0 TiB"),
        (-1, "-1 B"),
        (-1536, "-1.5 KiB"),
    ],
)
def test_what_it_returns(size, text):
    assert shown(size) == text
