"""A project's own set-up and test command, written or proposed."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from sysconfig import get_python_version
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import AfterValidator, BaseModel, Field, StringConstraints, field_validator, model_validator

from codegate.durable import digest, sha256
from codegate.environments.steps import shorten
from codegate.strict import Strict, printable
from codegate.suite import (
    RECIPE,
    Base,
    Environment,
    EnvironmentManifest,
    PlainPath,
    check_model,
    parse_yaml,
)

_VERSION: Final = r"^[0-9A-Za-z][0-9A-Za-z.+_-]{0,60}$"
_PLAIN_TEXT: Final = re.compile(r"[A-Za-z./][\w ./=+@,-]*")
_PYTHON: Final = re.compile(r"(.*/)?python[\d.]*")

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
"""Name of an environment variable."""
Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]{0,99}$")]
"""Name of a system package, as Debian has it."""
Host = Annotated[str, StringConstraints(pattern=r"^(\*\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
Line = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Origin = Literal["job", "light", "files"]


def command_words(text: str) -> tuple[str, ...]:
    """Return the words of a recipe's command.

    Raises:
        ValueError: a quote is not closed.
    """
    return tuple(split_module_flag(shlex.split(text)))


def split_module_flag(words: list[str]) -> list[str]:
    """Return a command's words, ``python -mpytest`` as ``python -m pytest``."""
    for place, (program, word) in enumerate(pairwise(words), 1):
        if _PYTHON.fullmatch(program) and (module := re.fullmatch(r"-m([\w.]+)", word)):
            return [*words[:place], "-m", module[1], *words[place + 1 :]]
    return words


def _words(text: str) -> str:
    """Return ``text``, a valid shell command, unchanged.

    Raises:
        ValueError: a quote is not closed.
    """
    shlex.split(text)
    return text


class ServiceRecipe(Strict):
    """A server for the tests, given by its commands."""

    run: Line = Field(description="The command that serves, in the foreground.")
    ready: Line = Field(description="A command that succeeds once it serves.")


class Recipe(Strict):
    """``environment:`` of codegate.yml: set-up and tests of a project."""

    image: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,300}$")] | None = Field(
        default=None, description="Image for Docker; null: one that has the tools. Bubblewrap takes the machine's own."
    )
    tools: dict[Name, Annotated[str, StringConstraints(pattern=_VERSION)]] = Field(
        default={},
        description="Toolchains and their versions, such as `python: '3.13'`, `node: '22'` or `go: '1.26'`.",
    )
    setup: tuple[Line, ...] = Field(
        default=(), description="Commands that set the project up, once, with the package indexes in reach."
    )
    env: dict[Name, str] = Field(default={}, description="Variables of set-up and tests.")
    packages: tuple[Package, ...] = Field(default=(), description="Packages of the system that it needs.")
    services: tuple[str | ServiceRecipe, ...] = Field(
        default=(), description="Servers beside the tests: `postgres`, `mysql`, `redis`, or `{run: …, ready: …}`."
    )
    before: tuple[Line, ...] = Field(default=(), description="Commands before each test run, without a network.")
    tests: Annotated[Line, AfterValidator(_words)] | None = Field(
        default=None,
        description="What runs the tests: a command with the project's own flags; `{files}` stands for the test files. "
        "Null: what the tree says.",
    )
    report: tuple[PlainPath, ...] = Field(
        default=(), description="JUnit XML files, or folders of them, that `tests` writes; none: its runner is known."
    )
    folder: str = Field(default="", description="Folder that all commands run in; empty: the repository's root.")
    hosts: tuple[Host, ...] = Field(default=(), description="Hosts that set-up reaches beside the package indexes.")
    secrets: tuple[Name, ...] = Field(
        default=(), description="Variables of the caller that set-up alone is given, such as an index's token."
    )
    seconds: float = Field(default=600, gt=0, le=3600, description="Processor time that a test run may take.")

    @field_validator("setup", "packages", "services", "before", "report", "hosts", "secrets", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _consistent(self) -> "Recipe":
        if self.report and self.tests is None:
            raise ValueError("`report` is what the command `tests` writes: give both")
        if both := set(self.env) & set(self.secrets):
            raise ValueError(f"{', '.join(sorted(both))} cannot be both in `env` and in `secrets`")
        return self

    @property
    def python(self) -> str:
        """Return the minor version of the recipe's Python.

        If the recipe names none, or another implementation than CPython, return the version that codegate itself runs
        on.
        """
        asked = self.tools.get("python", "")
        return ".".join(asked.split(".")[:2]) if asked.startswith("3.") else get_python_version()

    @property
    def identity(self) -> str:
        """Return the SHA-256 of all fields that affect results."""
        return digest(self.model_dump(mode="json", exclude={"seconds"}))


class _Written(BaseModel):
    environment: Recipe


def parse_recipe(value: Any, place: str) -> Recipe:
    """Return the recipe in ``value``, which comes from ``place``.

    Raises:
        UsageError: keys are unknown or their values wrong; the message names them.
    """
    return check_model({"environment": value}, _Written, place).environment


def environment_of(
    name: str, recipe: Recipe, resolved: str, *, day: date, base: Base | None = None, inputs: str | None = None
) -> Environment:
    """Return the suite environment ``name`` that ``recipe`` describes.

    ``resolved``: the versions that the first build installed and later builds repeat; empty before the first build.
    Builds see package indexes as they were at the end of ``day``. ``base``: the tree that it is built from; None: an
    empty tree. ``inputs``: SHA-256 of the build's inputs.
    """
    text = yaml.safe_dump(recipe.model_dump(mode="json", exclude_defaults=True), sort_keys=False, width=120)
    manifest = EnvironmentManifest(
        id=name,
        recipe=sha256(text.encode("utf-8")),
        resolved=sha256(resolved.encode("utf-8")),
        day=day,
        base=base,
        inputs=inputs,
    )
    return Environment(manifest, text, resolved)


def recipe_of(environment: Environment) -> Recipe:
    """Return the recipe of a suite's environment.

    Raises:
        UsageError: the recipe has unknown keys or wrong values.
    """
    place = f"environment {environment.id}: {RECIPE}"
    return parse_recipe(parse_yaml(environment.recipe, place), place)


@dataclass(frozen=True)
class FoundRecipe:
    """A proposed recipe; only a try shows whether it works.

    Attributes:
        recipe: the recipe.
        sources: the file of each part, by the part's key: ``tools.python``, ``setup.0``, ``env.DB``, ``tests``.
        left_out: parts left out or rewritten, each with its reason.
        place: the job or file that the recipe comes from.
        origin: ``job``: set-up and tests of a CI job; ``light``: a job's tests with set-up from lock and manifest
            files, accepted only if nine of ten tests pass; ``files``: set-up and tests from lock and manifest files.
    """

    recipe: Recipe
    sources: Mapping[str, str]
    left_out: tuple[str, ...]
    place: str = ""
    origin: Origin = "job"

    def reduced(self, recipe: Recipe, why: str) -> "FoundRecipe":
        """Return a copy with ``recipe``, which lacks some steps.

        The steps are listed as left out, with the reason ``why``.
        """
        lacking = [line for line in self.recipe.setup if line not in recipe.setup]
        clauses = [f"`{shorten(line)}`: {why}" for line in lacking]
        places = {line: self.sources.get(f"setup.{index}", "") for index, line in enumerate(self.recipe.setup)}
        sources = {key: place for key, place in self.sources.items() if not key.startswith("setup.")}
        sources |= {f"setup.{index}": places.get(line, "") for index, line in enumerate(recipe.setup)}
        return replace(self, recipe=recipe, sources=sources, left_out=(*self.left_out, *clauses))


def recipe_yaml(found: FoundRecipe) -> str:
    """Return a recipe as YAML, each part's source as comment."""
    given = found.recipe.model_dump(mode="json", exclude_defaults=True)
    lines = ["environment:"]
    for key, value in given.items():
        if isinstance(value, dict):
            entries = [(f"    {name}: ", item, found.sources.get(f"{key}.{name}", "")) for name, item in value.items()]
            lines += _entries(key, entries)
        elif key == "setup":
            entries = [("    - ", item, found.sources.get(f"setup.{index}", "")) for index, item in enumerate(value)]
            lines += _entries(key, entries)
        elif isinstance(value, list):
            lines.append(_comment(f"  {key}: [{', '.join(map(_scalar, value))}]", found.sources.get(key, "")))
        else:
            lines.append(_entry(f"  {key}: ", value, found.sources.get(key, "")))
    lines += ["  {}"] if not given else []
    lines += [f"  # left out: {printable(' '.join(clause.split()), 300)}" for clause in found.left_out]
    return "\n".join(lines) + "\n"


def _entries(key: str, entries: Sequence[tuple[str, object, str]]) -> list[str]:
    places = {place for _, _, place in entries}
    first = _comment(f"  {key}:", places.pop()) if len(places) == 1 else f"  {key}:"
    return [first, *(_entry(start, item, "" if "#" in first else place) for start, item, place in entries)]


def _entry(start: str, value: object, source: str) -> str:
    lines = str(value).split("\n")
    if (
        len(lines) > 1
        and not lines[0][:1].isspace()
        and all(one and one.isprintable() for one in map(str.rstrip, lines))
    ):
        indent = " " * (len(start) - len(start.lstrip()) + 2)
        return "\n".join([_comment(f"{start}|-", source), *(f"{indent}{line}" for line in lines)])
    return _comment(start + _scalar(value), source)


def _scalar(value: object) -> str:
    text = str(value)
    is_plain = isinstance(value, str) and _PLAIN_TEXT.fullmatch(text) and yaml.safe_load(text) == text
    return text if is_plain else json.dumps(value)


def _comment(line: str, source: str) -> str:
    return f"{line}  # {printable(' '.join(source.split()), 300)}" if source else line
