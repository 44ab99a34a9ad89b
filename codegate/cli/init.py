"""``codegate init``: write a configuration file and GitHub workflows."""

import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import click
from pydantic import Field

import codegate
from codegate.candidates import EXAMPLE_CANDIDATE, CandidateSpec, check_base_url
from codegate.candidates.providers import model_provider
from codegate.cli.options import Sandbox, as_command
from codegate.cli.output import emit, json_wanted, say
from codegate.cli.progress import waiting_progress
from codegate.cli.workflows import (
    ACTION,
    COMMIT,
    GATE,
    MATRIX,
    WORKFLOWS,
    default_branch,
    own_action,
    path_for_workflows,
    workflow_texts,
    workflows_without_config,
)
from codegate.durable import write_atomic
from codegate.environments import FoundRecipe, Recipe, recipe_yaml
from codegate.errors import CodegateError, ExitCode, Interrupted, UsageError
from codegate.gating import GatePolicy
from codegate.gating.pinning import BASELINE_SAMPLES
from codegate.operations.project import Repository, inspect_repository, try_on_head
from codegate.operations.suites import read_recipe
from codegate.running import CONFIG_NAME, named_candidates
from codegate.running.config import load_config
from codegate.running.plan import call_needs
from codegate.sandbox import Choice
from codegate.strict import File, printable, read_text
from codegate.suite import load_suite
from codegate.wording import count_of, documentation

_REFERENCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}@[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_SUITE: Final = Path("suites", "mine")
_SCHEMA: Final = f"https://raw.githubusercontent.com/{ACTION}/v{codegate.__version__}/docs/schema/codegate.schema.json"
_IGNORED: Final = ("runs/", "/review.html")
_MOST_READ: Final = 1 << 20
_MOST_SHOWN: Final = 500  # most characters of a failing test's message
_WRITTEN: Final = re.compile(r"^environment:", re.MULTILINE)
_NO_RECIPE: Final = "# environment:                # how the project is set up; neither CI nor lock files say it"
_APART: Final = "# for tests that the recipe above does not run: in its place, or mined into a suite of their own\n"
_TEXT: Final = """\
# yaml-language-server: $schema={schema}
# Configuration of codegate; every key but `candidates` has a default:
# {documentation}
suite: suites/mine              # made by: codegate mine . --out suites/mine
{environment}
candidates:
{candidate}
concurrency:
  models: 4
  sandboxes: 2
{limit}
# baseline: codegate.lock       # once it is pinned (codegate baseline pin RUN): then a missing one is an error
gate:
  margin: 0.10                  # a drop of ten percentage points is too much
  alpha: 0.05
# samples: 10                   # per problem, fixed; without it a gate samples until its verdict is settled
"""


@as_command()
def command(
    out: Annotated[File | None, f"Where to write it, also outside of a repository; default {CONFIG_NAME}."] = None,
    candidate: Annotated[str | None, f"provider:model[@base_url] to start with; default {EXAMPLE_CANDIDATE}."] = None,
    path: Annotated[str, "Part of the repository that is mined, such as a service of a monorepo."] = "",
    tries: Annotated[
        bool | None,
        "--try/--no-try",
        "Build the recipe, and run tests of HEAD once without a network; default: on a terminal.",
    ] = None,
    sandbox: Sandbox = "auto",
    workflows: Annotated[bool, f"Write the GitHub workflows too, into {WORKFLOWS}."] = False,
    matrix: Annotated[bool, "With --workflows: gate in shards side by side, for a large suite."] = False,
    action: Annotated[
        str | None,
        Field(examples=["OWNER/REPO@REF"]),
        f"With --workflows: the action that they use; default {ACTION} at the commit of this release.",
    ] = None,
    force: Annotated[bool, "With --workflows: overwrite existing ones."] = False,
    yes: Annotated[bool, "Do not prompt: the default candidate, and workflows if origin is on GitHub."] = False,
) -> ExitCode:
    """Write a codegate.yml to start from.

    It also lets git ignore runs/ and review.html. The file has the recipe (`environment`) that the repository's CI, or
    else its lock files, imply, each line with its source. --try executes the recipe in a sandbox and says whether the
    repository is ready to mine; if not, the command exits with 2. Until a try has proved it, the recipe is a comment,
    and mining looks for one by itself.

    Existing files are kept. If suites/mine exists, the limit of model calls is enough for its baseline and its gate.

    With --workflows, also write the workflows for: the gate on pull requests, the nightly run, making the baseline, the
    comment on pull requests from forks, mining a suite, and weekly pull requests for newer models and agents. On a
    terminal it asks for the candidate and the workflows.
    """
    if not workflows and (matrix or force or action is not None):
        raise UsageError("--matrix, --action and --force are about the workflows.", "Give --workflows, too.")
    if action is not None and not _REFERENCE.fullmatch(action):
        raise UsageError(f"--action {action[:100]!r} is no OWNER/REPO@REF.", f"Give one such as {ACTION}@COMMIT.")
    specs = named_candidates([candidate] if candidate else [], "--candidate")
    folder = os.path.normpath(path).replace(os.sep, "/")
    part = "" if folder == "." else folder
    project = inspect_repository(Path(), part, sandbox)
    if project is not None:
        say(f"here: {project.words()}")
        if project.root:
            say(f"The repository's root is {project.root}: each folder's own codegate.yml counts there only.")
    elif out is None and not workflows and not (_SUITE / "suite.yml").exists():
        raise UsageError(
            "this is no git repository, and problems are mined from a git history.",
            f"Run this in one, which `git init` begins. For a suite from elsewhere, give --out {CONFIG_NAME}.",
        )
    say(*_parts(project))
    out = out or Path(CONFIG_NAME)
    asks = sys.stdin.isatty() and not (yes or json_wanted())
    present = os.path.lexists(out)
    if not specs:
        asked = "Candidate (provider:model[@base_url])"
        name = click.prompt(asked, default=EXAMPLE_CANDIDATE, err=True) if asks and not present else EXAMPLE_CANDIDATE
        specs = named_candidates([name], name)
    asked_for = workflows
    gated = any(os.path.lexists(WORKFLOWS / name) for name in (GATE, MATRIX))
    if project is not None and project.slug and not workflows and not gated and Path(".git").exists():
        workflows = yes or (asks and click.confirm(f"Write workflows into {WORKFLOWS}?", default=True, err=True))
    spec = specs[0]
    used = configured = mined = ""
    try:
        if workflows:
            used, configured, mined = action or own_action(), path_for_workflows(out), path_for_workflows(Path(part))
    except UsageError as error:
        workflows = False
        say(f"no workflows were written: {error}")
    branch, known = default_branch()
    files = workflow_texts(used, branch, configured, mined, matrix=matrix) if workflows else {}
    proposals = project.proposals if project is not None else ()
    found = proposals[0] if proposals else None
    section = recipe_yaml(found) if found is not None and found.recipe != Recipe() else ""
    comment = _commented(section)
    apart = project.apart if project is not None and section else ()
    tries = sys.stdin.isatty() and not json_wanted() if tries is None else tries
    config = _TEXT.format(
        schema=_SCHEMA,
        documentation=documentation("configuration.md"),
        environment="".join((comment, *(_APART + _commented(recipe_yaml(one)) for one in apart))).rstrip("\n")
        or _NO_RECIPE,
        candidate=_entry(spec),
        limit=_limit(out.parent / _SUITE, spec),
    )
    old = read_text(out, _MOST_READ) if present and out.is_file() and not out.is_symlink() else None
    lacking = old is not None and not _WRITTEN.search(old) and comment not in old
    written = [path for path, text in {out: config, **files}.items() if _write(path, text, force=force and path != out)]
    if section and (out in written or lacking):
        untried = "" if tries else ", as a comment: mining tries it, and others where it does not work"
        first = f"the recipe that was found{untried}" if out in written else f"{out} has no recipe; this one was found"
        say(f"{first}:\n{section}")
        say(*_others(proposals))
        for one in apart:
            say(f"It does not run the tests of `{one.recipe.tests}`. {out} has a recipe for them as a comment.")
    if project is not None and _ignore(out.with_name(".gitignore")):
        written.append(out.with_name(".gitignore"))
        say(f"{written[-1]}: git ignores {' and '.join(_IGNORED)} now")
    tried, correct = None, False
    if found is not None and tries:
        own = read_recipe(Path(), out) if os.path.lexists(out) and out not in written else None
        taken, tried = _try(own, found, part, sandbox)
        text = config if out in written else old or ""
        if taken is not None and comment and comment in text:
            write_atomic(out, text.replace(comment, recipe_yaml(taken)).encode())
            say(f"wrote {out} again, with the recipe that works")
        found, correct = taken or found, tried is None
    if others := workflows_without_config(files, configured):
        say(
            f"{', '.join(map(str, others))} do not read {out}, which is not gated: copy them under other names, "
            f"the copies with `config: {configured}`, or replace them with --force."
        )
    if any(path.name in {GATE, MATRIX} for path in written):
        say(f"The gate is for pull requests to the branch {branch}.")
        if not known:
            say(
                "That is a guess, since git does not know origin's default branch here. If it is another one:\n"
                "  git remote set-head origin --auto\n"
                "  codegate init --workflows --force"
            )
    if workflows and not COMMIT.fullmatch(used.partition("@")[2].partition(" ")[0]):
        name, _, reference = used.partition("@")
        say(
            f"The workflows use {used}, and the owner of that tag can move it. To pin its present commit:\n"
            f"  git ls-remote https://github.com/{name} '{reference}^{{}}' {reference}  # the line with ^{{}}, if any\n"
            f"  codegate init --workflows --force --action {name}@COMMIT"
        )
    if project is not None and project.shallow:
        say("This clone is shallow, and has few bug fixes to mine: git fetch --unshallow")
    following = _next_commands(out, part)
    if workflows:
        with contextlib.suppress(UsageError):  # a broken old file: the next command reports it
            specs = load_config(out).candidates
        say(*_unreachable(specs))
        following = _workflow_commands(out, specs, files)
    if correct:
        following.insert(0, f"$EDITOR {shlex.quote(str(out))}  # `environment`; then codegate init --try again")
    say("\n".join(["Next:", *(f"  {line}" for line in following)]))
    emit(
        {
            "schema": "codegate.files/1",
            "config": str(out) if out in written else None,
            "environment": found.recipe.model_dump(mode="json", exclude_defaults=True) if section and found else None,
            "tried": tried,
            "workflows": [path.as_posix() for path in files if path in written],
            "next": following,
        }
    )
    return ExitCode.USAGE if (correct and tries) or (asked_for and not workflows) else ExitCode.PASS


def _write(path: Path, text: str, *, force: bool) -> bool:
    if os.path.lexists(path) and not force:
        same = not path.is_symlink() and path.is_file() and path.read_bytes() == text.encode("utf-8")
        say(f"{path} is {'up to date' if same else 'left as it is'}")
        return False
    write_atomic(path, text.encode("utf-8"))
    say(f"wrote {path}")
    return True


def _ignore(path: Path) -> bool:
    text = read_text(path, _MOST_READ) if os.path.lexists(path) else ""
    known = {line.strip().strip("/") for line in text.splitlines()}
    new = [name for name in _IGNORED if name.strip("/") not in known]
    if not new:
        return False
    lines = text if not text or text.endswith("\n") else f"{text}\n"
    write_atomic(path, "".join((lines, *(f"{name}\n" for name in new))).encode())
    return True


def _try(own: Recipe | None, found: FoundRecipe, part: str, sandbox: Choice) -> tuple[FoundRecipe | None, str | None]:
    """Build a recipe, run tests with it, print the result.

    Tests in the folder ``part`` run. Returns the proposed recipe that works, and what its tests showed. The recipe is
    None if the user's ``own`` was tried; both are None if no recipe works.
    """
    if (own or found.recipe) == Recipe():
        say(f"there is no recipe to try: write `environment` into {CONFIG_NAME}")
        return None, None
    say("building the recipe, and running tests of HEAD once without a network (--no-try leaves that out)")
    try:
        with waiting_progress() as show:
            show(0, 1, "building the recipe and running tests")
            taken, tried = try_on_head(Path(), own, part, sandbox, say)
    except Interrupted:
        raise
    except CodegateError as error:
        say(f"not ready to mine: {error.cause}\n{error.remedy}".rstrip())
        return None, None
    place = f"taken: {taken.place}: " if taken is not None else ""
    if not tried.ready:
        say(f"not ready to mine: {place}{tried.words}\n{tried.failed[0]}: {printable(tried.message, _MOST_SHOWN)}")
        return None, None
    say(f"{place}{tried.words}: ready to mine")
    return taken, tried.words


def _parts(project: Repository | None) -> list[str]:
    parts = project.parts if project is not None else {}
    named = [f"  --path {shlex.quote(folder)}: {' and '.join(names)}" for folder, names in parts.items()]
    return ["parts with tests of their own, which can be mined alone:", *named] if named else []


def _others(proposals: Sequence[FoundRecipe]) -> list[str]:
    named = [f"  {one.place}: `{one.recipe.tests}`" for one in proposals[1:]]
    return ["others, which a try takes where this one does not work:", *named] if named else []


def _commented(text: str) -> str:
    return "".join(f"# {line}" for line in text.splitlines(keepends=True))


def _next_commands(out: Path, part: str) -> list[str]:
    own = "" if out == Path(CONFIG_NAME) else f" --config {shlex.quote(str(out))}"
    if (out.parent / _SUITE / "suite.yml").exists():
        first = f"codegate plan{own}"
    else:
        alone = f" --path {shlex.quote(part)}" if part else ""
        first = f"codegate mine . --out {shlex.quote(str(out.parent / _SUITE))}{alone}"
    if out.with_name("codegate.lock").exists():
        return [first, f"codegate run{own}"]
    files = [out.with_name(name) for name in ("baseline.json", "codegate.lock")]
    pinned = f" {shlex.join(('--out', str(files[0]), '--lock', str(files[1])))}" if own else ""
    return [
        first,
        f"codegate run{own} --no-gate --samples {BASELINE_SAMPLES} --out runs/pinned",
        f"codegate baseline pin runs/pinned{pinned}",
    ]


def _workflow_commands(out: Path, specs: Sequence[CandidateSpec], files: Mapping[Path, str]) -> list[str]:
    names = shlex.join(map(str, (out, out.with_name(".gitignore"), WORKFLOWS)))
    lines = [f"git add {names} && git commit -m 'Add codegate' && git push  # to the default branch"]
    asked = [one for one in specs if one.calls_a_model and one.api_key_command is None]
    for name in dict.fromkeys(one.api_key_env or model_provider(one.provider).key_variable for one in asked):
        known = any(f"secrets.{name} " in text for text in files.values())
        lines.append(
            f"gh secret set {name}  # or in the settings{'' if known else '; add it to `env` of the workflows'}"
        )
    suite, lock = out.parent / _SUITE, out.with_name("codegate.lock")
    if not (suite / "suite.yml").exists():
        lines.append(f"gh workflow run codegate-mine.yml  # or on the page Actions; commit its suite as {suite}")
    if not lock.exists():
        candidate = f" -f candidate={shlex.quote(specs[0].label)}"
        lines.append(f"gh workflow run codegate-baseline.yml{candidate}  # commit the {lock} in its summary")
    return lines


def _unreachable(specs: Sequence[CandidateSpec]) -> list[str]:
    return [
        f"The workflows run in a container, and {one.base_url} is the container itself there. Give {one.model} a "
        "`base_url` that it reaches: http://172.17.0.1:PORT of a server on the runner, with `allow_http: true`."
        for one in specs
        if one.base_url is not None and check_base_url(one.base_url, allow_http=one.allow_http)
    ]


def _entry(spec: CandidateSpec) -> str:
    lines = [(f"  - provider: {spec.provider}", "or anthropic; any OpenAI-compatible server with base_url")]
    if spec.model:
        lines.append((f"    model: {json.dumps(spec.model)}", "with its date, where the provider gives one"))
    if spec.base_url:
        lines.append((f"    base_url: {spec.base_url}", "where its server is"))
    if spec.calls_a_model:
        lines.append(("    # solver: tool_loop", "reads files and runs public tests; default: one answer"))
    return "\n".join(f"{line:<31} # {words}" for line, words in lines)


def _limit(suite: Path, spec: CandidateSpec) -> str:
    """Return the lines for ``max_model_calls`` in ``codegate.yml``.

    The limit is enough for the suite's baseline and gate.
    """
    if not spec.calls_a_model:
        return "# max_model_calls: 500          # of a candidate that calls a model: the run stops before it makes more"
    if not (suite / "suite.yml").exists():
        return (
            "# max_model_calls:              # no limit yet: there is no suite to compute it from. Once there is one,\n"
            "#                               # `codegate plan` prints a limit that the workflows can finish with"
        )
    problems = len(load_suite(suite).active)
    needs = call_needs(problems, (spec,), GatePolicy())
    return (
        f"# {count_of(problems, 'problem')}, one call an answer: a baseline of "
        f"{BASELINE_SAMPLES} samples makes at most {needs.baseline} calls,\n"
        f"# a gate with one candidate and the confirmation of a regression {needs.gate}; more is for retries\n"
        f"max_model_calls: {needs.limit:<15}# the run stops, resumable, before it makes more (codegate plan)"
    )
