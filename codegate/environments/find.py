"""Propose recipes from a project's own files.

The sources are CI files, lock files, manifests, and files of development containers.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from sysconfig import get_python_version
from typing import Any, Final

from codegate.environments.commands import Commands, TestCommand, prefetch
from codegate.environments.expressions import text_value
from codegate.environments.locks import PYTEST, implied_commands, languages_of, tests_of
from codegate.environments.recipe import FoundRecipe, Origin, parse_recipe
from codegate.environments.steps import GITHUB_PLACES, rewrite_step, shorten
from codegate.environments.tools import PACKAGE, Has, declared_version, in_index, nearest_version, read_action
from codegate.environments.workflows import CiJob, CiStep, read_jobs
from codegate.suite import Tree
from codegate.suite.declared import mapping, read_json_with_comments, read_tree_json, strings, value_at

_DEVCONTAINERS: Final = (".devcontainer/devcontainer.json", ".devcontainer.json")
_APART: Final = re.compile(r"(?i)e2e|playwright|cypress|selenium|browser|integration")
_PRESETS: Final = {"postgres": r"postg|pgvector|timescale", "mysql": r"mysql|mariadb", "redis": r"redis|valkey"}
_TOOL_OF: Final = {
    "python": r"py\.?test|unittest|\.py\b", "node": r"vitest|jest|mocha|\bnode\b", "go": r"\bgo test",
    "rust": r"\bcargo\b", "java": r"mvnw?\b|gradlew?\b", "bun": r"\bbun test",
}  # fmt: skip
_MANAGERS: Final = ("pnpm", "yarn", "bun")
_IMAGE: Final = re.compile(r"[!-~]{1,300}")
_LONGEST: Final = 20_000  # characters of a step
_NAME: Final = re.compile(r"[A-Za-z_]\w{0,99}")
_MOST_JOBS: Final = 3


@dataclass
class _Draft:
    """A recipe under construction, from a job's steps or files.

    The other attributes are as in ``Recipe`` and ``FoundRecipe``.

    Attributes:
        steps: the steps of set-up: text, folder, variables and place.
        doubts: number of parts of the job that are not understood.
    """

    place: str
    job: CiJob | None = None
    tools: dict[str, str] = field(default_factory=dict)
    steps: list[tuple[str, str, Mapping[str, str], str]] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    packages: list[str] = field(default_factory=list)
    services: list[str] = field(default_factory=list)
    image: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    doubts: int = 0
    test: TestCommand | None = None
    origin: Origin = "job"

    def add(self, key: str, values: Mapping[str, str], place: str) -> None:
        getattr(self, key).update(values)
        self.sources.update({f"{key}.{name}": place for name in values})

    def add_tools(self, versions: Mapping[str, str], place: str, has: Has | None) -> None:
        """Add toolchains, each in the nearest version available.

        ``versions`` has, by toolchain, the version that ``place`` (a job or file) requires.
        """
        for name, version in versions.items():
            nearest = version if self.has_tools(has) else nearest_version(name, version, has or in_index)
            self.add("tools", {name: nearest}, place)
            if nearest != version:
                self.doubt([f"{name} {version} is not to be had here: {nearest} is taken"])

    def has_tools(self, has: Has | None) -> bool:
        """Return whether the job's own container image has the toolchains."""
        return has is None and bool(self.image)  # ``has`` is None where sandboxes are made from images

    def doubt(self, clauses: Sequence[str]) -> None:
        """List ``clauses`` as left-out parts, and count them as doubts."""
        self.left_out += clauses
        self.doubts += len(clauses)

    def run(self, text: str, folder: str, env: Mapping[str, str], place: str) -> None:
        """Add the shell ``text`` of a CI step to set-up.

        It runs in ``folder`` with the variables ``env``; ``place`` is where it is written.
        """
        step = rewrite_step(text)
        self.doubts += len(step.unknown)
        self.packages += step.packages
        if step.packages:
            self.sources["packages"] = place
        self.left_out += step.left_out
        self.add("env", step.env, place)
        if step.text:
            self.steps.append((step.text, folder, env, place))


def find_recipes(tree: Tree, path: str = "", *, has: Has | None = None) -> list[FoundRecipe]:
    """Return the recipes that the files propose, best first.

    At least one is returned. Up to ``_MOST_JOBS`` CI jobs that test the folder ``path`` propose one each, with the best
    combination of their matrix. Lock and manifest files propose one more. The best job and the files
    can each propose a variant of set-up too. Nothing is executed, so a recipe can fail. ``has`` checks whether a
    version of a toolchain is available; other versions are replaced by the nearest available one. ``has`` None:
    toolchains come from images or package indexes.

    Raises:
        UsageError: a part of a proposal is not valid in a recipe.
    """
    jobs, broken = read_jobs(tree)
    drafts = [_draft_of_job(tree, job, has) for job in jobs]
    languages, tests = languages_of(tree, path), tests_of(tree, "")
    fitting = sorted((one for one in drafts if _is_of(one, path)), key=lambda one: _rank(one, languages, tests))
    of_jobs: dict[str, _Draft] = {}
    for draft in fitting:
        of_jobs.setdefault(draft.place, draft)
    proposed: dict[str, FoundRecipe] = {}
    known = [draft for draft in of_jobs.values() if draft.test is not None and draft.test.known]
    jobs_first = known[:_MOST_JOBS] or [*of_jobs.values()][:1]
    of_files = _from_files(tree, path, has)
    lighter = _lighter(jobs_first[0], tree) if jobs_first else ()
    proposals = [*lighter, *jobs_first, of_files, *_with_build(of_files, tree, path)]
    for draft in proposals:
        _complete(draft, tree, path, has)
    for draft in sorted(proposals, key=lambda one: one.test is not None and not one.test.known):
        found = _found(draft, path, [*broken, *draft.left_out], has)
        proposed.setdefault(found.recipe.identity, found)
    whole = [found for found in proposed.values() if found.recipe.tests is not None]
    return whole or list(proposed.values())


def _lighter(draft: _Draft, tree: Tree) -> Iterator[_Draft]:
    """Yield ``draft`` with set-up from lock and manifest files.

    Nothing is yielded if these files imply no tests.
    """
    if draft.test is None or not draft.test.known or not draft.steps:
        return
    steps, tests = implied_commands(tree, draft.test.folder, light=True)
    if tests:
        lighter = replace(deepcopy(draft), steps=[], origin="light")
        steps_of_job = [text for text, *_ in draft.steps if text not in prefetch(draft.test, tree)]
        lighter.left_out += [f"`{shorten(text)}`: lock and manifest files are enough" for text in steps_of_job]
        for text, place in steps:
            lighter.run(text, draft.test.folder, {}, place)
        yield lighter


def _with_build(draft: _Draft, tree: Tree, path: str) -> Iterator[_Draft]:
    """Yield a copy of ``draft`` that runs script ``build``.

    Packages of a workspace can need the built files. Nothing is yielded if ``package.json`` lacks the script.
    """
    manager = next((text.split()[0] for text, *_ in draft.steps if text.split()[0] in {"npm", *_MANAGERS}), "")
    for folder in dict.fromkeys(("", path)) if manager else ():
        place = f"{folder}/package.json" if folder else "package.json"
        if value_at(read_tree_json(tree, place), "scripts", "build"):
            built = deepcopy(draft)
            built.run(f"{manager} run build", folder, {}, f"`{place}`, script `build`")
            yield built
            return


def _draft_of_job(tree: Tree, job: CiJob, has: Has | None) -> _Draft:
    """Return a draft recipe: a job's steps before its tests."""
    draft = _Draft(job.place, job, image=job.image)
    draft.doubt(job.left_out)
    draft.add("env", job.env, job.place)
    _add_services(draft, job)
    maybe: _Draft | None = None
    for step in job.steps:
        if step.uses:
            if draft.test is None:
                _add_action(draft, tree, step, has)
            continue
        commands = Commands(tree, {**GITHUB_PLACES, **draft.env, **step.env}, draft.tools.get("python", ""))
        tests = commands.tests_in(step.run, step.folder)
        kept = draft.test or next(iter(tests), None)
        others = [one for one in tests if kept and (one.words, one.folder) != (kept.words, kept.folder)]
        draft.left_out += [f"`{shorten(shlex.join(one.words))}` runs tests too: one command is kept" for one in others]
        if draft.test is not None:
            continue
        for test in tests[:1]:
            tested = draft if test.known else deepcopy(draft)
            tested.doubt(step.unknown)
            tested.left_out += test.left_out
            tested.doubts += sum("has no value" in clause for clause in test.left_out)
            tested.run(test.before, step.folder, step.env, step.place)
            place = f"{test.place}, which {step.place} runs" if test.place else step.place
            tested.add("env", {**step.env, **test.env}, place)
            tested.sources["tests"] = place
            tested.test = test
            maybe = tested
        if draft.test is None:
            draft.doubt(step.unknown)
            draft.run(step.run, step.folder, step.env, step.place)
    return draft if draft.test is not None or maybe is None else maybe


def _add_action(draft: _Draft, tree: Tree, step: CiStep, has: Has | None) -> None:
    name = shorten(step.uses.partition("@")[0])
    read = read_action(tree, step.uses, step.given)
    if read is None:
        draft.doubt([f"`uses: {name}` is no action that is known here"])
        return
    tools, command = read
    draft.add_tools(tools, f"{step.place}, `{name}`", has)
    draft.run(command, step.folder, {}, f"{step.place}, `{name}`")
    if name == "actions/checkout":
        for key in ("repository", "submodules", "lfs"):
            if step.given.get(key, "false") not in {"", "false"}:
                draft.doubt([f"the `{key}` of a checkout: set-up has the repository's own files"])


def _add_services(draft: _Draft, job: CiJob) -> None:
    for host, service in job.services.items():
        image = str(service.get("image") or "")
        kind = next((kind for kind, like in _PRESETS.items() if re.search(like, image)), None)
        if kind is None:
            draft.doubt([f"the service `{shorten(image or host)}`: there is no preset; write `{{run: …, ready: …}}`"])
            continue
        draft.services.append(kind)
        draft.sources["services"] = draft.place
        given = mapping(service.get("env")).items()
        own = {name: text_value(value) for name, value in given if "${{" not in str(value) and name not in draft.env}
        draft.add("env", own, draft.place)


def _is_of(draft: _Draft, path: str) -> bool:
    """Return whether the draft's test command tests ``path``."""
    if draft.test is None:
        return False
    inside = f"{path}/"
    named = any(word == path or word.startswith(inside) for word in draft.test.words)
    return not path or f"{draft.test.folder}/".startswith(inside) or (not draft.test.folder and named)


def _rank(draft: _Draft, languages: list[str], tests: Mapping[str, str]) -> tuple[object, ...]:
    test, job = draft.test, draft.job
    assert test is not None and job is not None  # noqa: S101, PT018  a job's draft that passed ``_is_of``
    tool = _toolchain_of(test)
    language = "javascript" if tool in {"node", "bun"} else tool
    return (
        not test.known,
        job.rank,
        not job.linux,
        bool(_APART.search(f"{draft.place} {shlex.join(test.words)}")),
        languages.index(language) if language in languages else len(languages),
        not job.stable,
        len(draft.services),
        _runs_few(test, [path for path, of in tests.items() if of == language]),
        draft.doubts,
        bool(test.folder),
        test.rewritten,
    )


def _runs_few(test: TestCommand, tests: list[str]) -> bool:
    """Return whether a command names fewer than half the tests.

    False for a command that names no tests, because it runs all tests.
    """
    inside = f"{test.folder}/" if test.folder else ""
    below = [path.removeprefix(inside) for path in tests if path.startswith(inside)]
    # A word after an option may be its value, and `test` a command of the runner.
    pairs = pairwise(["", *test.words])
    words = [word for last, word in pairs if word != "test" and ("=" in last or not last.startswith("-"))]
    paths = [posixpath.normpath(word.partition("::")[0].removesuffix("/...")) for word in words]
    dotted = [f"{word.replace('.', '/')}/" for word in words]  # a module, or a test in it
    named = sum(
        any(f"{one}/".startswith(f"{path}/") for path in paths)
        or any(word.startswith(f"{one.rpartition('.')[0]}/") for word in dotted)
        for one in below
    )
    return 0 < named < len(below) / 2


def _toolchain_of(test: TestCommand) -> str:
    return next((name for name, like in _TOOL_OF.items() if re.search(like, shlex.join(test.words))), "")


def _from_files(tree: Tree, path: str, has: Has | None) -> _Draft:
    """Return a draft recipe from files other than CI files.

    These are lock and manifest files, else the files of a development container.
    """
    commands, tests = implied_commands(tree, path)
    draft = _Draft("", origin="files")
    for text, place in commands:
        draft.place = draft.place or place
        draft.run(text, path, {}, place)
    if [text for text, _ in commands] == [PYTEST]:  # there is no manifest, so that nothing else names Python
        draft.add_tools({"python": get_python_version()}, "that codegate runs on", has)
    for name in (f"{path}/{one}" if path else one for one in _DEVCONTAINERS):
        data = read_json_with_comments(tree, name) if not (tests or draft.steps) else {}
        for key in ("onCreateCommand", "updateContentCommand", "postCreateCommand"):
            value = data.get(key)
            texts = [" ".join(map(shlex.quote, strings(value)))] if isinstance(value, list) else strings(value)
            for text in list(map(str, value.values())) if isinstance(value, dict) else texts:
                draft.run(text, path, {}, f"`{name}`, `{key}`")
        variables = mapping(data.get("containerEnv")).items()
        draft.add("env", {key: text_value(item) for key, item in variables}, f"`{name}`")
        draft.image = str(data.get("image") or draft.image)
    for test in Commands(tree, draft.env).tests_in(tests, path)[:1]:
        draft.test = test
        draft.sources["tests"] = test.place or "what is usual for its language"
    return draft


def _complete(draft: _Draft, tree: Tree, path: str, has: Has | None) -> None:
    """Add missing tests, toolchains and downloads to the draft."""
    folder = draft.test.folder if draft.test is not None else path
    usual = ""
    if draft.test is not None and not draft.test.known:
        words = shlex.join(draft.test.words)
        most = 2 * len(tests_of(tree, folder)) >= len(tests_of(tree, path))
        usual = implied_commands(tree, folder)[1] if most else ""
        tests = [one for one in Commands(tree, draft.env).tests_in(usual, folder) if one.known]
        draft.test = tests[0] if tests else draft.test
        instead = f"`{shorten(shlex.join(tests[0].words))}` is taken" if tests else "it needs `report`, JUnit XML"
        draft.left_out.append(f"`{shorten(words)}` is no test runner that is known: {instead}")
    tool = _toolchain_of(draft.test) if draft.test is not None else ""
    if (not draft.steps or usual) and tool in {"python", "node"}:
        for text, place in implied_commands(tree, folder)[0]:
            draft.run(text, folder, {}, place)
    texts = "\n".join(text for text, *_ in draft.steps)
    for name in (tool, *(one for one in _MANAGERS if re.search(rf"(?:^|\s){one}\s", texts))):
        known = not name or name in draft.tools or draft.has_tools(has)
        version, place = ("", "") if known else declared_version(tree, folder, name, has)
        if version:
            draft.add_tools({name: version}, place, has)
    for text in prefetch(draft.test, tree) if draft.test is not None and draft.test.known else ():
        if text not in texts and not (text.startswith("uv run ") and "uv sync" in texts):
            draft.run(text, folder, {}, "so that tests find all of it without a network")


def _found(draft: _Draft, path: str, left_out: list[str], has: Has | None) -> FoundRecipe:
    folder = draft.test.folder if draft.test is not None else path
    sources = dict(draft.sources)
    setup: list[str] = []
    for text, where, env, place in draft.steps:
        lines = [f"export {name}={shlex.quote(value)}" for name, value in env.items() if _NAME.fullmatch(name)]
        lines += [f"cd {shlex.quote(posixpath.relpath(where or '.', folder or '.'))}"] if where != folder else []
        if len(whole := "\n".join([*lines, text])) > _LONGEST:
            left_out = [*left_out, f"a step of more than {_LONGEST} characters"]
            continue
        sources[f"setup.{len(setup)}"] = place
        setup.append(whole)
    if draft.test is not None and draft.test.folder:
        sources["folder"] = sources.get("tests", "")
    packages = list(dict.fromkeys(draft.packages))
    lacking = [name for name in packages if has is not None and not has(PACKAGE, name)]
    left_out = [*left_out, *(f"this machine lacks the system's package {name}" for name in lacking)]
    values: dict[str, Any] = {
        "image": draft.image if _IMAGE.fullmatch(draft.image) else None,
        "tools": draft.tools,
        "setup": setup,
        "env": {name: value for name, value in draft.env.items() if _NAME.fullmatch(name)},
        "packages": [name for name in packages if name not in lacking],
        "services": list(dict.fromkeys(draft.services)),
        "tests": shlex.join(draft.test.words) if draft.test is not None else None,
        "folder": folder,
    }
    if draft.image:
        sources["image"] = draft.place
    recipe = parse_recipe({key: value for key, value in values.items() if value}, draft.place or "the recipe found")
    place = draft.place or sources.get("tests", "no set-up")
    if draft.origin == "light":
        place = f"the tests of {place}, set up by lock and manifest files"
    return FoundRecipe(recipe, sources, tuple(dict.fromkeys(left_out)), place, draft.origin)
