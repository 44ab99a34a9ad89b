"""Checks of recorded builds and of the sandboxes on them."""

import contextlib
import dataclasses
import hashlib
import os
import secrets
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from codegate.durable import sha256_of
from codegate.sandbox.conformance.preflight import preflight
from codegate.sandbox.conformance.subject import LIMITS, Subject, expect, expect_error, json_output, run_python
from codegate.sandbox.contract import (
    BuildSandbox,
    Command,
    EnvironmentRecipe,
    Layer,
    Sandbox,
    SandboxError,
    SandboxFile,
)
from codegate.sandbox.relay import RELAY_PORT, Relay

BUILD_LIMITS: Final = dataclasses.replace(LIMITS, memory_bytes=512 << 20, disk_bytes=128 << 20)
_TRACKED: Final = (SandboxFile("setup.txt", b"tracked\n"), SandboxFile("src/app.py", b"print('first')\n"))
_VARIABLES: Final = (("HOME", "/opt/env/home"), ("PATH", "/opt/env/venv/bin:/usr/bin:/bin"), ("GIVEN", "layer"))
_VENV: Final = "/opt/env/venv"

_SETUP: Final = """
import os
def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    os.utime(path, (1_000_000_000.5, 1_000_000_000.5))
write("/workspace/setup.txt", "overwritten")
write("/workspace/src/generated.py", "made")
write("/workspace/build/tool", "#!/bin/sh\\necho ran\\n", 0o755)
write("/workspace/build/closed", "secret", 0o000)
write("/workspace/build/l\\xe4nge/" + "n" * 200, "long")
write("/opt/env/home/.config/own", "kept", 0o600)
write("/opt/env/cache/downloads", "left out")
write("/opt/env/tmp/scratch", "left out")
os.makedirs("/workspace/data/empty")
os.makedirs("/workspace/sealed/inner"); os.chmod("/workspace/sealed", 0o555)
os.symlink("/etc/shadow", "/workspace/outside")
os.symlink("build/tool", "/workspace/near")
os.link("/workspace/build/tool", "/workspace/same")
os.mkfifo("/workspace/pipe")
"""

_LOOK: Final = """
import hashlib, json, os, stat
def look(path):
    status = os.lstat(path)
    kind = "link" if stat.S_ISLNK(status.st_mode) else "folder" if stat.S_ISDIR(status.st_mode) else "file"
    text = os.readlink(path) if kind == "link" else oct(stat.S_IMODE(status.st_mode))
    return [kind, text, int(status.st_mtime) if kind == "file" else 0]
found = {}
for root in ("/opt/env/home", "/workspace"):
    for place, folders, names in os.walk(root):
        for name in folders + names:
            path = os.path.join(place, name)
            found[path] = look(path)
print(json.dumps(found))
"""

_SEEN: Final[Mapping[str, list[object]]] = {
    "/opt/env/home/.config": ["folder", "0o755", 0],
    "/opt/env/home/.config/own": ["file", "0o600", 1_000_000_000],
    "/workspace/build": ["folder", "0o755", 0],
    "/workspace/build/closed": ["file", "0o0", 1_000_000_000],
    "/workspace/build/l\xe4nge": ["folder", "0o755", 0],
    "/workspace/build/l\xe4nge/" + "n" * 200: ["file", "0o644", 1_000_000_000],
    "/workspace/build/tool": ["file", "0o755", 1_000_000_000],
    "/workspace/data": ["folder", "0o755", 0],
    "/workspace/data/empty": ["folder", "0o755", 0],
    "/workspace/near": ["link", "build/tool", 0],
    "/workspace/outside": ["link", "/etc/shadow", 0],
    "/workspace/same": ["file", "0o755", 1_000_000_000],
    "/workspace/sealed": ["folder", "0o555", 0],
    "/workspace/sealed/inner": ["folder", "0o755", 0],
    "/workspace/src": ["folder", "0o755", 0],
    "/workspace/src/generated.py": ["file", "0o644", 1_000_000_000],
}


def open_build(subject: Subject, layer: Layer | None = None) -> contextlib.closing[BuildSandbox]:
    """Return a build sandbox; it continues ``layer``, if given."""
    recipe = EnvironmentRecipe(subject.recipe.python, layer=layer)
    return contextlib.closing(subject.backend.open_build(recipe, BUILD_LIMITS))


@contextlib.contextmanager
def build_layer(subject: Subject, program: str, layer: Layer | None = None) -> Iterator[Layer]:
    """Run a Python program as a build; yield its layer.

    ``layer`` is an earlier build to continue; None: a new one.
    """
    with tempfile.TemporaryDirectory(prefix="codegate-layer-") as folder, open_build(subject, layer) as sandbox:
        sandbox.put(_TRACKED)
        if layer is None:
            done = sandbox.run(Command(("/opt/env/bin/uv", "venv", "--offline", "--python", "{python}", _VENV)))
            expect(done.ok, "uv makes a virtual environment", done)
        done = run_python(sandbox, f"import os; os.unlink('/opt/env/bin/uv')\n{program}")  # uv makes layers large
        expect(done.ok, "set-up runs", done)
        archive = Path(folder, "layer.tar")
        sha256 = sandbox.freeze({file.path for file in _TRACKED}, archive)
        sandbox.close()
        yield Layer(sha256, archive, _VARIABLES, f"{_VENV}/bin/python")


@contextlib.contextmanager
def open_on_layer(subject: Subject, layer: Layer) -> Iterator[Sandbox]:
    """Yield a sandbox with ``layer`` and the tracked files."""
    with contextlib.closing(subject.backend.open(_prepared(subject, layer), BUILD_LIMITS)) as sandbox:
        sandbox.put(_TRACKED)
        yield sandbox


def _prepared(subject: Subject, layer: Layer) -> Any:
    return subject.backend.prepare(EnvironmentRecipe(subject.recipe.python, layer=layer))


def build_folders(subject: Subject) -> None:
    """Check that a build can write only its own folders."""
    program = """
import json, os, sys
print(json.dumps([os.getuid(), [place for place in sys.argv[1:] if os.access(place, os.W_OK)]]))
"""
    own = ["/opt/env", "/opt/env/home", "/opt/env/cache", "/opt/env/tmp", "/workspace", "/tmp"]  # noqa: S108
    with open_build(subject) as sandbox:
        user, places = json_output(run_python(sandbox, program, *own, "/", "/usr", "/etc", "/opt"))
        done = sandbox.run(Command(("/opt/env/bin/uv", "--version")))
    expect((user, places) == (10001, own), "its own folders", (user, places))
    expect(done.ok, "uv runs", done)


def build_network(subject: Subject) -> None:
    """Check that a build reaches its relay and nothing else."""
    program = f"""
import json, os, socket, sys
def reached(*place):
    try:
        socket.create_connection(place, 2).close()
    except OSError:
        return False
    return True
places = (("127.0.0.1", {RELAY_PORT}), ("192.0.2.1", 80), ("8.8.8.8", 53), ("169.254.169.254", 80))
print(json.dumps([[reached(*place) for place in places], os.path.exists(sys.argv[1]), sys.argv[2] in os.environ]))
"""
    name = "CODEGATE_CONFORMANCE_SECRET"
    os.environ[name] = secrets.token_hex(16)
    try:
        with (
            contextlib.closing(Relay({RELAY_PORT: lambda end: end.sendall(b"x")})) as relay,
            tempfile.NamedTemporaryFile(prefix="codegate-canary-") as canary,
            open_build(subject) as sandbox,
        ):
            argv = ("{python}", "-I", "-c", program, canary.name, name)
            seen = json_output(sandbox.run(Command(argv, relay=relay)))
    finally:
        del os.environ[name]
    expect(seen == [[True, False, False, False], False, False], "the relay alone", seen)


def build_disk(subject: Subject) -> None:
    """Check that a build over its disk limit is ended."""
    fill = """
import time
for number in range(100_000):
    with open(f"/workspace/{number}", "wb") as file:
        file.write(bytes(1 << 20))
"""
    with open_build(subject) as sandbox:
        done = run_python(sandbox, fill, timeout=100)
    expect(not done.ok and b"written to disk" in done.stderr, "the reason", done)


def frozen_build(subject: Subject) -> None:
    """Check that a build's archive has every untracked workspace path."""
    with build_layer(subject, _SETUP) as layer:
        expect(sha256_of(layer.archive) == layer.sha256, "its own SHA-256", layer.sha256)
        with tarfile.open(layer.archive) as archive:
            members = {member.name: member for member in archive}
    tree = {name.partition("/")[2] for name in members if name.startswith("tree/")}
    wanted = {path.removeprefix("/workspace/") for path in _SEEN if path.startswith("/workspace/")}
    expect(tree == wanted, "what is beside the tracked files", sorted(tree ^ wanted))
    left_out = [name for name in members if name.startswith(("env/cache/", "env/tmp/", "env/bin/"))]
    expect(left_out == [], "no caches, no scratch files", left_out)
    same = {members[f"tree/{name}"].type for name in ("build/tool", "same")}
    expect(same == {tarfile.REGTYPE, tarfile.LNKTYPE}, "one file with two names", same)
    owners = {(member.uid, member.gid, member.uname, member.gname) for member in members.values()}
    expect(owners == {(0, 0, "", "")}, "no owners", owners)


def layer_files(subject: Subject) -> None:
    """Check that a sandbox has all files of its build."""
    with build_layer(subject, _SETUP) as layer, open_on_layer(subject, layer) as sandbox:
        seen = json_output(run_python(sandbox, _LOOK))
        ran = sandbox.run(
            Command(("sh", "-c", "near=$(./near) && same=$(./same) && echo $near $same $(cat setup.txt)"))
        )
        told = sandbox.run(Command(("sh", "-c", "echo $GIVEN $HOME $OWN"), environment={"GIVEN": "own", "OWN": "too"}))
        own = sandbox.run(Command(("{interpreter}", "-c", "import sys; print(sys.prefix)")))
        found = sandbox.run(Command(("python", "-c", "import sys; print(sys.prefix)")))
    for file in _TRACKED:
        expect(seen.pop(f"/workspace/{file.path}", [""])[0] == "file", f"{file.path} as put", seen)
    expect(seen == _SEEN, "what the build left", _difference(seen))
    expect(ran.stdout == b"ran ran tracked\n", "files and links that work", ran)
    expect(told.stdout == b"own /opt/env/home too\n", "variables, the command's own first", told)
    expect(own.stdout.decode().strip() == _VENV, "the project's interpreter", own)
    expect(found.stdout.decode().strip() == _VENV, "the same on the search path", found)


def _difference(seen: Mapping[str, object]) -> object:
    return {path: seen.get(path) for path in {*seen, *_SEEN} if seen.get(path) != _SEEN.get(path)}


def fresh_views(subject: Subject) -> None:
    """Check that a sandbox's changes never reach another sandbox."""
    spoil = """
import os, shutil
for path in ("/workspace/build/tool", "/opt/env/home/.config/own"):
    with open(path, "a") as file:
        file.write("spoilt")
os.chmod("/workspace/build/closed", 0o600); shutil.rmtree("/workspace/data"); os.unlink("/workspace/near")
shutil.move("/workspace/build", "/workspace/moved")  # an overlay renames no folder of what is below
os.chmod("/workspace/sealed", 0o755); os.rmdir("/workspace/sealed/inner")
with open("/opt/env/venv/bin/added", "w") as file: file.write("added")
with open("/opt/env/tmp/added", "w") as file: file.write("added")
shutil.rmtree("/opt/env/home"); os.mkdir("/opt/env/home")
"""
    with build_layer(subject, _SETUP) as layer:
        for _ in range(2):
            with open_on_layer(subject, layer) as sandbox:
                seen = json_output(run_python(sandbox, _LOOK))
                added = sandbox.run(Command(("ls", "/opt/env/venv/bin/added", "/opt/env/tmp/added")))
                tool = sandbox.run(Command(("cat", "build/tool", "/opt/env/home/.config/own"))).stdout
                done = run_python(sandbox, spoil)
            left = [path for path in _SEEN if path not in seen]
            expect(done.ok, "all of it writable", done)
            expect(left == [] and b"spoilt" not in tool and added.stdout == b"", "a fresh view", (left, tool, added))


def hidden_other_layers(subject: Subject) -> None:
    """Check that a sandbox sees no other layer's files."""
    mark = secrets.token_hex(8)
    program = f"open('/workspace/{mark}', 'w').write('x'); open('/opt/env/{mark}', 'w').write('x')"
    search = """
import json, os, sys
found = []
for place, folders, names in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(place, name) not in ("/proc", "/sys", "/usr")]
    found += [os.path.join(place, name) for name in folders + names if sys.argv[1] in name]
print(json.dumps(sorted(found)))
"""
    with build_layer(subject, program) as other, build_layer(subject, "pass") as layer:
        with open_on_layer(subject, other) as sandbox:
            own = json_output(run_python(sandbox, search, mark))
        with open_on_layer(subject, layer) as sandbox:
            seen = json_output(run_python(sandbox, search, mark))
    expect(own == [f"/opt/env/{mark}", f"/workspace/{mark}"], "a layer's own files", own)
    expect(seen == [], "nothing of another layer", seen)


def continued_build(subject: Subject) -> None:
    """Check that a continued build keeps the earlier build's files."""
    more = """
import os
assert "GIVEN" not in os.environ, "the layer's variables are those of its tests"
os.unlink("/workspace/near")
os.mkdir("/workspace/later")
open("/opt/env/more", "w").write("x")
"""
    with (
        build_layer(subject, _SETUP) as layer,
        build_layer(subject, more, layer) as further,
        open_on_layer(subject, further) as sandbox,
    ):
        seen = json_output(run_python(sandbox, _LOOK))
        done = sandbox.run(Command(("sh", "-c", "cat /opt/env/more && ls -d near")))
    lost = [path for path in _SEEN if path not in seen]
    expect(lost == ["/workspace/near"] and "/workspace/later" in seen, "the old and the new", lost)
    expect(done.stdout == b"x", "the new in /opt/env", done)


def refused_archives(subject: Subject) -> None:
    """Check that changed and hostile archives write nothing."""
    with build_layer(subject, "pass") as layer, tempfile.TemporaryDirectory() as name:
        changed = Path(name, "changed.tar")
        data = bytearray(layer.archive.read_bytes())
        data[len(data) // 2] ^= 1
        changed.write_bytes(data)
        _expect_refused(subject, dataclasses.replace(layer, archive=changed, sha256=hashlib.sha256(b"").hexdigest()))
        outside = Path(name, "outside")
        outside.mkdir()
        for number, (link, path) in enumerate(
            (("env/out", "env/out/file"), ("env", "env/file"), ("", f"{outside}/file"), ("", "env/../../file"))
        ):
            archive = Path(name, f"{number}.tar")
            with tarfile.open(archive, "w") as tar:
                for member, kind, target in ((link, tarfile.SYMTYPE, str(outside)), (path, tarfile.REGTYPE, "")):
                    if member:
                        info = tarfile.TarInfo(member)
                        info.type, info.linkname = kind, target
                        tar.addfile(info)
            sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
            _expect_refused(subject, Layer(sha256, archive))
        expect(not any(outside.iterdir()), "nothing outside", list(outside.iterdir()))


def _expect_refused(subject: Subject, layer: Layer) -> None:
    what = f"{layer.archive.name} refused"
    expect_error(SandboxError, lambda: subject.backend.open(_prepared(subject, layer), LIMITS).close(), what)


def preflight_on_layer(subject: Subject) -> None:
    """Check that sandboxes of recorded builds pass the preflight."""
    with build_layer(subject, "pass") as layer:
        preflight(subject.backend, _prepared(subject, layer))
