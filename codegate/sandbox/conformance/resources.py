"""Checks that the sandbox survives commands that hit its limits."""

from codegate.sandbox.conformance.subject import Subject, expect, run_python
from codegate.sandbox.contract import Command, SandboxLimits


def memory_of_one(subject: Subject) -> None:
    """Check that only the process over the memory limit ends."""
    with subject.sandbox() as sandbox:
        done = run_python(sandbox, "x = bytearray(512 << 20); print(len(x))")
        expect(not done.ok and done.stdout == b"", "no 512 MiB within 256", done)
        expect(done.memory_exceeded or b"MemoryError" in done.stderr, "the reason", done)
        expect(done.memory_exceeded or not subject.backend.describe().totals, "the flag", done)
        done = run_python(sandbox, "print(len(bytearray(64 << 20)))")
        expect(done.ok and not done.memory_exceeded, "64 MiB afterwards", done)


def captured_output_memory(subject: Subject) -> None:
    """Check that captured output counts as the command's memory."""
    program = "import os\nfor fd in (1, 2) * 480: os.write(fd, bytes(65536))"
    if subject.backend.describe().totals:
        limits = SandboxLimits(memory_bytes=64 << 20, disk_bytes=1 << 20, lifetime_seconds=60)
        with subject.sandbox(limits) as sandbox:
            done = sandbox.run(Command(("{python}", "-I", "-S", "-c", program), output_bytes=30 << 20))
        expect(done.memory_exceeded and not done.ok, "memory, and nobody else's fault", done)


def full_disk(subject: Subject) -> None:
    """Check that a sandbox stays usable with a full disk.

    The next command is not reported as out of memory. Without a disk limit, the sandbox ends and the result gives the
    reason.
    """
    fill = "file = open('/workspace/fill', 'wb', buffering=0)\nwhile True: file.write(bytes(65536))"
    with subject.sandbox() as sandbox:
        done = run_python(sandbox, fill)
        if b"written to disk" in done.stderr:  # a disk without a limit: then the sandbox ends
            return
        expect(b"No space left" in done.stderr or b"File too large" in done.stderr, "a full disk", done)
        done = run_python(sandbox, "open('/tmp/one', 'wb')")
        expect(done.ok and not done.memory_exceeded, "a usable sandbox", done)


def crashes(subject: Subject) -> None:
    """Check that a crash is reported and leaves nothing behind."""
    with subject.sandbox() as sandbox:
        done = run_python(sandbox, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
        expect(done.signal == 11, "a crash", done)
        expect(sandbox.run(Command(("ls", "-A"))).stdout == b"", "nothing left by it", "a file")
