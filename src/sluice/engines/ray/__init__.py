"""Nodes of a Ray cluster. Ray says which nodes there are and starts a node server on each.

Ray runs no attempt: the driver speaks with the node servers itself (`engines/cluster`), and one
scheduler decides. The parts:

* **The bridge** (`bridge`) is a process of its own that uses Ray, so that neither a head node that
  hangs nor Ray's threads and signal handlers can disturb the driver. It reports to the driver
  which nodes there are (`launcher`), and keeps an agent actor on each node.
* **The agent actor** (`agent_actor`) is pinned to its node, takes the node's processors, so that
  Ray places nothing else there, and starts a node server. Ray restarts and retries nothing.
* **An embedded cluster** (`embedded_cluster`) is started by the bridge where no address is given:
  a head without processors, and a raylet for each node, all on this machine.
* The bridge outlives a driver that crashed, for a grace time, and so do the actors. A resumed run
  finds them again by what is in its state folder (`bridge_process`).
"""
