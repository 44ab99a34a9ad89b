"""A Ray cluster of two nodes with one CPU and 2 GiB each, as a process.

It prints its address, and ``kill`` kills the second node.
"""

import sys

from ray.cluster_utils import Cluster

node = {"num_cpus": 1, "memory": 2 << 30}
cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
second = cluster.add_node(**node)
cluster.wait_for_nodes()
print(cluster.address, flush=True)  # noqa: T201
for line in sys.stdin:
    if line == "kill\n":
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)  # noqa: T201
cluster.shutdown()
