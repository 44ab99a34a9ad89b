"""Compute the sizes of a sandbox's writable folders in memory.

They count against its memory limit. They get at most about two thirds of it together, so that files alone never use up
the memory and take the supervisor with them.
"""

from codegate.sandbox.contract import SandboxLimits


def workspace_bytes(limits: SandboxLimits) -> int:
    """Return the size limit of the workspace in bytes.

    It is also the size limit of each file.
    """
    return min(limits.disk_bytes, limits.memory_bytes // 2)


def shared_memory_bytes(limits: SandboxLimits) -> int:
    """Return the size of ``/dev/shm`` in bytes."""
    return min(16 << 20, limits.memory_bytes // 16)


def inodes(size: int) -> int:
    """Return the inode limit of a tmpfs of ``size`` bytes."""
    return max(4096, (size >> 20) * 64)
