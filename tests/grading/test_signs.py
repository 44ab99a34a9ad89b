"""Signs of an attempt to fool the grader are those that the patch itself adds."""

from codegate.grading.policy import suspicious_signs
from tests.grading.worlds import BUG, FIX, SOURCE, tree
from tests.kit.problem import changes


def test_signs_are_those_that_the_patch_adds() -> None:
    base = tree({SOURCE: BUG, "shop/own.py": "import ctypes\n"})
    honest = changes({SOURCE: FIX, "shop/own.py": "import ctypes\nctypes.CDLL(None)\n"})
    assert suspicious_signs(base, honest, {}) == ()
    cheating = changes({SOURCE: BUG + "import sys\nsys._getframe(1)\n"})
    assert [sign.partition(" touches ")[0] for sign in suspicious_signs(base, cheating, {})] == [SOURCE]
    assert suspicious_signs(base, cheating, cheating) == ()
