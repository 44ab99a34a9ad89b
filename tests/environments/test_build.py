"""Recorded builds: a recipe is run once in a sandbox, and what it leaves is in every sandbox after it."""

import base64
import socket
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest

from codegate.environments import Recipe
from codegate.environments.build import BuildFailed, obtain_build
from codegate.environments.inputs import inputs_of
from codegate.environments.secrets import SecretInArchive
from codegate.environments.store import Built
from codegate.errors import UsageError
from codegate.sandbox import Backend, Command, Completed, NotInstalled, SandboxFile, SandboxLimits
from codegate.sandbox.cache import layers_folder
from codegate.sandbox.tools import tools_for
from codegate.suite import Tree, TreeFile
from tests.kit.http import Reply, Request, Server
from tests.kit.kept import own_cache
from tests.kit.packages import simple_page, wheel_files

DAY = date(2026, 1, 1)
PASSWORD = "sesame77-of-acme"
FETCH = "python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' "
TREE = Tree({"app.sh": TreeFile(b"echo app\n", "100755"), "notes.txt": TreeFile(b"tracked\n")})


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests."""
    return Path(own_cache(tmp_path_factory.mktemp("cache")))


@pytest.fixture(autouse=True)
def _own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGATE_CACHE", str(cache))


def archives() -> set[Path]:
    return set(layers_folder().glob("*.tar"))


@pytest.fixture
def seen() -> list[str]:
    return []


@pytest.fixture
def index(seen: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """An index that the caller's own environment names; it has one package, in two versions once "newer" was seen."""
    wheels = wheel_files("acme-core", ("1.0", "2.0"), {"acme_core.py": "ZERO = 0\n"})
    known = "Basic " + base64.b64encode(f"ada:{PASSWORD}".encode()).decode()

    def respond(request: Request) -> Reply:
        seen.append(request.path)
        if request.path.startswith("/private") and request.headers.get("authorization") != known:
            return Reply(b"", 401, {"WWW-Authenticate": "Basic"})
        if request.path.endswith("/acme-core/"):
            return simple_page(dict(list(wheels.items())[: 1 + ("newer" in seen)]))
        name = request.path.rpartition("/")[2]
        return Reply(wheels[name]) if name in wheels else Reply(b"nothing", 404 if "simple" in request.path else 200)

    with closing(Server(respond)) as server:
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{server.url}/simple/")
        yield server


def shell(*setup: str, **keys: object) -> Recipe:
    return Recipe.model_validate({"setup": setup, **keys})


def run(backend: Backend, built: Built, *scripts: str, tree: Tree = TREE) -> list[Completed]:
    """Return what became of scripts that ran one after the other in one sandbox of a build."""
    environment = backend.prepare(built.environment)
    sandbox = backend.open(environment, SandboxLimits(lifetime_seconds=120))
    with closing(sandbox):
        sandbox.put(tuple(SandboxFile(path, file.data, file.mode) for path, file in tree.items()))
        return [sandbox.run(Command(("sh", "-c", script))) for script in scripts]


def test_what_set_up_leaves_is_in_each_sandbox_writable_and_afresh(backend: Backend) -> None:
    recipe = shell(
        "mkdir -p data out && ./app.sh > out/app.txt && echo changed > notes.txt",
        'git log --format=%s 2>/dev/null || echo base\necho "$APP_SECRET" > "$HOME/app"',
        env={"APP_SECRET": "of the recipe"},
    )
    built = obtain_build(recipe, TREE, backend, day=DAY)
    look = 'cat out/app.txt notes.txt "$HOME/app"; ls -d data; echo "$APP_SECRET"; ls -A | grep -c git'
    change = 'echo x > out/app.txt; rm -r data; echo x > "$HOME/app"'
    first, _, third = run(backend, built, look, change, "cat out/app.txt")
    again = run(backend, built, look)[0]
    assert first.stdout.decode().split("\n")[:6] == ["app", "tracked", "of the recipe", "data", "of the recipe", "0"]
    assert third.stdout == b"x\n"
    assert again.stdout == first.stdout
    assert built.layer.python == ""
    with tarfile.open(built.layer.archive) as archive:
        assert not [name for name in archive.getnames() if ".codegate" in name or "/.git" in name or "/cache/" in name]
    assert not [path for path in layers_folder().iterdir() if path.is_dir() and path.name[0] == "."]


def test_a_build_is_found_again_and_made_once_by_callers_at_a_time(
    bwrap_backend: Backend, index: Server, seen: list[str]
) -> None:
    recipe = shell(f"{FETCH}{index.url}/asked && mkdir data")
    found: list[Built] = []

    def call() -> None:
        found.append(obtain_build(recipe, TREE, bwrap_backend, day=DAY))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path for path in seen if "ruff" not in path] == ["/asked"]  # whose tools may have to be installed
    assert len({built.layer.sha256 for built in found}) == 1
    other = obtain_build(shell(f"{FETCH}{index.url}/other && mkdir data"), TREE, bwrap_backend, day=DAY)
    assert other.inputs != found[0].inputs
    assert seen[-2:] == ["/asked", "/other"]


def test_of_a_recipe_that_was_found_what_fails_is_left_out(bwrap_backend: Backend) -> None:
    recipe = shell("mkdir data", "grep -q nowhere notes.txt")
    with pytest.raises(BuildFailed):
        obtain_build(recipe, TREE, bwrap_backend, day=DAY)
    built = obtain_build(recipe, TREE, bwrap_backend, day=DAY, found=True)
    assert built.recipe == shell("mkdir data")
    assert built.inputs == inputs_of(built.recipe, TREE, bwrap_backend)
    assert built.notes == (
        "left out `grep -q nowhere notes.txt`: it failed with exit code 1; it printed last: nothing",
    )
    assert obtain_build(recipe, TREE, bwrap_backend, day=DAY, found=True) == built, "it is found again"
    with pytest.raises(BuildFailed, match="grep -q nowhere"):  # of a written recipe nothing is left out
        obtain_build(recipe, TREE, bwrap_backend, day=DAY)
    with pytest.raises(BuildFailed):
        obtain_build(shell("grep -q nowhere notes.txt"), TREE, bwrap_backend, day=DAY, found=True)


@pytest.mark.parametrize(
    ("setup", "step", "words"),
    [
        (
            ("mkdir data", "echo one; touch two; printf 'three\\033[31m' >&2; false"),
            1,
            ("failed with exit code 1", "three"),
        ),
        (("mkdir data", "no-such-program --install"), 1, ("failed with exit code 127", "`tools`")),
        (("mkdir data", FETCH + "https://undeclared.test/"), 1, ("is no package index", "hosts: [undeclared.test]")),
        (("grep -q nowhere notes.txt",), 0, ("failed with exit code 1",)),
        (
            ("mkdir data", "echo 'error: Failed to build `psycopg2==2.9.10`' | tee log; false"),
            1,
            ("psycopg2 cannot be",),
        ),
        (("mkdir data", "echo \"Failed to build 'file:///workspace'\"; touch a; false"), 1, ("'file:///workspace'",)),
    ],
)
def test_a_step_that_fails_ends_the_build_with_what_it_printed(
    bwrap_backend: Backend, setup: tuple[str, ...], step: int, words: tuple[str, ...]
) -> None:
    before = archives()
    with pytest.raises(BuildFailed) as failed:
        obtain_build(shell(*setup), TREE, bwrap_backend, day=DAY)
    assert failed.value.step in setup[step]
    for word in words:
        assert word in str(failed.value)
    assert ("cannot be installed" in str(failed.value)) == ("psycopg2 cannot be" in words)  # not the project itself
    assert "\x1b" not in str(failed.value)
    assert archives() == before


def test_all_that_a_failed_step_printed_is_in_the_log_for_v(
    bwrap_backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", "codegate"), pytest.raises(BuildFailed) as failed:
        obtain_build(shell("printf 'the %s\\n' cause; seq 60; exit 1"), TREE, bwrap_backend, day=DAY)
    assert ("the cause" in caplog.text, "the cause" in str(failed.value)) == (True, False)
    assert failed.value.remedy.endswith("-v shows all of its output.")


@pytest.mark.bwrap
def test_a_step_that_could_not_reach_an_index_names_it(bwrap_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    tools_for()  # which come from the index, too
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
    monkeypatch.setenv("UV_INDEX", address)
    with pytest.raises(BuildFailed) as failed:
        obtain_build(shell(f"{FETCH}{address} 2>/dev/null"), TREE, bwrap_backend, day=DAY)
    assert failed.value.remedy == "From this machine, 127.0.0.1 cannot be reached: Connection refused."
    assert failed.value.unreachable


def test_a_package_that_cannot_be_built_is_left_out_once_and_said(bwrap_backend: Backend) -> None:
    install = (
        "mkdir -p done; cat requirements.in; for name in $(cut -d= -f1 requirements.in); do\n"
        'case $name in *[Bb]roken) echo "error: Failed to build `$name==1`" >&2; exit 1; esac; done'
    ).replace("`", "'")
    written = "acme-core==1\nAcme.Broken==1 \\\n  --hash=sha256:00\nacme-broken-not==1\n"
    tree = Tree({**TREE, "requirements.in": TreeFile(written.encode())})
    built = obtain_build(shell(f"{install}\ncp requirements.in used"), tree, bwrap_backend, day=DAY)
    assert run(bwrap_backend, built, "cat used requirements.in", tree=tree)[0].stdout.decode() == (
        "acme-core==1\n\nacme-broken-not==1\n" + written
    )
    assert [note.partition(" is left out: ")[0] for note in built.notes] == ["Acme.Broken"]
    worse = Tree({**tree, "requirements.in": TreeFile(f"{written}other-broken==1\n".encode())})
    with pytest.raises(BuildFailed, match=r"^Acme\.Broken cannot be installed"):
        obtain_build(shell(f"{install}\ncp requirements.in used"), worse, bwrap_backend, day=DAY)


HOSTILE = """
import os, socket, sys, urllib.request
failed = []
def attempt(name, call):
    try: call()
    except Exception as error: print(name, error)
    else: failed.append(name)
attempt("file", lambda: open(sys.argv[1]).read())
attempt("folder", lambda: os.listdir(os.path.dirname(sys.argv[1])))
attempt("shadow", lambda: open("/etc/shadow").read())
attempt("processes", lambda: open(f"/proc/{sys.argv[2]}/environ", "rb").read())
attempt("port", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[3])), 5))
attempt("address", lambda: socket.create_connection(("192.0.2.1", 80), 5))
for place in (f"http://127.0.0.1:{sys.argv[3]}/", "http://169.254.169.254/", f"http://localhost:{sys.argv[3]}/"):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": os.environ["HTTP_PROXY"]}))
    attempt(place, lambda: opener.open(place, timeout=10))
os.makedirs("out", exist_ok=True)
os.symlink(sys.argv[1], "out/link")
os.symlink("/", "/opt/env/root")
print("FAILED TO CONTAIN", failed)
sys.exit(bool(failed))
"""


def test_a_hostile_set_up_reaches_no_file_and_no_host(backend: Backend, tmp_path: Path, seen: list[str]) -> None:
    (tmp_path / "own.txt").write_text("the host's own\n")

    def respond(request: Request) -> Reply:
        seen.append(request.path)
        return Reply(b"reached")

    with closing(Server(respond)) as neighbour:
        port = neighbour.url.rpartition(":")[2]
        words = f"{tmp_path}/own.txt {threading.get_native_id()} {port}"
        tree = Tree({**TREE, "hostile.py": TreeFile(HOSTILE.encode())})
        recipe = shell(f"python3 hostile.py {words}", hosts=["localhost"])
        built = obtain_build(recipe, tree, backend, day=DAY)
        done = run(backend, built, "cat out/link /opt/env/root/etc/shadow", FETCH + neighbour.url, tree=tree)
    assert [one.exit_code != 0 for one in done] == [True, True]
    assert not seen
    assert b"host's own" not in built.layer.archive.read_bytes()


def test_one_environment_has_nothing_of_another(bwrap_backend: Backend) -> None:
    one = obtain_build(shell('echo mine > "$HOME/mine"; echo mine > mine'), TREE, bwrap_backend, day=DAY)
    other = obtain_build(
        shell('find / -name mine >found 2>/dev/null || true; ls -A "$HOME"'), TREE, bwrap_backend, day=DAY
    )
    assert run(bwrap_backend, one, "cat mine")[0].stdout == b"mine\n"
    assert run(bwrap_backend, other, 'cat found; ls "$HOME"; cat mine')[0].stdout == b""


def test_a_build_serves_no_other_tree_whose_hooks_may_differ(bwrap_backend: Backend) -> None:
    """Files that a manifest imports count in no key: a build of another repository, or of an older tree, is none."""
    recipe = shell("cat build_*.py > made")
    for day, name in ((DAY, "mine"), (DAY + timedelta(1), "theirs")):
        tree = TREE.overlay({"build_hook.py": TreeFile(name.encode())})
        built = obtain_build(recipe, tree, bwrap_backend, day=day)
        assert run(bwrap_backend, built, "cat made", tree=tree)[0].stdout == name.encode()


SHOP_BUILD = """import zipfile

def build_wheel(folder, *_):
    about, name = 'shop-1.dist-info', 'shop-1-py3-none-any.whl'
    with zipfile.ZipFile(f'{folder}/{name}', 'w') as file:
        file.write('shop.py')
        file.writestr(f'{about}/METADATA', 'Metadata-Version: 2.1\\nName: shop\\nVersion: 1\\n')
        file.writestr(f'{about}/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        file.writestr(f'{about}/RECORD', '')
    return name
"""


def python_tree() -> Tree:
    declared = "[project]\nname = 'shop'\nversion = '1'\n"
    declared += "[build-system]\nrequires = []\nbuild-backend = 'shop_build'\nbackend-path = ['.']\n"
    files = {"pyproject.toml": declared, "shop.py": "PRICE = 1\n", "shop_build.py": SHOP_BUILD}
    return Tree({path: TreeFile(text.encode()) for path, text in files.items()})


@pytest.mark.requirement("M8")
def test_a_private_index_is_reached_its_credentials_are_found_nowhere_and_a_rebuild_has_its_versions(
    bwrap_backend: Backend, index: Server, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index has nothing of that day: what fails with the packages of the day is run again with today's."""
    address = index.url.replace("://", f"://ada:{PASSWORD}@") + "/private/simple/"
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", address)
    tree = python_tree()
    recipe = shell("uv pip install acme-core .\nenv | grep -c INDEX", "mkdir data", secrets=["PIP_EXTRA_INDEX_URL"])
    built = obtain_build(recipe, tree, bwrap_backend, day=DAY)
    assert built.recipe == recipe
    again, copied = built.notes
    assert again.endswith(f"` failed with exit code 1 with the packages of {DAY}; it was run again with today's")
    assert "shop is installed as a copy" in copied
    assert "`-e`" in copied
    # An audit leaves byte code alone whose source beside it says the same.
    with tarfile.open(built.layer.archive) as archive:
        names = [name for name in archive.getnames() if "/setuptools/" in name and name.endswith(".pyc")]
        assert {opened.read(8)[4] for name in names if (opened := archive.extractfile(name))} == {1}
    done = run(
        bwrap_backend, built, "python -c 'import acme_core, sys; print(sys.prefix)'; env; uv pip list", tree=tree
    )[0]

    assert done.stdout.startswith(b"/opt/env/venv\n"), done.stderr
    assert built.layer.python == "/opt/env/venv/bin/python"
    assert "acme-core==1.0" in built.resolved
    secrets = [PASSWORD.encode(), base64.b64encode(f"ada:{PASSWORD}".encode())]
    for text in (done.stdout, repr(built).encode()):
        assert not [secret for secret in secrets if secret in text]
    for path in layers_folder().rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            assert not [secret for secret in secrets if secret in content], path

    built.layer.archive.unlink()  # as on another machine, and the index has a newer version by now
    seen.append("newer")
    rebuilt = obtain_build(recipe, tree, bwrap_backend, day=DAY, resolved=built.resolved)
    assert (rebuilt.resolved, rebuilt.inputs, rebuilt.notes) == (built.resolved, built.inputs, built.notes)


def test_a_secret_that_set_up_leaves_behind_is_refused_and_never_printed(
    bwrap_backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = archives()
    monkeypatch.setenv("ACME_TOKEN", PASSWORD)
    for form in ("$ACME_TOKEN", '$(printf %s "$ACME_TOKEN" | base64)'):
        with pytest.raises(SecretInArchive, match=r"the secret ACME_TOKEN in /opt/env/home/\.netrc"):
            obtain_build(shell(f'echo "token {form}" > ~/.netrc', secrets=["ACME_TOKEN"]), TREE, bwrap_backend, day=DAY)
    with pytest.raises(BuildFailed) as failed:
        obtain_build(shell('echo "token is $ACME_TOKEN"; false', secrets=["ACME_TOKEN"]), TREE, bwrap_backend, day=DAY)
    assert failed.value.lines == ("token is [redacted]",)
    monkeypatch.setenv("ACME_TOKEN", "short")
    with pytest.raises(UsageError, match="ACME_TOKEN has fewer than 8 characters"):
        obtain_build(shell("true", secrets=["ACME_TOKEN"]), TREE, bwrap_backend, day=DAY)
    assert archives() == before


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="uv gives such a Python no setuptools")
def test_an_environment_has_the_setuptools_of_its_day(bwrap_backend: Backend) -> None:
    """Older code imports pkg_resources, which setuptools 82 of 2026 no longer has."""
    step = (
        "python -c 'import pkg_resources, wheel, setuptools as s; print(s.__version__, wheel.__version__)' > versions"
    )
    built = obtain_build(shell(step), python_tree(), bwrap_backend, day=date(2024, 9, 30))
    assert run(bwrap_backend, built, "cat versions", tree=python_tree())[0].stdout == b"75.1.0 0.44.0\n"


@pytest.mark.full
def test_a_command_that_fails_with_the_setuptools_of_the_day_has_a_later_one(
    bwrap_backend: Backend, index: Server
) -> None:
    step = 'grep setuptools "$UV_CONFIG_FILE" && test -n "$UV_EXCLUDE_NEWER"'
    built = obtain_build(shell(step, "mkdir data"), python_tree(), bwrap_backend, day=DAY)
    again = "it was run again with setuptools of 2022-12-31"
    assert built.notes == (f"`{step}` failed with exit code 2 with the packages of {DAY}; {again}",)
    built.layer.archive.unlink()
    assert (
        obtain_build(built.recipe, python_tree(), bwrap_backend, day=DAY, resolved=built.resolved).notes == built.notes
    )


@pytest.mark.parametrize(
    ("python", "env", "tries"), [(True, {}, 3), (False, {}, 1), (True, {"UV_EXCLUDE_NEWER": "2026-01-01"}, 1)]
)
def test_only_a_date_of_codegates_own_is_left_out_and_only_where_one_counts(
    bwrap_backend: Backend, index: Server, seen: list[str], python: bool, env: dict[str, str], tries: int
) -> None:
    recipe = shell(f"{FETCH}{index.url}/tried\nfalse", env=env)
    with pytest.raises(BuildFailed):
        obtain_build(recipe, python_tree() if python else TREE, bwrap_backend, day=DAY)
    assert seen.count("/tried") == tries
    if tries > 1:
        seen.clear()
        with pytest.raises(BuildFailed):
            obtain_build(recipe, python_tree(), bwrap_backend, day=DAY, resolved="acme-core==1.0\n")
        assert seen.count("/tried") == tries, "with the versions that it had, whatever its day"


def test_a_rebuild_is_found_by_the_versions_that_it_was_told_to_have(bwrap_backend: Backend) -> None:
    recipe = shell("mkdir told")
    rebuilt = obtain_build(recipe, TREE, bwrap_backend, day=DAY, resolved="pip==1.0\n")
    assert rebuilt.resolved != "pip==1.0\n"
    assert obtain_build(recipe, TREE, bwrap_backend, day=DAY, resolved="pip==1.0\n") == rebuilt


def test_the_nearest_build_is_begun_with_unless_set_up_fails_on_it(bwrap_backend: Backend) -> None:
    first = obtain_build(shell("echo 1 > $HOME/count"), TREE, bwrap_backend, day=DAY)
    add = shell("cat $HOME/count > $HOME/seen 2>/dev/null || true; echo 2 > $HOME/count")
    fails = shell("test ! -e $HOME/count; echo clean > $HOME/seen")
    second = obtain_build(add, TREE, bwrap_backend, day=DAY, nearest=first.layer)
    third = obtain_build(fails, TREE, bwrap_backend, day=DAY, nearest=first.layer)
    assert run(bwrap_backend, second, "cat $HOME/seen $HOME/count")[0].stdout == b"1\n2\n"
    assert run(bwrap_backend, third, "cat $HOME/seen")[0].stdout == b"clean\n"


def test_servers_of_the_recipe_run_beside_set_up(bwrap_backend: Backend) -> None:
    serve = {"run": "python3 -m http.server 8123 --bind 127.0.0.1", "ready": f"{FETCH}http://127.0.0.1:8123/"}
    recipe = shell(f"{FETCH}http://127.0.0.1:8123/notes.txt > fetched", services=[serve])
    assert (
        run(bwrap_backend, obtain_build(recipe, TREE, bwrap_backend, day=DAY), "cat fetched")[0].stdout
        == b"tracked\n\n"
    )


@pytest.mark.docker
def test_a_toolchain_that_cannot_be_had_is_named(docker_backend: Backend) -> None:
    recipe = shell("true", tools={"java": "99"})
    with pytest.raises(NotInstalled, match=r"environment\.tools: java 99 not to be had in the sandbox docker"):
        obtain_build(recipe, TREE, docker_backend, day=DAY)
