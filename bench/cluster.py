"""What a second node adds: the same run on Ray clusters of one and of two nodes of this machine, with one CPU each.

    python -m bench.cluster SUITE [--samples 3] [--rounds 3]

The reference fixes are graded, with a control each. Prints each round's seconds, of the whole command, and the median
of the rounds' ratios. Needs codegate-ci[ray] (`make .venv/installed-cluster`).
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ray.cluster_utils import Cluster


def timed(suite: Path, samples: int, nodes: int) -> float:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        with tempfile.TemporaryDirectory(prefix="codegate-bench-") as folder:
            command = [
                sys.executable, "-m", "codegate", "run", str(suite), "--candidate", "reference:", "--samples",
                str(samples), "--no-gate", "--sandbox", "bwrap", "--engine", "ray", "--jobs", str(nodes),
                "--out", f"{folder}/run",
            ]  # fmt: skip
            begun = time.perf_counter()
            subprocess.run(command, env={**os.environ, "RAY_ADDRESS": cluster.address}, check=True, capture_output=True)
            return time.perf_counter() - begun
    finally:
        cluster.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ratios = []
    for _ in range(options.rounds):
        one, two = (timed(options.suite, options.samples, nodes) for nodes in (1, 2))
        ratios.append(one / two)
        print(f"one node {one:.1f} s, two nodes {two:.1f} s: {one / two:.2f} times", flush=True)
    print(f"median: {statistics.median(ratios):.2f} times")


if __name__ == "__main__":
    main()
