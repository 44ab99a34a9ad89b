"""Assertions of exact wording, counted in the source of the failing tests."""

import pytest

from codegate.mining.statements.testsource import exact_texts
from tests.mining.statement_world import cut_of


class TestExactTexts:
    PYTHON = (
        "def test_match():\n    with pytest.raises(ValueError, match='x'):\n        f()\n"
        "def test_long():\n    assert f() == 'twenty characters long'\n    assert f() == 'short'\n"
        "class TestX(TestCase):\n    def test_unit(self):\n"
        "        self.assertEqual(f(), f'twenty characters {x} longer')\n"
        "        self.assertRaisesRegex(E, 'x', f)\n        self.assertEqual(f(), 1)\n"
        "def test_snapshot(snapshot):\n    assert f() == snapshot\n"
    )
    SCRIPT = (
        "describe('sums', () => {\n  it('is exact', () => {\n    expect(f()).toBe('twenty characters long');\n"
        "    expect(f()).toMatchInlineSnapshot();\n    expect(f).toThrow('no')\n  });\n"
        "  it('is loose', () => { expect(f()).toBe(1); });\n});\n"
    )
    GO = (
        'package sums\n\nfunc TestExact(t *testing.T) {\n\tif f() != "twenty characters long" {\n\t}\n}\n\n'
        "func TestLoose(t *testing.T) {\n\tif f() != 1 {\n\t}\n}\n"
    )

    @pytest.mark.parametrize(
        ("tests", "count"),
        [
            (("t.py::test_match",), 1),
            (("t.py::test_long",), 1),
            (("t.py::TestX::test_unit[1]", "t.py::TestX::test_unit[2]"), 2),
            (("t.py::test_snapshot", "t.py::test_match"), 2),
            (("t.py::test_none",), None),
            (("a.test.js::sums > is exact",), 3),
            (("a.test.js::sums > is loose",), 0),
            (("sums::TestExact/a", "sums::TestExact/b"), 1),
            (("sums::TestLoose",), 0),
        ],
    )
    def test_assertions_of_exact_wording_are_counted(self, tests: tuple[str, ...], count: int | None) -> None:
        hidden = {"t.py": self.PYTHON, "a.test.js": self.SCRIPT, "sums/sums_test.go": self.GO}
        assert exact_texts(cut_of({}, {}, hidden), tests) == count
