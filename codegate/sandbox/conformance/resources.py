"""Resources: every limit bites, and the sandbox survives what hits it."""

from codegate.sandbox.conformance.subject import LIMITS, Check, Subject, answer, expect, python
from codegate.sandbox.contract import Command, SandboxLimits
from codegate.sandbox.sizes import shared_memory_bytes, temporary_bytes, workspace_bytes

_FORK = """
import json, os, signal, time
made = 0
try:
    while made < 2000:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
    reason = "none"
except OSError as error:
    reason = error.strerror
print(json.dumps([made, reason]))
"""

_FILL = """
import errno, json, os, sys
seen = {}
for folder in ("/workspace", "/tmp", "/dev/shm"):
    total, reason = 0, "none"
    try:
        for number in range(400):
            with open(f"{folder}/fill{number}", "wb", buffering=0) as file:
                for _ in range(16):
                    total += file.write(bytes(65536))
    except OSError as error:
        reason = errno.errorcode[error.errno]
    seen[folder] = [total, reason]
print(json.dumps(seen))
"""

_MANY = """
import errno, json, os
made, reason = 0, "none"
try:
    while made < 300000:
        os.mknod(f"/workspace/i{made}")
        made += 1
except OSError as error:
    reason = errno.errorcode[error.errno]
print(json.dumps([made, reason]))
"""


def memory_of_one(subject: Subject) -> None:
    """A process over the memory limit ends, it is told, and the sandbox lives on."""
    with subject.sandbox() as sandbox:
        done = python(sandbox, "x = bytearray(512 << 20); print(len(x))")
        expect(not done.ok and done.stdout == b"", "no 512 MiB within 256", done)
        expect(done.memory_exceeded or b"MemoryError" in done.stderr, "the reason", done)
        expect(done.memory_exceeded or not subject.totals, "the flag", done)
        done = python(sandbox, "print(len(bytearray(64 << 20)))")
        expect(done.ok and not done.memory_exceeded, "64 MiB afterwards", done)


def memory_of_all(subject: Subject) -> None:
    """Processes that are over the limit only together hit it too, even when their parent ends well."""
    program = """
import os, sys, time
for _ in range(6):
    if os.fork() == 0:
        x = bytearray(80 << 20)
        time.sleep(1.5)
        os._exit(0)
try:
    while True: os.wait()
except ChildProcessError:
    pass
"""
    if subject.totals:
        with subject.sandbox() as sandbox:
            done = python(sandbox, program)
        expect(done.memory_exceeded, "480 MiB in six processes noticed", done)


def memory_of_the_watcher(subject: Subject) -> None:
    """A command whose output alone uses up the memory is at fault, even if it takes the supervisor along."""
    program = "import os\nfor fd in (1, 2) * 480: os.write(fd, bytes(65536))"
    if subject.totals:
        limits = SandboxLimits(memory_bytes=64 << 20, disk_bytes=1 << 20, lifetime_seconds=60)
        with subject.sandbox(limits) as sandbox:
            done = sandbox.run(Command(("{python}", "-I", "-S", "-c", program), output_bytes=30 << 20))
        expect(done.memory_exceeded and not done.ok, "memory, and nobody else's fault", done)


def processes(subject: Subject) -> None:
    """A fork bomb stops at the limit and is gone afterwards."""
    with subject.sandbox() as sandbox:
        made, reason = answer(python(sandbox, _FORK))
        expect(made <= LIMITS.pids and "unavailable" in reason, "an end at the limit", (made, reason))
        made, _ = answer(python(sandbox, _FORK))
        expect(made >= LIMITS.pids // 2, "room again for the next command", made)


def disk(subject: Subject) -> None:
    """Every writable place is capped in bytes, all of them together below the memory limit."""
    sizes = (workspace_bytes(LIMITS), temporary_bytes(LIMITS), shared_memory_bytes(LIMITS))
    with subject.sandbox() as sandbox:
        seen = answer(python(sandbox, _FILL))
        for (folder, (total, reason)), size in zip(seen.items(), sizes, strict=True):
            expect(total <= size and reason in {"ENOSPC", "EFBIG"}, f"{folder} full at {size}", (total, reason))
        expect(sandbox.run(Command(("true",))).ok, "a usable sandbox with a full disk", "none")
        done = python(sandbox, "open('/tmp/one', 'wb')")
        expect(not done.memory_exceeded, "no memory trouble from files", done)


def file_count(subject: Subject) -> None:
    """Empty files are bounded as well: by number, or by the memory that they take."""
    if subject.totals:
        with subject.sandbox() as sandbox:
            done = python(sandbox, _MANY, timeout=60)
            if not done.memory_exceeded:
                made, reason = answer(done)
                expect(made < 300_000 and reason in {"ENOSPC", "ENOMEM"}, "an end", (made, reason))


def descriptors_and_cores(subject: Subject) -> None:
    """Descriptors are bounded, and no core is ever dumped."""
    program = """
import json, os, resource
opened = 0
try:
    while opened < 100000:
        os.open("/dev/null", os.O_RDONLY)
        opened += 1
except OSError:
    pass
print(json.dumps([opened, resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE)]))
"""
    opened, core, files = subject.probe(program)
    expect(opened < LIMITS.open_files and files == [LIMITS.open_files] * 2, "a bound", (opened, files))
    expect(core == [0, 0], "no cores", core)
    with subject.sandbox() as sandbox:
        done = python(sandbox, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
        expect(done.signal == 11, "a crash", done)
        expect(sandbox.run(Command(("ls", "-A"))).stdout == b"", "nothing left by it", "a file")


CHECKS: tuple[Check, ...] = (
    memory_of_one,
    memory_of_all,
    memory_of_the_watcher,
    processes,
    disk,
    file_count,
    descriptors_and_cores,
)
