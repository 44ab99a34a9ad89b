"""What a second node adds: the same run on Ray clusters of one and of two nodes of this machine, with one CPU each.

    python -m bench.cluster SUITE [--samples 3] [--rounds 3]

The reference fixes are graded, with a control each. Prints each round's seconds and the medians of the rounds' ratios:
from the first outcome to the last, and of the whole command, which starts Ray's processes and sandboxes on each node.
Needs codegate-ci[ray] (`make .venv/installed-cluster`).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from ray.cluster_utils import Cluster


def timed(suite: Path, samples: int, nodes: int) -> tuple[float, float]:
    """Return the seconds from the first outcome to the last, for each after the first, and those of the command."""
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
            whole = time.perf_counter() - begun
            lines = Path(folder, "run", "outcomes.jsonl").read_text().splitlines()
            ends = [datetime.fromisoformat(json.loads(line)["finished"]) for line in lines]
            return (max(ends) - min(ends)).total_seconds() / (len(ends) - 1), whole
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
        ratios.append((one[0] / two[0], one[1] / two[1]))
        print(
            f"one node {one[0]:.2f} s an outcome, {one[1]:.1f} s in all; two nodes {two[0]:.2f} s, {two[1]:.1f} s: "
            f"{ratios[-1][0]:.2f} and {ratios[-1][1]:.2f} times", flush=True,
        )  # fmt: skip
    print(f"medians: {' and '.join(f'{statistics.median(each):.2f}' for each in zip(*ratios, strict=True))} times")


if __name__ == "__main__":
    main()
