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
    "config-aliases": _config("candidates: &a [reference]\nsuite: *a\n", "anchors and aliases"),
    "config-key-twice": _config("candidates: [reference]\ncandidates: [empty]\n", "is given twice"),
    "config-privileged": _config("candidates: [reference]\nprivileged: true\n", "privileged: there is no such key"),
    "config-no-sandbox": _config("candidates: [reference]\nsandbox: none\n", "'none' is no sandbox"),
    "config-a-command": _config("candidates: [reference]\nbefore: 'curl x | sh'\n", "before: there is no such key"),
    "config-samples": _config("candidates: [reference]\nsamples: 1000000000\n", "samples: Input should be"),
    "config-many-calls-at-once": _config("candidates: [reference]\nconcurrency: {models: 99999}\n", "concurrency"),
    "config-negative-margin": _config("candidates: [reference]\ngate: {margin: -1, alpha: 2}\n", "gate.margin"),
    "config-key-in-the-file": _config(
        json.dumps({"candidates": [{"provider": "openai", "model": "m", "api_key_env": SENTINEL}]}), "api_key_env"
    ),
    "config-floating-alias": _config("candidates: ['openai:gpt-4o']\n", "floating alias"),
    "config-missing-baseline": _config("candidates: [reference]\nbaseline: other.lock\n", "there is no other.lock"),
    "address-in-clear": _candidate("http://collector.example/v1", "unencrypted"),
    "address-of-metadata": _candidate("http://169.254.169.254/latest", "base URL"),
    "address-of-metadata-by-tls": _candidate("https://169.254.169.254/latest", "link-local"),
    "address-mapped": _candidate("https://[::ffff:169.254.169.254]/v1", "link-local"),
    "address-octal": _candidate("http://0177.0.0.1/v1", "base URL"),
    "address-hexadecimal": _candidate("https://0xa9fea9fe/v1", "unusual spelling"),
    "address-of-a-file": _candidate("file:///etc/passwd", "base URL"),
    "address-with-a-user": _candidate("https://api.openai.com:hunter2hunter2@evil.example/v1", "base URL"),
    "address-like-this-machine": _candidate("http://localhost.evil.example/v1", "unencrypted"),
    "address-with-a-query": _candidate("https://evil.example/v1?a=", "base URL"),
    "predictions-depth": _predictions(b"[" * 200_000, "it is nested deeper than 64 levels"),
    "predictions-many-values": _predictions(b"[" + b"[]," * 20_000_000 + b"[]]", "more than 2000000 values"),
    "predictions-key-twice": _predictions(_row()[:-1] + b', "model_patch": "y"}', "is given twice"),
    "predictions-number": _predictions(b'[{"instance_id": ' + b"9" * 1_000_000 + b"}]", "a number is too long"),
    "predictions-gzip": _predictions(b"\x1f\x8b\x08" + b"\xff" * 1000, "is compressed"),
    "predictions-commands": _predictions(
        _row(instance_id="x\n::error file=a::forged\n##[add-mask]x\x1b[2J\u202e"), "not in suite calc"
    ),
    "predictions-other-types": _predictions(_row(model_patch={"a": 1}), "model_patch"),
    "predictions-long-name": _predictions(_row(model_name_or_path="m" * 100_000), "model_name_or_path"),
    "transcripts-key-twice": _transcripts(
        _HEADER + b'{"problem": "p", "responses": [{}], "responses": [{}]}', "is given twice"
    ),
    "transcripts-nan": _transcripts(_HEADER + b'{"problem": "p", "responses": [{"seconds": NaN}]}', "NaN is not JSON"),
    "transcripts-depth": _transcripts(_HEADER + b'{"problem":' * 100_000, "it is nested deeper than 64 levels"),
    "transcripts-long-line": _transcripts(_HEADER + b"x" * (9 << 20), "line 2 is longer"),
    "transcripts-number": _transcripts(_HEADER + b'{"sample": 1e400}', "line 2 is not usable JSON"),
    "transcripts-outside": lambda place: Order(
        ("run", "suite", "--candidate", "replay:../outside/file", "--sandbox", "bwrap"), "not usable JSON"
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
    "run-samples": _run_json("samples", samples=10**18),
    "run-plan": _run_json("plans more than", problems={f"p-{n}": "1" * 64 for n in range(400_000)}, samples=100),
    "run-id-is-a-path": _run_json("id: String should match", id="../../../etc"),
    "run-id-is-a-command": _run_json("id: String should match", id="x\n::set-output name=verdict::pass"),
    "run-sends-the-key-away": _run_json("does not decide", candidates=_openai(base_url="https://evil.example/v1")),
    "run-picks-a-secret": _run_json("does not decide", candidates=_openai(api_key_env="DEPLOY_KEY")),
    "run-picks-the-runners-token": _run_json("of the runner, not", candidates=_openai(api_key_env="GITHUB_TOKEN")),
    "run-picks-an-address": _run_json("base URL", candidates=_openai(base_url="http://169.254.169.254/")),
    "run-of-another-suite": _run_json("another version of suite", suite_digest="0" * 64),
    "run-without-a-sandbox": _run_json("cannot continue with bwrap", sandbox="none"),
    "run-unknown-key": _run_json("privileged: there is no such key", privileged=True),
    "run-json-pipe": _run_file("run.json", "pipe", "is not a regular file"),
    "run-json-holes": _run_file("run.json", "holes", "is larger than"),
    "run-json-link": _run_file("run.json", "link", "is a symbolic link"),
    "run-journal-pipe": _run_file("outcomes.jsonl", "pipe", "is not what a run has there"),
    "run-journal-holes": _run_file("outcomes.jsonl", "holes", "is larger than"),
    "run-journal-link": _run_file("outcomes.jsonl", "link", "is a symbolic link"),
    "run-calls-pipe": _run_file("calls.log", "pipe", "is not what a run has there"),
    "run-calls-link": _run_file("calls.log", "link", "is a symbolic link"),
    "run-transcripts-link": _run_file("transcripts", "link", "is a symbolic link"),
    "run-reports-link": _run_file("reports", "link", "is a symbolic link", "gate", "run"),
    "gate-journal-pipe": _run_file("outcomes.jsonl", "pipe", "is not a regular file", "gate", "run"),
    "report-journal-device": _run_file("outcomes.jsonl", "device", "symbolic link", "report", "run", "--out", "o"),
    "journal-depth": _journal(b"[" * 1_000_000, "it is nested deeper than 64 levels"),
    "journal-many-values": _journal(b"[" + b"{}," * 3_000_000 + b"{}]", "more than 2000000 values"),
    "journal-of-another-run": _journal(
        json.dumps({"problem": "x", "problem_digest": "0", "candidate": "c", "sample": 0,
                    "fault": {"cause": "c", "message": "m", "retries": 0}}).encode(), "is of another run"
    ),
    "journal-number": _journal(b'{"sample": ' + b"9" * 100_000 + b"}", "a number is too long"),
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
    "lock-absolute": _lock("which is not below its folder", baseline="/etc/passwd"),
    "lock-of-another": _lock("is not the one that", sha256="0" * 64),
    "lock-address": _lock("which is not below its folder", baseline="https://evil.example/../b.json"),
    "baseline-changed": _baseline(lambda t: t.replace('"passed": true', '"passed": false'), "was changed after"),
    "baseline-key-twice": _baseline(lambda t: t.replace("{", '{"created": "x", ', 1), "is given twice"),
    "baseline-depth": _baseline(lambda t: "[" * 100_000, "it is nested deeper than 64 levels"),
    "baseline-many-values": _baseline(lambda t: "[" + "1," * 3_000_000 + "1]", "more than 2000000 values"),
    "baseline-nan": _baseline(lambda t: t.replace('"score": 100.0', '"score": NaN', 1), "NaN is not JSON"),
    "baseline-infinite": _baseline(lambda t: t.replace('"score": 100.0', '"score": 1e400', 1), "is not finite"),
    "baseline-zip": _baseline(lambda t: "PK\x03\x04" + "\0" * 100, "is not usable JSON"),
    "baseline-half-a-sign": _baseline(lambda t: t.replace('"label": "', '"label": "\\ud800', 1), "is broken"),
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


def _git_file(place: Place) -> Order:
    repository = place.home / "repository"
    shutil.move(repository / ".git", place.home / "elsewhere")
    (repository / ".git").write_text(f"gitdir: {place.home / 'elsewhere'}\n")
    return Order(
        ("mine", "export", "suite", "--format", "swe-bench", "--out", "o"), "is not the top of a git repository"
    )


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
    "git-is-elsewhere": _git_file,
    "git-replaced-objects": _replaced,
}

ATTACKS: Final[dict[str, Attack]] = _FILES
