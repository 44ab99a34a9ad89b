"""Checks of commands: exit statuses, streams, caps, placeholders, environment."""

from codegate.sandbox.conformance.subject import Subject, expect, json_output, run_python
from codegate.sandbox.contract import Command, SandboxFile
from codegate.sandbox.session import ENVIRONMENT, TOOLS, WORKSPACE, variables_of


def exit_statuses(subject: Subject) -> None:
    """Check the results of exits, signals and failed starts."""
    with subject.sandbox() as sandbox:
        sandbox.put((SandboxFile("plain.txt", b"no program"),))
        for code in (0, 1, 3, 255):
            done = run_python(sandbox, f"raise SystemExit({code})")
            expect((done.exit_code, done.signal) == (code, None), f"exit code {code}", done)
        done = run_python(sandbox, "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
        expect((done.exit_code, done.signal, done.ok) == (None, 15, False), "signal 15", done)
        done = sandbox.run(Command(("no-such-program-anywhere",)))
        expect(done.exit_code == 127 and b"no-such-program" in done.stderr, "127 and a reason", done)
        done = sandbox.run(Command(("./plain.txt",)))
        expect(done.exit_code == 126 and bool(done.stderr), "126 and a reason", done)


def streams(subject: Subject) -> None:
    """Check that input, output and errors arrive complete and separate."""
    data = bytes(range(256)) * 8192
    copy = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[::-1]); sys.stderr.write('e')"
    with subject.sandbox() as sandbox:
        done = sandbox.run(Command(("{python}", "-I", "-c", copy), stdin=data, output_bytes=4 << 20))
        expect(done.stdout == data[::-1], "2 MiB back, reversed", (len(done.stdout), done.exit_code))
        expect(done.stderr == b"e" and not done.truncated, "errors apart", done.stderr)
        done = sandbox.run(Command(("true",), stdin=data))
        expect(done.ok, "a program that reads no input", done)
        done = run_python(sandbox, "import sys; sys.exit(len(sys.stdin.read()))")
        expect(done.exit_code == 0, "the end of an empty input", done)


def output_caps(subject: Subject) -> None:
    """Check that long output is cut and endless output killed."""
    write = "import os\nfor _ in range({}): os.write({}, b'x' * 65536)"
    with subject.sandbox() as sandbox:
        for descriptor in (1, 2):
            program = write.format(32, descriptor)
            done = sandbox.run(Command(("{python}", "-I", "-c", program), output_bytes=100_000))
            kept = done.stdout if descriptor == 1 else done.stderr
            expect(done.truncated and len(kept) == 100_000 and done.ok, "cut and flagged", (len(kept), done.ok))
        program = write.format(100_000, 1)
        done = sandbox.run(Command(("{python}", "-I", "-c", program), output_bytes=65536))
        expect(done.signal == 9 and done.truncated and not done.timed_out, "a flood killed", done.signal)
        expect(len(done.stdout) == 65536, "its first bytes", len(done.stdout))
        done = run_python(sandbox, "print('still here')")
        expect(done.stdout == b"still here\n" and not done.truncated, "a usable sandbox after it", done)


def background_output(subject: Subject) -> None:
    """Check that a result does not wait for background processes."""
    with subject.sandbox() as sandbox:
        done = sandbox.run(Command(("sh", "-c", "sleep 60 & echo done"), timeout_seconds=20))
    expect(done.ok and done.stdout == b"done\n" and done.wall_seconds < 5, "an end at once", done)


def records(subject: Subject) -> None:
    """Check that ``Completed.records`` is separate from output, capped and optional."""
    program = "import os, sys; fd = int(sys.argv[1]); [os.write(fd, b'r' * 65536) for _ in range(int(sys.argv[2]))]"
    with subject.sandbox() as sandbox:

        def write(count: int) -> tuple[bytes, bool, bytes]:
            argv = ("{python}", "-I", "-c", program + "; print('out')", "{records}", str(count))
            done = sandbox.run(Command(argv, records=True))
            expect(done.ok, "the writer ends well", done.stderr)
            return done.records, done.records_truncated, done.stdout

        expect(write(2) == (b"r" * 131072, False, b"out\n"), "records apart from output", "something else")
        kept, cut, _ = write(288)
        expect(len(kept) == 16 << 20 and cut, "16 MiB kept and the cut flagged", (len(kept), cut))
        done = run_python(sandbox, "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])")
        expect(done.stdout == b"[0, 1, 2]\n" and done.records == b"", "no descriptors but three", done)


def placeholders(subject: Subject) -> None:
    """Check that placeholders in ``argv`` become paths that work."""
    with subject.sandbox() as sandbox:
        done = sandbox.run(Command(("printf", "%s\n", "{tools}", "{workspace}", "x{tools}")))
        expect(done.stdout.decode().split() == [TOOLS, WORKSPACE, "x{tools}"], "places", done.stdout)
        done = sandbox.run(Command(("{python}", "-I", "-c", "import sys; print(*sys.version_info[:2], sep='.')")))
        expect(done.stdout.decode().strip() == subject.recipe.python, subject.recipe.python, done)
        done = sandbox.run(Command((f"{TOOLS}/ruff", "--version")))
        expect(done.ok and done.stdout.startswith(b"ruff "), "ruff runs", done)
        listing = "import json, os; print(json.dumps([os.path.isdir(place), os.access(place, os.W_OK)]))"
        listing = f"place = {TOOLS!r}; {listing}"
        expect(json_output(run_python(sandbox, listing)) == [True, False], "tools to read only", TOOLS)


def fixed_environment(subject: Subject) -> None:
    """Check a command's variables, current folder and user."""
    program = "import json, os; print(json.dumps([dict(os.environ), os.getcwd(), os.getuid(), os.umask(0)]))"
    with subject.sandbox() as sandbox:
        command = Command(("{python}", "-I", "-c", program), environment={"GIVEN": "hé\udcff", "TZ": "Asia/Tokyo"})
        variables, folder, user, mask = json_output(sandbox.run(command))
    path = variables.pop("PATH")
    expect("/usr/bin" in path.split(":"), "a search path", path)
    own = variables_of(subject.environment)
    own.pop("PATH", None)
    expect(variables == {**ENVIRONMENT, **own, "GIVEN": "hé\udcff", "TZ": "Asia/Tokyo"}, "the variables", variables)
    expect((folder, user, mask) == (WORKSPACE, 10001, 0o022), "workspace, user, mask", (folder, user, mask))


def accounting(subject: Subject) -> None:
    """Check that time and memory include the command's descendants."""
    burn = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\nx = bytearray({})"
    nested = "import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', sys.argv[1]])"
    with subject.sandbox() as sandbox:
        large = run_python(sandbox, nested, burn.format("64 << 20"))
        small = run_python(sandbox, "pass")
    expect(large.ok and small.ok, "both run", (large, small))
    expect(0.4 <= large.cpu_seconds < 5, "0.4 s of processor time", large.cpu_seconds)
    expect(64 << 20 < large.peak_memory_bytes < 160 << 20, "64 MiB at the peak", large.peak_memory_bytes)
    expect(small.peak_memory_bytes < 40 << 20, "a peak of its own", small.peak_memory_bytes)
    expect(small.cpu_seconds < 0.4 and large.wall_seconds >= 0.35, "times of its own", (large, small))
