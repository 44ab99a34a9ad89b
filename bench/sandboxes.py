"""What a sandbox itself costs: its start, 5,000 files of 30 MB put into it, and its end.

    python -m bench.sandboxes [--sandbox bwrap docker] [--rounds 5]

Prints medians. The end is the time that ``close`` takes to return, and that ``Backend.close`` takes until everything is
gone. In brackets: the files written to the same machine's memory file system by plain calls, as a floor.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from codegate.sandbox import EnvironmentRecipe, SandboxFile, SandboxLimits, select_backend
from tests.kit.layer import make_layer

FILES = tuple(SandboxFile(f"src/p{n % 50}/m{n}.py", b"x = %5d\n" % n * 600) for n in range(5000))
LIMITS = SandboxLimits(disk_bytes=1 << 30)


def timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - begun)


def write_plainly() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for number in range(50):
            Path(folder, "src", f"p{number}").mkdir(parents=True)
        for file in FILES:
            Path(folder, file.path).write_bytes(file.data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sandbox", nargs="+", default=["bwrap"])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    layer = make_layer(Path(tempfile.mkdtemp()))
    for name in options.sandbox:
        found: dict[str, list[float]] = {"start": [], "put": [], "close": [], "gone": [], "floor": []}
        for _ in range(options.rounds):
            backend = select_backend(name, "bench")
            environment = backend.prepare(EnvironmentRecipe("3.11", layer=layer))
            begun = time.perf_counter()
            sandbox = backend.open(environment, LIMITS)
            found["start"].append(1000 * (time.perf_counter() - begun))
            found["put"].append(timed(lambda: sandbox.put(FILES)))  # noqa: B023 - called at once
            found["close"].append(timed(sandbox.close))
            found["gone"].append(timed(backend.close))
            found["floor"].append(timed(write_plainly))
        start, put, close, gone, floor = (statistics.median(values) for values in found.values())
        print(
            f"{name}: start {start:.0f} ms, 5,000 files {put:.0f} ms (plain {floor:.0f} ms), "
            f"close {close:.1f} ms, gone after {gone:.0f} ms more"
        )


if __name__ == "__main__":
    main()
