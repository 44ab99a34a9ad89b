"""How large the writable parts of a sandbox are.

They live in memory and count against its limit. So that files alone can never use it up and take the
supervisor with them, they get at most about two thirds of it between them.
"""

from typing import Final

from codegate.sandbox.contract import SandboxLimits

INODES_PER_MEGABYTE: Final = 64
LEAST_INODES: Final = 4096


def workspace_bytes(limits: SandboxLimits) -> int:
    """Return the size of the workspace, which is also the largest file: ``disk_bytes``, or half the memory."""
    return min(limits.disk_bytes, limits.memory_bytes // 2)


def shared_memory_bytes(limits: SandboxLimits) -> int:
    """Return the size of ``/dev/shm``: 16 MiB, or a sixteenth of the memory."""
    return min(16 << 20, limits.memory_bytes // 16)


def inodes(size: int) -> int:
    """Return how many files a file system of ``size`` bytes may hold."""
    return max(LEAST_INODES, (size >> 20) * INODES_PER_MEGABYTE)
