"""How a change of a project's module is written: text before it, after it, or around each call of its targets."""

from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Final

from tests.redteam.grader.projects import Files, Project

#: Replaces every target by a function whose body is given; ``real`` is the target itself.
_AROUND: Final = """

def _around(real):
    def around(*args, **kwargs):
{body}
    return around


{replaced}
"""


def around(project: Project, body: str) -> str:
    """Return code with which the targets do ``body``, which knows ``real``, ``args`` and ``kwargs``."""
    replaced = "\n".join(f"{target} = _around({target})" for target in project.targets)
    return _AROUND.format(body=indent(dedent(body).strip(), " " * 8), replaced=replaced)


@dataclass(frozen=True)
class Change:
    """A change, of any of the projects that it is for.

    Attributes:
        id: its name, unique in its part of the battery.
        about: what it does, in one line.
        projects: ids of the projects that it is for.
        top: code before the module.
        end: code after it.
        body: what the targets do instead; see ``around``.
        files: other files; ``{folder}`` in a path stands for that of the module, ``{root}`` for the import root,
            ``{test}`` for the first hidden test file.
        expected: of an attack: what may come of it: ``fail``, ``tampering``; ``lower assurance`` is a known limit:
            where it is resolved, the report says so of the pass.
    """

    id: str
    about: str
    projects: tuple[str, ...]
    top: str = ""
    end: str = ""
    body: str = ""
    files: Files | None = None
    expected: frozenset[str] = frozenset({"fail", "tampering"})

    def of(self, project: Project, text: str) -> Files:
        """Return the change of ``project`` whose module is ``text`` otherwise."""
        # A change has to change something: where the attack is in another file, a blank line.
        top = f"{dedent(self.top).strip()}\n\n" if self.top else ""
        end = f"\n\n{dedent(self.end).strip()}\n" if self.body or self.end else "" if self.top else "\n"
        text = f"{top}{text}{end}{around(project, self.body) if self.body else ''}"
        places = {
            "folder": project.source.rpartition("/")[0],
            "root": "src/" if project.source.startswith("src/") else "",
            "test": project.test_files[0],
        }
        others = {path.format(**places): data for path, data in (self.files or {}).items()}
        return {project.source: text, **others}
