"""Nodes of a YARN cluster. YARN grants one container on each node; our node server runs in it.

YARN runs no task of its own for us: the driver speaks with the node servers itself
(`engines/cluster`), and one scheduler decides what runs inside of the granted containers. No
program or library of Hadoop is needed on the driver's machine or in the containers, only Python
with Sluice on each node. The parts:

* **The driver submits** an application by REST (`rest`), and keeps its id in the run's folder
  (`application`). The token of the run travels as a secret of the application's credentials.
* **The ApplicationMaster** (`master`) runs in the first container. It speaks Hadoop RPC
  (`hadoop_rpc`, `protobuf`, `digest_md5`, `credentials`, `protocols`), asks for one container on
  each node that the driver names, and starts a node server in it (`container`). It says where node
  servers listen, and which containers and nodes are gone.
* **Each may die.** Without an ApplicationMaster the run goes on: YARN starts another one, which
  takes over the containers that the driver knows. Without a driver all goes on for `reattach_s`.
  Node servers that have lost their driver end themselves.

Source: the YARN spec, sections 1, 4 and 8. Not built: Kerberos, `hadoop.rpc.protection` other than
authentication, and ResourceManagers in a pair.
"""
