"""Toolchains of the machine: asked of the tools, matched by their version, and named when they are missing."""

from pathlib import Path

import pytest

from codegate.sandbox import SandboxError, Toolchain
from codegate.sandbox.toolchains import (
    Interpreter,
    check_system,
    find_interpreter,
    find_toolchain,
    machine_toolchains,
    toolchain_variables,
)


def install(folder: Path, name: str, says: str) -> Path:
    """Make a program that prints something."""
    program = folder / "bin" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of toolchains that are on PATH, in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RUNNER_TOOL_CACHE", str(tmp_path / "tools"))
    monkeypatch.setenv("PATH", f"{tmp_path}/first/bin:{tmp_path}/second/bin:/usr/bin:/bin")
    return tmp_path


def go(folder: Path, version: str) -> None:
    install(folder, "go", f"{folder}\ngo{version}")


@pytest.mark.parametrize(
    ("wanted", "version"),
    [("", "7.26.2"), ("7.26", "7.26.2"), ("7.26.2", "7.26.2"), ("7", "7.30.1"), ("7.3", "7.3.9"), ("7.30", "7.30.1")],
)
def test_a_toolchain_is_found_by_the_beginning_of_its_version(path: Path, wanted: str, version: str) -> None:
    go(path / "first", "7.26.2")
    go(path / "second", "7.3.9")
    go(path / "tools" / "go" / "7.30.1" / "x64", "7.30.1")
    found = find_toolchain(Toolchain("go", wanted))
    assert found is not None
    assert (found.version, found.programs) == (version, found.folder / "bin")


def test_a_missing_toolchain_is_named_with_what_there_is_and_the_remedy(path: Path) -> None:
    go(path / "first", "1.97.1")
    with pytest.raises(
        SandboxError, match=r"no go 1\.98 \(it has .*1\.97\.1\).*Install go 1\.98, change `tools` .* or use Docker"
    ):
        machine_toolchains([Toolchain("go", "1.98")])
    with pytest.raises(SandboxError, match=r"no unheard-of 1\. Install"):
        machine_toolchains([Toolchain("unheard-of", "1")])


def test_channels_of_rust_are_no_numbers(path: Path) -> None:
    for folder, version in (("first", "1.99.0-nightly"), ("second", "1.95.0")):
        install(path / folder, "rustc", f"{path / folder}")
        (path / folder / "bin" / "rustc").write_text(
            f'#!/bin/sh\n[ "$1" = --print ] && echo {path / folder} || echo rustc {version}\n'
        )
    found = [find_toolchain(Toolchain("rust", wanted)) for wanted in ("nightly", "stable", "1.99", "")]
    assert [one and one.version for one in found] == ["1.99.0-nightly", "1.95.0", "1.99.0-nightly", "1.99.0-nightly"]


def test_a_tool_that_prints_nonsense_is_none(path: Path) -> None:
    for name in ("go", "node", "java", "mvn", "rustc", "gradle"):
        install(path / "first", name, "What a lovely day.")
    for name in ("go", "node", "maven", "rust", "gradle"):
        found = find_toolchain(Toolchain(name, ""))
        assert found is None or not found.folder.is_relative_to(path)


def test_variables_find_the_toolchains_before_the_systems_own(path: Path) -> None:
    go(path / "first", "1.97.1")
    home = path / "tools" / "Java_X" / "99.0.1" / "x64"
    install(home, "java", f"    java.home = {home}\n    java.version = 99.0.1")
    found = [find_toolchain(Toolchain("go", "1.97")), find_toolchain(Toolchain("java", "99"))]
    variables = toolchain_variables([one for one in found if one])
    assert variables["PATH"].split(":") == [f"{path}/first/bin", f"{home}/bin", "/usr/local/bin", "/usr/bin", "/bin"]
    assert variables["JAVA_HOME"] == str(home)


def test_packages_of_the_system_that_are_missing_are_named(path: Path) -> None:
    says = "libone installed\\nlibtwo config-files\\n"
    install(path / "first", "dpkg-query", "").write_text(f"#!/bin/sh\nprintf '{says}'\necho no packages found >&2\n")
    check_system(["libone"])
    with pytest.raises(SandboxError, match=r"packages libthree, libtwo,.*apt-get install libthree libtwo"):
        check_system(["libone", "libtwo", "libthree"])


@pytest.mark.parametrize("says", ["3", "[1, 2, 3]", "{}", "not JSON", ""])
def test_a_program_that_is_called_python_and_is_none_is_passed_over(path: Path, says: str) -> None:
    install(path / "first", "python7.1", says)
    install(path / "second", "python7.1", '["7.1.4", "/python", "/"]')
    assert find_interpreter("7.1") == Interpreter(Path("/python"), Path("/"))
