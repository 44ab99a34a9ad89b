"""Checks that files arrive unchanged, and only in the workspace."""

import json
from hashlib import sha256

from codegate.sandbox.conformance.subject import LIMITS, Subject, expect, expect_error, json_output, run_python
from codegate.sandbox.contract import Command, FilesRefused, Sandbox, SandboxFile

_LIST = """
import hashlib, json, os
seen = {}
for folder, folders, names in os.walk(b"."):
    for name in names + [one for one in folders if os.path.islink(os.path.join(folder, one))]:
        path = os.path.join(folder, name)
        key = path[2:].decode("utf-8", "surrogateescape")
        if os.path.islink(path):
            seen[key] = ["link", os.readlink(path).decode("utf-8", "surrogateescape")]
        else:
            data = open(path, "rb").read()
            seen[key] = [oct(os.stat(path).st_mode), len(data), hashlib.sha256(data).hexdigest()]
print(json.dumps(seen))
"""


def faithful_files(subject: Subject) -> None:
    """Check that bytes, names, executable bits and links arrive unchanged."""
    large = bytes(range(251)) * 40_000
    files = (
        SandboxFile("empty", b""),
        SandboxFile("binary.bin", bytes(range(256))),
        SandboxFile("large.bin", large),
        SandboxFile("tool.sh", b"#!/bin/sh\necho ran\n", "100755"),
        SandboxFile("pakett/déjà vu/日本 語.py", "x = 'ü'\n".encode()),
        SandboxFile("odd/\udcff\udcfe name", b"undecodable"),
        SandboxFile("odd/-rf * $HOME;'\"`\ttab", b"shell"),
        SandboxFile("/".join(["deep"] * 60), b"deep"),
        SandboxFile("n" * 255, b"long name"),
        SandboxFile("links/near", b"../tool.sh", "120000"),
        SandboxFile("links/dangling", b"nowhere/at/all", "120000"),
    )
    with subject.sandbox() as sandbox:
        sandbox.put(files)
        seen = json_output(sandbox.run(Command(("{python}", "-I", "-c", _LIST))))
        for file in files:
            if file.mode == "120000":
                expected: list[object] = ["link", file.data.decode()]
            else:
                mode = "0o100755" if file.mode == "100755" else "0o100644"
                expected = [mode, len(file.data), sha256(file.data).hexdigest()]
            expect(seen.pop(file.path, None) == expected, f"{file.path!a} as sent", "something else")
        expect(seen == {}, "no other file", list(seen))
        expect(sandbox.run(Command(("links/near",))).stdout == b"ran\n", "a script runs through a link", "no")


def replacing(subject: Subject) -> None:
    """Check that later files replace earlier ones, links included."""
    with subject.sandbox() as sandbox:
        sandbox.put((SandboxFile("a", b"long old content", "100755"), SandboxFile("target", b"kept")))
        run_python(sandbox, "import os; os.symlink('target', 'planted'); os.mkfifo('pipe')")
        sandbox.put((SandboxFile("a", b"new"), SandboxFile("planted", b"over"), SandboxFile("pipe", b"file")))
        done = sandbox.run(Command(("sh", "-c", "cat a target planted pipe; test -x a || test -L planted || echo .")))
        expect(done.stdout == b"newkeptoverfile.\n", "replaced, not followed", done)
        sandbox.put((SandboxFile("a", b"target", "120000"),))
        expect(sandbox.run(Command(("cat", "a"))).stdout == b"kept", "a file replaced by a link", "no")


def refused_names(subject: Subject) -> None:
    """Check that names and links outside the workspace are refused."""
    names = ("../out", "/out", "a/../../out", "a/./b", "a//b", "", ".", "..", "a/", "nul\0byte", "\ud800")
    links = (b"/etc/passwd", b"../out", b"a/../../out", b"", b"nul\0")
    with subject.sandbox() as sandbox:
        for name in names:
            _expect_refused(sandbox, SandboxFile(name, b"x"))
        for target in links:
            _expect_refused(sandbox, SandboxFile("link", target, "120000"))
        _expect_refused(sandbox, SandboxFile("folder/link", b"../../out", "120000"))
        run_python(sandbox, "import os; os.symlink('/tmp', 'outside'); os.mkdir('taken'); open('file', 'w').close()")
        for name in ("outside/stolen", "taken", "file/below", "n" * 256):
            _expect_refused(sandbox, SandboxFile(name, b"x"))
        seen = json_output(
            run_python(sandbox, "import json, os; print(json.dumps([os.listdir('/tmp'), os.listdir('.')]))")
        )
    expect(seen[0] == ["home"], "nothing outside the workspace", seen[0])
    expect(set(seen[1]) <= {"a", "folder", "outside", "taken", "file", "nul"}, "nothing odd inside", seen[1])


def many_files(subject: Subject) -> None:
    """Check that a sandbox takes thousands of files.

    Files larger than the disk are refused. Where the disk has no limit, they end the sandbox.
    """
    files = tuple(SandboxFile(f"many/{n % 50}/{n}.txt", str(n).encode()) for n in range(3000))
    count = "import json, os; print(json.dumps(sum(len(names) for _, _, names in os.walk('many'))))"
    with subject.sandbox() as sandbox:
        sandbox.put(files)
        expect(json_output(run_python(sandbox, count)) == len(files), "3000 files", "fewer")
        try:
            sandbox.put((SandboxFile("huge", b"\0" * (LIMITS.disk_bytes + (1 << 20))),))
        except FilesRefused:
            pass
        else:  # a disk without a limit: then the sandbox ends
            done = sandbox.run(Command(("true",)))
            expect(b"written to disk" in done.stderr, "a sandbox that ends", done)
            return
        expect(sandbox.run(Command(("sh", "-c", "rm huge; cat many/1/1.txt"))).stdout == b"1", "life goes on", "no")


def _expect_refused(sandbox: Sandbox, file: SandboxFile) -> None:
    what = f"{json.dumps([file.path[:60], file.data[:20].decode()])} refused"
    expect_error(FilesRefused, lambda: sandbox.put((file,)), what)
