"""A report format: the names of the problems that no candidate solved, a line each."""

from codegate.reporting import ReportView


def render_names(view: ReportView) -> str:
    """Return the problems without a passing attempt. Names in a view hold no control characters."""
    unsolved = [row.id for row in view.problems if not any(cell.passed for cell in row.cells)]
    return "".join(f"{name}\n" for name in unsolved)


FORMAT = ("unsolved.txt", render_names)
"""The file's name, and what renders it."""
