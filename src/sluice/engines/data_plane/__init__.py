"""The data plane: how bytes move between nodes that do not share a disk.

Without it all nodes read and write the same paths, which is the fast way on one machine. With it
(`TaskSpec.plane` is given) a node has only its own folder:

* **A data server on each node** (`server`), a child of the node server (`node_data`), serves the
  map output of its node: a reduce asks for its segment and gets nothing else (`exchange`,
  `client`). The segment's CRC32 is checked, what breaks is asked for again from where it broke, and
  output that is gone or damaged blames its map, so that the core runs the map again.
* **A data server of the driver** (`plane`) serves what the driver's disk has: input files by ranges
  (`ranged_file`), and files of code by the digest of their content, once per node (`code_copies`).
  Part files are sent there, into the staging folder of the job. So the commit is the same as on
  one machine, and part files survive the loss of the node that wrote them.
* **Requests are signed** (`access`) with a key that is made of the run's token. Who knows that key
  can read and write data of the run, and start nothing.

A place of map output is `sluice://HOST:PORT/data/NAME`. A data server that is started again has
another port, so that no place of before is taken for one of now.
"""
