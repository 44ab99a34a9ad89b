"""Every figure of docs/performance.md, measured here, one after the other: `make bench`, about twenty minutes.

    python -m bench [--rounds 5]

Nothing else should run on the machine. What costs money, needs another machine or needs Ray (`python -m bench.cluster`)
is not here.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.history import build_history
from codegate.mining import MineRequest, mine_repository
from codegate.sandbox import select_backend


def main() -> None:
    """Measure everything and print it as it comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", default="5")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="codegate-bench-") as folder:
        suite = Path(folder) / "suite"
        backend = select_backend("bwrap", "bench")
        mine_repository(build_history(Path(folder) / "small", 20), suite, MineRequest(jobs=2), backend, lambda _: None)
        backend.close()
        widths = ["--sandbox", "bwrap", "docker", "--jobs", "1", "2", "4"]
        for title, *command in (
            ("Grading", "grading", str(suite), *widths, "--rounds", rounds),
            ("Sandboxes", "sandboxes", "--sandbox", "bwrap", "docker", "--rounds", rounds),
            ("Mining", "mining_speed"),
            ("Engine, by replayed answers", "engine", str(suite), "--outcomes", "10000"),
            ("Gateway, by calls", "gateway"),
            ("HTML report", "report_page"),
            ("Start-up", "startup"),
        ):
            print(f"\n## {title}\n", flush=True)
            subprocess.run([sys.executable, "-m", f"bench.{command[0]}", *command[1:]], check=True)


if __name__ == "__main__":
    main()
