"""Read the jobs of GitHub workflows, with variables filled in.

The workflows are read as data.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any, Final

from codegate.environments.expressions import UNKNOWN, evaluate, fill_expressions, text_value
from codegate.errors import UsageError
from codegate.sandbox.session import WORKSPACE
from codegate.suite import Tree, is_plain_path, parse_yaml
from codegate.suite.declared import mapping, read_plain_yaml, read_tree_text

WORKFLOWS: Final = ".github/workflows/"
_MOST_FILES: Final = 60
_MOST_COMBINATIONS: Final = 256
_MOST_JOBS: Final = 24  # combinations of one job's matrix
_MOST_STEPS: Final = 200
_LONGEST: Final = 20_000  # characters of a step, as in a recipe
_DEEPEST: Final = 4  # levels of workflows and actions that use others
_NUMBER: Final = re.compile(r"\d+(?:\.(?:\d+|x))*")
_RUNNER: Final = {"os": "Linux", "arch": "X64", "temp": "/tmp", "tool_cache": "/opt/hostedtoolcache"}  # noqa: S108
_GITHUB: Final = {"workspace": WORKSPACE, "job": "test", "run_id": "1", "run_number": "1", "run_attempt": "1"}


@dataclass(frozen=True)
class CiStep:
    """A step of a job: a script or an action.

    Attributes:
        place: the workflow's file and the job.
        run: the script, with variables filled in.
        uses: the action.
        given: the action's inputs.
        env: variables of this step only.
        folder: the script's working folder, relative to the repository.
        unknown: notes on what could not be read, such as the step or values in ``env`` that only GitHub knows.
    """

    place: str
    run: str = ""
    uses: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class CiJob:
    """A job with one combination of its matrix.

    Attributes:
        place: the workflow's file and the job's name.
        rank: 0 if it runs on pull requests, 1 on pushes, 2 on neither.
        linux: whether its runner is a Linux machine.
        stable: whether its failure fails the workflow.
        image: image of the container that it runs in; empty if none.
        services: its servers: image, variables and ports, by host name.
        env: its variables and the workflow's.
        steps: the steps that run with this combination.
        left_out: notes on values that only GitHub knows.
    """

    place: str
    rank: int
    linux: bool
    stable: bool
    image: str
    services: Mapping[str, Mapping[str, Any]]
    env: Mapping[str, str]
    steps: tuple[CiStep, ...]
    left_out: tuple[str, ...]


def read_jobs(tree: Tree) -> tuple[list[CiJob], list[str]]:
    """Return all workflows' jobs, and notes on unreadable files.

    A job with a matrix is returned once for each combination.
    """
    paths = [path for path in tree if re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml", path)]
    jobs: list[CiJob] = []
    broken: list[str] = []
    for path in paths[:_MOST_FILES]:
        try:
            data = mapping(parse_yaml(read_tree_text(tree, path), path, core=True))
        except UsageError as error:
            broken.append(f"`{path}` is not read: {error.cause}")
            continue
        on = data.get("on")
        events = {on} if isinstance(on, str) else {str(event) for event in on} if isinstance(on, list | dict) else set()
        if events != {"workflow_call"}:
            rank = 0 if "pull_request" in events else 1 if not events.isdisjoint({"push", "merge_group"}) else 2
            jobs += _jobs(tree, path, data, {}, rank, _DEEPEST)
    return jobs, broken


def _jobs(
    tree: Tree, path: str, data: Mapping[str, Any], inputs: Mapping[str, Any], rank: int, depth: int
) -> Iterator[CiJob]:
    for name, one in mapping(data.get("jobs")).items():
        job = mapping(one)
        place = f"`{path}`, job `{name[:60]}`"
        matrix = mapping(mapping(job.get("strategy")).get("matrix"))
        for combination in islice(_combinations(matrix), _MOST_JOBS):
            scope: dict[str, Any] = {"matrix": combination, "inputs": inputs, "runner": _RUNNER, "github": _GITHUB}
            if evaluate(_condition(job.get("if")), scope) is False:
                continue
            uses = job.get("uses")
            if isinstance(uses, str):
                other = posixpath.normpath(uses)
                if depth and other.startswith(WORKFLOWS) and uses.startswith("./"):
                    called = read_plain_yaml(tree, other)
                    given = _inputs(mapping(mapping(called.get("on")).get("workflow_call")), job.get("with"), scope)
                    yield from _jobs(tree, other, called, given, rank, depth - 1)
                    break
                continue
            yield _job(tree, place, data, job, scope, rank)


def _job(
    tree: Tree, place: str, data: Mapping[str, Any], job: Mapping[str, Any], scope: dict[str, Any], rank: int
) -> CiJob:
    services = {name: mapping(_filled(one, scope)) for name, one in mapping(job.get("services")).items()}
    ports = {name: _ports(one) for name, one in services.items()}
    scope["job"] = {"services": {name: {"ports": ports[name]} for name in services}}
    env, left_out = _variables(data.get("env"), {}, scope)
    own, more = _variables(job.get("env"), env, scope)
    env |= own
    scope["env"] = env
    runner, _ = fill_expressions(json.dumps(job.get("runs-on")), scope)
    container = job.get("container")
    image, _ = fill_expressions(
        str(container.get("image") or "") if isinstance(container, dict) else str(container or ""), scope
    )
    folder, shell = "", ""
    for table in (data, job):
        defaults = mapping(mapping(table.get("defaults")).get("run"))
        folder, shell = str(defaults.get("working-directory") or folder), str(defaults.get("shell") or shell)
    steps = islice(_steps(tree, place, job.get("steps"), scope, folder, shell, _DEEPEST), _MOST_STEPS)
    hosts = "|".join(map(re.escape, services)) if image else ""
    return CiJob(
        place=place,
        rank=rank,
        linux=not re.search(r"(?i)windows|macos", runner),
        stable=evaluate(_condition(job.get("continue-on-error", False)), scope) is not True,
        image="" if "${{" in image else image,
        services=services,
        env=_with_local_hosts(env, hosts),
        steps=tuple(replace(step, env=_with_local_hosts(step.env, hosts)) for step in steps),
        left_out=(*left_out, *more),
    )


def _steps(
    tree: Tree, place: str, steps: object, scope: Mapping[str, Any], folder: str, shell: str, depth: int
) -> Iterator[CiStep]:
    """Yield ``steps``, except those whose condition is false.

    A step that uses an action of the repository is replaced by that action's steps, up to ``depth`` levels deep.
    ``place`` says where the steps are written. ``scope`` has the values of contexts by name. Scripts run in ``folder``
    by ``shell``, unless the step names others.
    """
    for step in map(mapping, steps if isinstance(steps, list) else ()):
        if "parallel" in step:
            yield from _steps(tree, place, step["parallel"], scope, folder, shell, depth)
            continue
        if evaluate(_condition(step.get("if")), scope) is False:
            continue
        env, unknown = _variables(step.get("env"), scope.get("env", {}), scope)
        inner = {**scope, "env": {**scope.get("env", {}), **env}}
        uses = step.get("uses")
        if isinstance(uses, str) and uses.startswith("./"):
            action = posixpath.normpath(uses)
            data = read_plain_yaml(tree, f"{action}/action.yml") or read_plain_yaml(tree, f"{action}/action.yaml")
            runs = mapping(data.get("runs"))
            if depth and runs.get("using") == "composite":
                there = f"`{action}`, used by {place}"
                inner["inputs"] = _inputs(data, step.get("with"), scope)
                inner["github"] = {**_GITHUB, "action_path": f"{WORKSPACE}/{action}"}
                for one in _steps(tree, there, runs.get("steps"), inner, "", "", depth - 1):
                    own = {"GITHUB_ACTION_PATH": f"{WORKSPACE}/{action}"} if "GITHUB_ACTION_PATH" in one.run else {}
                    yield replace(one, env={**env, **own, **one.env})
            else:
                yield CiStep(place, uses=uses)
        elif isinstance(uses, str):
            given = {
                key: fill_expressions(text_value(item), inner)[0] for key, item in mapping(step.get("with")).items()
            }
            yield CiStep(place, uses=uses, given=given, env=env)
        elif isinstance(step.get("run"), str):
            words = str(step.get("shell") or shell or "bash").split()
            where, lost = fill_expressions(str(step.get("working-directory") or folder), inner)
            where = posixpath.normpath(where.removeprefix(WORKSPACE).strip("/") or ".")
            if len(step["run"]) > _LONGEST:
                yield CiStep(place, unknown=(f"a step of more than {_LONGEST} characters",))
            elif words[:1] not in (["bash"], ["sh"]):
                yield CiStep(place, unknown=(f"a step for the shell `{words[0][:20]}`",))
            elif lost or not (where == "." or is_plain_path(where)):
                yield CiStep(place, unknown=(f"a step in the folder `{where[:60]}`",))
            else:
                run, _ = fill_expressions(step["run"], inner)
                if evaluate(_condition(step.get("continue-on-error", False)), inner) is True:
                    run = f"(\n{run.rstrip()}\n) || true"
                yield CiStep(place, run, env=env, folder="" if where == "." else where, unknown=tuple(unknown))


def _combinations(matrix: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the combinations of a matrix, newest versions first.

    Values that are no versions stay in their order.
    """
    listed = {key: values for key, values in matrix.items() if isinstance(values, list)}
    axes = {key: values for key, values in listed.items() if key not in {"include", "exclude"}}
    ordered = [[value for _, value in sorted(enumerate(values), key=_preference)] for values in axes.values()]
    found = [dict(zip(axes, one, strict=True)) for one in islice(product(*ordered), _MOST_COMBINATIONS)] if axes else []
    excluded, included = ([mapping(one) for one in listed.get(key, ())] for key in ("exclude", "include"))
    found = [one for one in found if not any(out and out.items() <= one.items() for out in excluded)]
    alone = []
    for extra in included:
        fitting = [one for one in found if all(one[key] == item for key, item in extra.items() if key in axes)]
        for one in fitting:
            one.update(extra)
        if not fitting:
            alone.append(extra)
    return [*found, *alone] or [{}]


def _preference(entry: tuple[int, object]) -> tuple[int, list[int], int]:
    place, value = entry
    if isinstance(value, str | int | float) and _NUMBER.fullmatch(str(value)):
        return 0, [-int(part) for part in str(value).split(".") if part != "x"], place
    return 1, [], place


def _variables(env: object, outer: Mapping[str, str], scope: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Return the variables in ``env``, and notes on unknown values.

    Expressions in them are evaluated with the variables ``outer`` and the contexts ``scope``.
    """
    found: dict[str, str] = {}
    lost = []
    for name, value in mapping(env).items():
        text, missing = fill_expressions(text_value(value), {**scope, "env": outer})
        if missing:
            lost.append(f"the variable `{name[:60]}`: `{missing[0]}` has no value here")
        else:
            found[name] = text
    return found, lost


def _with_local_hosts(env: Mapping[str, str], hosts: str) -> dict[str, str]:
    """Return ``env`` with ``localhost`` in place of services' host names.

    In a CI job's container network each service has a host name. Here all services listen on the tests' own loopback.
    ``hosts`` is a regular expression of the host names, or "" if there are no services.
    """
    if not hosts:
        return dict(env)
    found = rf"(?:(?<=@)|(?<=//))(?:{hosts})(?=:\d|/|$)|^(?:{hosts})(?=:\d)"
    alone = rf"{found}|^(?:{hosts})$"  # `POSTGRES_USER: postgres` is no host
    return {name: re.sub(alone if "HOST" in name.upper() else found, "localhost", value) for name, value in env.items()}


def _filled(value: object, scope: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, scope) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, scope) for item in value]
    return fill_expressions(value, scope)[0] if isinstance(value, str) else value


def _inputs(declared: Mapping[str, Any], given: object, scope: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: mapping(one).get("default") for name, one in mapping(declared.get("inputs")).items()}
    for name, value in mapping(given).items():
        text, missing = fill_expressions(text_value(value), scope)
        values[name] = UNKNOWN if missing else text if isinstance(value, str) else value
    return values


def _ports(service: Mapping[str, Any]) -> dict[str, str]:
    listed = service.get("ports")
    pairs = (str(port).partition("/")[0].split(":") for port in (listed if isinstance(listed, list) else ()))
    return {pair[-1]: pair[0] for pair in pairs}


def _condition(value: object) -> str:
    text = "true" if value is None else text_value(value).strip()
    return text[3:-2] if text.startswith("${{") and text.endswith("}}") else text
