"""Files that people hand to codegate: configurations, predictions, transcripts, runs, baselines, repositories."""

import json
import shutil
from collections.abc import Callable
from typing import Any, Final

from codegate.durable import sha256
from codegate.suite import git
from tests.kit.command import Done
from tests.redteam.harness.place import SENTINEL, Order, Place
from tests.suite.test_git import bomb, plant

Attack = Callable[[Place], Order]

_SWAPS: Final = {
    "pipe": "is not a regular file",
    "device": "is a symbolic link",
    "holes": "is larger than",
    "folder": "is not a regular file",
}


def _config(text: str, words: str, check: Callable[[Done], str] | None = None) -> Attack:
    def order(place: Place) -> Order:
        (place.home / "codegate.yml").write_text(text)
        return Order(("run", "suite", "--out", "out"), words, check=check)

    return order


def _candidate(address: str, words: str) -> Attack:
    text = json.dumps({"candidates": [{"provider": "openai", "model": "m", "base_url": address}]})
    hidden = "hunter2hunter2"
    return _config(text, words, lambda done: "a password was shown" if hidden in done.stdout + done.stderr else "")


def _config_swap(kind: str, words: str) -> Attack:
    def order(place: Place) -> Order:
        place.swap(place.home / "codegate.yml", kind)
        return Order(("run", "suite"), words if kind != "folder" else "codegate.yml")

    return order


def _predictions(data: bytes, words: str) -> Attack:
    def order(place: Place) -> Order:
        (place.home / "p.jsonl").write_bytes(data)
        return Order(("grade", "suite", "--predictions", "p.jsonl", "--sandbox", "bwrap", "--json"), words)

    return order


def _transcripts(data: bytes, words: str) -> Attack:
    def order(place: Place) -> Order:
        (place.home / "t.jsonl").write_bytes(data)
        return Order(("run", "suite", "--candidate", "replay:t.jsonl", "--sandbox", "bwrap"), words)

    return order


def _swapped(name: str, kind: str, words: str, *arguments: str) -> Attack:
    def order(place: Place) -> Order:
        place.swap(place.home / name, kind)
        return Order(arguments, words)

    return order


def _row(**changes: Any) -> bytes:
    return json.dumps({"instance_id": "calc-half", "model_name_or_path": "m", "model_patch": "x", **changes}).encode()


_HEADER: Final = json.dumps({"schema": "codegate.transcripts/1", "label": "handwritten", "model": "m"}).encode() + b"\n"

_FILES: dict[str, Attack] = {
    "config-no-sandbox": _config("candidates: [reference]\nsandbox: none\n", "'none' is no sandbox"),
    "config-key-in-the-file": _config(
        json.dumps({"candidates": [{"provider": "openai", "model": "m", "api_key_env": SENTINEL}]}), "api_key_env"
    ),
    "address-hexadecimal": _candidate("https://0xa9fea9fe/v1", "unusual spelling"),
    "address-with-a-user": _candidate("https://api.openai.com:hunter2hunter2@evil.example/v1", "base URL"),
    "predictions-commands": _predictions(
        _row(instance_id="x\n::error file=a::forged\n##[add-mask]x\x1b[2J\u202e"), "not in suite calc"
    ),
    "transcripts-key-twice": _transcripts(
        _HEADER + b'{"problem": "p", "responses": [{}], "responses": [{}]}', "is given twice"
    ),
}

for _kind, _words in _SWAPS.items():
    _FILES[f"config-{_kind}"] = _config_swap(_kind, _words)
    if _kind != "folder":
        _FILES[f"predictions-{_kind}"] = _swapped(
            "p", _kind, _words, "grade", "suite", "--predictions", "p", "--sandbox", "bwrap"
        )
        _FILES[f"baseline-{_kind}"] = _swapped("baseline.json", _kind, _words, "gate", "run")
        _FILES[f"lock-{_kind}"] = _swapped("codegate.lock", _kind, _words, "gate", "run")
    _FILES[f"transcripts-{_kind}"] = _swapped(
        "t", _kind, _words, "run", "suite", "--candidate", "replay:t", "--sandbox", "bwrap"
    )


def _run_json(words: str, **changes: Any) -> Attack:
    def order(place: Place) -> Order:
        place.manifest(**changes)
        return Order(("run", "suite", "--resume", "run", "--sandbox", "bwrap"), words)

    return order


def _run_file(name: str, kind: str, words: str, *arguments: str) -> Attack:
    def order(place: Place) -> Order:
        place.swap(place.run / name, kind)
        return Order(
            arguments or ("run", "suite", "--resume", "run", "--sandbox", "bwrap"),
            words,
            check=lambda done: "" if (place.outside / "file").stat().st_size < 100 else "it was written through",
        )

    return order


def _journal(line: bytes, words: str) -> Attack:
    def order(place: Place) -> Order:
        path = place.run / "outcomes.jsonl"
        path.write_bytes(line + b"\n" + path.read_bytes())
        return Order(("gate", "run"), words)

    return order


def _openai(**changes: Any) -> list[dict[str, Any]]:
    return [{"provider": "openai", "model": "gpt-4o-2024-08-06", **changes}]


_FILES |= {
    "run-plan": _run_json("plans more than", problems={f"p-{n}": "1" * 64 for n in range(6_000)}, samples=100),
    "run-id-is-a-path": _run_json("id: String should match", id="../../../etc"),
    "run-sends-the-key-away": _run_json("does not decide", candidates=_openai(base_url="https://evil.example/v1")),
    "run-picks-the-runners-token": _run_json("of the runner, not", candidates=_openai(api_key_env="GITHUB_TOKEN")),
    "run-journal-pipe": _run_file("outcomes.jsonl", "pipe", "is not a regular file"),
    "run-journal-holes": _run_file("outcomes.jsonl", "holes", "is larger than"),
    "run-transcripts-link": _run_file("transcripts", "link", "is a symbolic link"),
    "journal-depth": _journal(b"[" * 1_000_000, "it is nested deeper than 64 levels"),
}  # fmt: skip


def _lock(words: str, **changes: Any) -> Attack:
    def order(place: Place) -> Order:
        path = place.home / "codegate.lock"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        return Order(("gate", "run"), words)

    return order


def _baseline(change: Callable[[str], str], words: str) -> Attack:
    """Change the baseline, and pin what came of it: its own digest is what is left to find it out by."""

    def order(place: Place) -> Order:
        path = place.home / "baseline.json"
        text = change(path.read_text())
        path.write_text(text)
        lock = place.home / "codegate.lock"
        lock.write_text(json.dumps({**json.loads(lock.read_text()), "sha256": sha256(text.encode())}))
        return Order(("gate", "run"), words)

    return order


_FILES |= {
    "lock-outside": _lock("which is not below its folder", baseline="../outside/file"),
    "baseline-changed": _baseline(lambda t: t.replace('"passed": true', '"passed": false'), "was changed after"),
}


def _planted(*arguments: str, code: int = 0) -> Attack:
    """A repository whose own configuration, hooks and attributes name programs: none of them is started."""

    def order(place: Place) -> Order:
        repository, marker = place.home / "repository", place.home / "marker"
        plant(repository, marker)
        (repository / ".gitattributes").write_text("*.py filter=evil diff=evil export-subst\n")
        (repository / ".git" / "info" / "grafts").write_text("")
        (repository / ".git" / "hooks" / "post-checkout").chmod(0o755)
        return Order(
            arguments, "", code, check=lambda done: f"git ran {marker.read_text()[:200]}" if marker.exists() else ""
        )

    return order


def _borrowing(place: Place) -> Order:
    repository = place.home / "repository"
    shutil.move(repository / ".git" / "objects", place.home / "objects")
    (repository / ".git" / "objects" / "info").mkdir(parents=True)
    (repository / ".git" / "objects" / "info" / "alternates").write_text(f"{place.home / 'objects'}\n")
    return Order(("mine", "export", "suite", "--format", "swe-bench", "--out", "o"), "borrows objects from elsewhere")


def _replaced(place: Place) -> Order:
    """Every file of the base is replaced by another object; what is exported still is the base."""
    repository = place.home / "repository"
    honest = git(repository, "rev-parse", "HEAD:calc/half.py").decode().strip()
    other = git(repository, "hash-object", "-w", "--stdin", stdin=b"replaced-4711\n").decode().strip()
    (repository / ".git" / "refs" / "replace").mkdir()
    (repository / ".git" / "refs" / "replace" / honest).write_text(f"{other}\n")

    def check(done: Done) -> str:
        return "the replacement was read" if "replaced-4711" in (place.home / "o").read_text() else ""

    return Order(("mine", "export", "suite", "--format", "swe-bench", "--out", "o"), "", 0, check=check)


def _endless(place: Place) -> Order:
    """The base commit's tree is a few objects that stand for a hundred million files."""
    repository, problem = place.home / "repository", place.problem / "problem.yml"
    raw = f"tree {bomb(repository)}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n".encode()
    commit = git(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).decode().strip()
    honest = git(repository, "rev-parse", "HEAD").decode().strip()
    for name in ("double", "half", "square"):
        place.replace(problem.parent.with_name(f"calc-{name}") / "problem.yml", honest, commit)
    return Order(("mine", "export", "suite", "--format", "swe-bench", "--out", "o"), "wrote more than 128 MiB")


_FILES |= {
    "git-tree-without-end": _endless,
    "git-planted": _planted("mine", "export", "suite", "--format", "swe-bench", "--out", "o"),
    "git-planted-and-mined": _planted("mine", "repository", "--out", "mined", "--sandbox", "bwrap", code=3),
    "git-borrows-objects": _borrowing,
    "git-replaced-objects": _replaced,
}

ATTACKS: Final[dict[str, Attack]] = _FILES
