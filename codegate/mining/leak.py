"""Auditing what the model will see: is a piece of the answer, or of the hidden tests, already in the base tree?

A base tree is a snapshot of one commit, so history cannot leak; copies inside the tree can (a vendored or built
copy, a patch file, documentation that shows the fix).
"""

from typing import Final

from codegate.mining.cut import Cut
from codegate.mining.statement import added_lines
from codegate.mining.syntax import IDENTIFIER

_MIN_LENGTH: Final = 20
_MAX_FINDINGS: Final = 10
_MIN_BYTES: Final = 64


def audit(cut: Cut) -> tuple[str, ...]:
    """Return what the base tree of ``cut`` gives away, one line of evidence each; empty when nothing was found.

    A line counts when it is at least 20 characters long, has an identifier, is new in its file, and yet stands in
    another file of the base tree; a hidden test file counts when its content after the fix is there already.
    """
    distinctive = {
        line: path
        for path, lines in added_lines(cut).items()
        for line in lines
        if len(line) >= _MIN_LENGTH and IDENTIFIER.search(line) and not line.startswith(("#", "import ", "from "))
    }
    hidden = {file.data: path for path, file in cut.hidden.items() if file is not None and len(file.data) >= _MIN_BYTES}
    findings: list[str] = []
    for path, file in cut.base.items():
        if len(findings) >= _MAX_FINDINGS:
            break
        copied = hidden.get(file.data)
        if copied is not None and cut.base.get(copied) != cut.hidden.get(copied):
            findings.append(f"{path} has the content of the hidden test {copied}")
        shared = {line.strip() for line in file.data.decode("utf-8", "replace").splitlines()} & distinctive.keys()
        # One shared line is a coincidence of idiom; several are a copy.
        if len(shared) >= max(2, (len(distinctive) + 1) // 2):
            findings.append(f"{path} has {len(shared)} of the {len(distinctive)} distinctive lines of the fix")
    return tuple(findings)
