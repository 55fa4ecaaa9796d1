"""The work that a container is to do, in one variable of its environment.

The shell that YARN writes passes variables on between double quotes, so it is JSON in base 64.
Secrets are not among it: they travel with the credentials.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from typing import Any

from sluice.engines.yarn.protobuf import BadMessage

ORDERS_VARIABLE = "SLUICE_ORDERS"
SECRET_NAME = "sluice"  # noqa: S105  # the name under which the token of the run is kept


def written(orders: Mapping[str, Any]) -> str:
    """The value of the variable."""
    return base64.b64encode(json.dumps(orders, separators=(",", ":")).encode()).decode()


def read_orders() -> dict[str, Any]:
    """The orders in this process's environment. Raises BadMessage."""
    try:
        orders = json.loads(base64.b64decode(os.environ[ORDERS_VARIABLE], validate=True))
    except (KeyError, ValueError, RecursionError) as error:
        raise BadMessage(f"{ORDERS_VARIABLE} does not say what to do: {error!r}") from error
    if not isinstance(orders, dict):
        raise BadMessage(f"{ORDERS_VARIABLE} does not say what to do: {orders!r:.40}")
    return orders


def command(python: str, module: str) -> str:
    """The shell's command that runs a module of Sluice, with its logs where YARN keeps them."""
    quoted = "'" + python.replace("'", "'\\''") + "'"
    return f"exec {quoted} -P -m {module} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"
