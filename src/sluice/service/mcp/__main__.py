"""`python -m sluice.service.mcp`: tools for an agent that speaks over stdin and stdout."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from sluice.model.errors import SluiceError
from sluice.service.mcp.answers import Answer
from sluice.service.mcp.server import ToolServer
from sluice.service.mcp.tools import READS, Changes


def made_server() -> ToolServer:
    """The server with all tools."""
    server = ToolServer()
    for tool in READS:
        server.tool(annotations=ToolAnnotations(read_only_hint=True))(_in_thread(tool))
    changes = Changes()
    for change in (changes.submit, changes.kill):
        annotations = ToolAnnotations(read_only_hint=False, destructive_hint=True)
        server.tool(annotations=annotations)(_in_thread(change))
    return server


def _in_thread(tool: Callable[..., Answer]) -> Callable[..., Any]:
    """The tool as a coroutine; what is wrong is said in one sentence."""

    @functools.wraps(tool)
    async def called(*args: Any, **given: Any) -> Answer:  # noqa: ANN401  # those of the tool
        try:
            return await asyncio.to_thread(tool, *args, **given)
        except SluiceError as error:
            raise ToolError(str(error)) from error

    return called


def main() -> int:
    """Serve until the agent closes stdin."""
    made_server().run("stdio")
    return 0


if __name__ == "__main__":
    sys.exit(main())
