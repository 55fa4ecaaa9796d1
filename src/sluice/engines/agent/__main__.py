"""The program `python -m sluice.engines.agent NODE_ID SCRATCH`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sluice.engines.agent import kernel
from sluice.engines.agent.channel import Channel
from sluice.engines.agent.node import NodeAgent


def main(node_id: str, scratch: Path) -> None:
    """Serve a node until its engine stops; commands on standard input, reports on the output."""
    kernel.adopt_orphans()
    kernel.name_process("sluice-agent")
    engine = Channel(os.dup(0), os.dup(1))
    # Nothing that is started here may read the commands or write among the reports.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        agent = NodeAgent(node_id, scratch, engine)
    except OSError as error:  # such as a full disk
        sys.exit(f"{error.filename or scratch}: {error.strerror}")
    agent.run()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
