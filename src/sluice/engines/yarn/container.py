"""The program that runs in the container of a node: `python -m sluice.engines.yarn.container`.

It starts the node server of this node, says to the ApplicationMaster where it listens, and stays
until the node server has ended. The node server ends itself when its driver has ended the agent, as
for a node that YARN counts as lost, or is gone for good.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from sluice.engines.agent import kernel
from sluice.engines.cluster.handshake import token_key
from sluice.engines.cluster.node_servers import NodeServerProcess
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.cluster.wire import BrokenConnection
from sluice.engines.yarn.credentials import own_credentials
from sluice.engines.yarn.orders import ORDERS_VARIABLE, SECRET_NAME, read_orders
from sluice.engines.yarn.peers import CONTAINER, MasterLink
from sluice.engines.yarn.protobuf import BadMessage

ANNOUNCE_S = 60.0  # to reach the ApplicationMaster, which alone knows of this container
TRY_AGAIN_S = 0.5
_OF_YARN = (ORDERS_VARIABLE, "HADOOP_TOKEN_FILE_LOCATION")


def serve(orders: dict[str, Any], token: str) -> int:
    """Start the node server and wait for its end; returns the code to exit with."""
    name = os.environ.get("CONTAINER_ID", "")
    host, port = orders["master"]
    link = _link((host, port), token, name)
    settings = ServerSettings(
        token=token,
        scratch=str(Path.cwd() / "scratch"),
        host=link.own_host,
        data_host=link.own_host,
        ends_with_agent=True,  # another agent gets another container; a lost node ends none
        **orders["settings"],
    )
    env = {key: value for key, value in os.environ.items() if key not in _OF_YARN}
    server = NodeServerProcess(settings, env)
    signal.signal(signal.SIGTERM, lambda *_: server.ask_to_end())
    link.send({"serving": name, "address": server.address})
    link.close()
    why = server.wait()
    sys.stderr.write(f"{why}\n")
    return 0 if why.startswith("its node server ended: exit code 0") else 1


def _link(address: tuple[str, int], token: str, name: str) -> MasterLink:
    give_up_at_s = time.monotonic() + ANNOUNCE_S
    while True:
        try:
            return MasterLink(address, token_key(token), CONTAINER + name)
        except (OSError, BrokenConnection):
            if time.monotonic() > give_up_at_s:
                raise
            time.sleep(TRY_AGAIN_S)


def main() -> None:
    """Serve as the environment of the container says."""
    kernel.name_process("sluice-yarn-nd")
    try:
        token = own_credentials().secrets[SECRET_NAME].decode()
        code = serve(read_orders(), token)
    except (OSError, KeyError, BadMessage, BrokenConnection) as error:
        sys.stderr.write(f"cannot serve: {error!r}\n")
        code = 2
    sys.exit(code)


if __name__ == "__main__":
    main()
