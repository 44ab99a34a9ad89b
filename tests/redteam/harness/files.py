"""Files that people hand to codegate: configurations, predictions, transcripts, runs, baselines, repositories."""

import json
import shutil
from typing import Any, Final

from codegate.durable import sha256
from codegate.suite import git
from tests.kit.command import Done
from tests.redteam.harness.place import SENTINEL, Attack, Check, Place, attack
from tests.suite.test_git import bomb, plant

_RUN: Final = ("run", "suite", "--out", "out")
_GRADE: Final = ("grade", "suite", "--sandbox", "bwrap", "--json", "--predictions", "p")
_REPLAY: Final = ("run", "suite", "--candidate", "replay:t", "--sandbox", "bwrap")
_RESUME: Final = ("run", "suite", "--resume", "run", "--sandbox", "bwrap")
_GATE: Final = ("gate", "run")
_EXPORT: Final = ("mine", "export", "suite", "--out", "o")


def _config(text: str, words: str, check: Check | None = None) -> Attack:
    return attack(_RUN, words, lambda place: place.write("codegate.yml", text), check=check)


def _candidate(words: str, **changes: Any) -> Attack:
    def shown(_: Place, done: Done) -> str:
        return "a password was shown" if "hunter2hunter2" in done.stdout + done.stderr else ""

    candidate = {"provider": "openai", "model": "m", **changes}
    return _config(json.dumps({"candidates": [candidate]}), words, shown)


def _swapped(arguments: tuple[str, ...], words: str, name: str, kind: str) -> Attack:
    def wrong(place: Place, _: Done) -> str:
        return "" if (place.outside / "file").stat().st_size < 100 else "it was written through"

    return attack(arguments, words, lambda place: place.swap(place.home / name, kind), check=wrong)


def _row(**changes: Any) -> bytes:
    return json.dumps({"instance_id": "calc-half", "model_name_or_path": "m", "model_patch": "x", **changes}).encode()


_HEADER: Final = json.dumps({"schema": "codegate.transcripts/1", "label": "handwritten", "model": "m"}).encode() + b"\n"

_FILES: dict[str, Attack] = {
    "config-no-sandbox": _config("candidates: [reference]\nsandbox: none\n", "'none' is no sandbox"),
    "config-key-in-the-file": _candidate("api_key_env", api_key_env=SENTINEL),
    "address-hexadecimal": _candidate("unusual spelling", base_url="https://0xa9fea9fe/v1"),
    "address-with-a-user": _candidate("base URL", base_url="https://api.openai.com:hunter2hunter2@evil.example/v1"),
    "predictions-commands": attack(_GRADE, "not in suite calc", lambda place: place.write(
        "p", _row(instance_id="x\n::error file=a::forged\n##[add-mask]x\x1b[2J\u202e")
    )),
    "transcripts-key-twice": attack(_REPLAY, "is given twice", lambda place: place.write(
        "t", _HEADER + b'{"problem": "p", "responses": [{}], "responses": [{}]}'
    )),
}  # fmt: skip

_SWAPS: Final = {
    "pipe": "is not a regular file",
    "device": "is a symbolic link",
    "holes": "is larger than",
    "folder": "is not a regular file",
}
for _kind, _words in _SWAPS.items():
    _FILES[f"config-{_kind}"] = _swapped(_RUN, _words if _kind != "folder" else "codegate.yml", "codegate.yml", _kind)
    _FILES[f"transcripts-{_kind}"] = _swapped(_REPLAY, _words, "t", _kind)
    if _kind != "folder":
        _FILES[f"predictions-{_kind}"] = _swapped(_GRADE, _words, "p", _kind)
        _FILES[f"baseline-{_kind}"] = _swapped(_GATE, _words, "baseline.json", _kind)
        _FILES[f"lock-{_kind}"] = _swapped(_GATE, _words, "codegate.lock", _kind)


def _changed(arguments: tuple[str, ...], words: str, name: str, **changes: Any) -> Attack:
    return attack(arguments, words, lambda place: place.change_json(name, **changes))


def _openai(**changes: Any) -> list[dict[str, Any]]:
    return [{"provider": "openai", "model": "gpt-4o-2024-08-06", **changes}]


def _begin_journal(place: Place, line: bytes) -> None:
    place.write("run/outcomes.jsonl", line + b"\n" + (place.run / "outcomes.jsonl").read_bytes())


def _change_baseline(place: Place) -> None:
    """Pin what came of the change: its own digest is what is left to find it out by."""
    place.replace(place.home / "baseline.json", '"passed": true', '"passed": false')
    place.change_json("codegate.lock", sha256=sha256((place.home / "baseline.json").read_bytes()))


_FILES |= {
    "run-plan": _changed(
        _RESUME, "plans more than", "run/run.json", problems={f"p-{n}": "1" * 64 for n in range(6_000)}, samples=100
    ),
    "run-id-is-a-path": _changed(_RESUME, "id: String should match", "run/run.json", id="../../../etc"),
    "run-sends-the-key-away": _changed(
        _RESUME, "does not decide", "run/run.json", candidates=_openai(base_url="https://evil.example/v1")
    ),
    "run-picks-the-runners-token": _changed(
        _RESUME, "of the runner, not", "run/run.json", candidates=_openai(api_key_env="GITHUB_TOKEN")
    ),
    "run-journal-pipe": _swapped(_RESUME, "is not a regular file", "run/outcomes.jsonl", "pipe"),
    "run-journal-holes": _swapped(_RESUME, "is larger than", "run/outcomes.jsonl", "holes"),
    "run-transcripts-link": _swapped(_RESUME, "is a symbolic link", "run/transcripts", "link"),
    "journal-depth": attack(
        _GATE, "it is nested deeper than 64 levels", lambda place: _begin_journal(place, b"[" * 1_000_000)
    ),
    "lock-outside": _changed(_GATE, "which is not below its folder", "codegate.lock", baseline="../outside/file"),
    "baseline-changed": attack(_GATE, "was changed after", _change_baseline),
}


def _planted(*arguments: str, code: int = 0) -> Attack:
    """A repository whose own configuration, hooks and attributes name programs: none of them is started."""

    def change(place: Place) -> None:
        repository = place.home / "repository"
        plant(repository, place.home / "marker")
        (repository / ".gitattributes").write_text("*.py filter=evil diff=evil export-subst\n")
        (repository / ".git" / "info" / "grafts").write_text("")
        (repository / ".git" / "hooks" / "post-checkout").chmod(0o755)

    def ran(place: Place, _: Done) -> str:
        marker = place.home / "marker"
        return f"git ran {marker.read_text()[:200]}" if marker.exists() else ""

    return attack(arguments, "", change, code, ran)


def _borrow(place: Place) -> None:
    objects = place.home / "repository" / ".git" / "objects"
    shutil.move(objects, place.home / "objects")
    (objects / "info").mkdir(parents=True)
    (objects / "info" / "alternates").write_text(f"{place.home / 'objects'}\n")


def _replace(place: Place) -> None:
    """Replace a file of the base by another object; what is exported still is the base."""
    repository = place.home / "repository"
    honest = git(repository, "rev-parse", "HEAD:calc/half.py").decode().strip()
    other = git(repository, "hash-object", "-w", "--stdin", stdin=b"replaced-4711\n").decode().strip()
    (repository / ".git" / "refs" / "replace").mkdir()
    (repository / ".git" / "refs" / "replace" / honest).write_text(f"{other}\n")


def _read(place: Place, _: Done) -> str:
    return "the replacement was read" if "replaced-4711" in (place.home / "o").read_text() else ""


def _grow(place: Place) -> None:
    """Let the base commit's tree be a few objects that stand for a hundred million files."""
    repository, problem = place.home / "repository", place.problem / "problem.yml"
    raw = f"tree {bomb(repository)}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n".encode()
    commit = git(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).decode().strip()
    honest = git(repository, "rev-parse", "HEAD").decode().strip()
    for name in ("double", "half", "square"):
        place.replace(problem.parent.with_name(f"calc-{name}") / "problem.yml", honest, commit)


ATTACKS: Final[dict[str, Attack]] = {
    **_FILES,
    "git-tree-without-end": attack(_EXPORT, "wrote more than 128 MiB", _grow),
    "git-planted": _planted(*_EXPORT),
    "git-planted-and-mined": _planted("mine", "repository", "--out", "mined", "--sandbox", "bwrap", code=3),
    "git-borrows-objects": attack(_EXPORT, "borrows objects from elsewhere", _borrow),
    "git-replaced-objects": attack(_EXPORT, "", _replace, 0, _read),
}
