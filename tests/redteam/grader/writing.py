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


def before(text: str, code: str) -> str:
    """Return a module with ``code`` before everything else in it."""
    return f"{dedent(code).strip()}\n\n{text}"


def after(text: str, code: str) -> str:
    """Return a module with ``code`` at its end."""
    return f"{text}\n\n{dedent(code).strip()}\n"


def around(project: Project, text: str, body: str, code: str = "") -> str:
    """Return a module in which the targets do ``body``, which knows ``real``, ``args`` and ``kwargs``.

    Args:
        project: whose targets.
        text: the module.
        body: of a function.
        code: stands before that function.
    """
    replaced = "\n".join(f"{target} = _around({target})" for target in project.targets)
    wrapped = _AROUND.format(body=indent(dedent(body).strip(), " " * 8), replaced=replaced)
    return f"{text}\n\n{dedent(code).strip()}\n{wrapped}"


def folder(project: Project) -> str:
    """Return the folder of the project's module."""
    return project.source.rpartition("/")[0]


def module(project: Project) -> str:
    """Return the dotted name of the project's module."""
    return project.source.removeprefix("src/").removesuffix(".py").replace("/", ".")


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
        if self.body:
            text = around(project, text, self.body, self.end)
        elif self.end:
            text = after(text, self.end)
        if self.top:
            text = before(text, self.top)
        # A change has to change something: where the attack is in another file, a blank line.
        text = text if self.body or self.end or self.top else f"{text}\n"
        places = {
            "folder": folder(project),
            "root": "src/" if project.source.startswith("src/") else "",
            "test": project.test_files[0],
        }
        others = {path.format(**places): data for path, data in (self.files or {}).items()}
        return {project.source: text, **others}
