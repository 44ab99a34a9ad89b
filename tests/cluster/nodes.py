"""A Ray cluster of two nodes with one CPU each, as a process: it prints its address, and ``kill`` kills the second."""

import sys

from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
second = cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
print(cluster.address, flush=True)  # noqa: T201
for line in sys.stdin:
    if line == "kill\n":
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)  # noqa: T201
cluster.shutdown()
