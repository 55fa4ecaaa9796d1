"""The server of the SDK, strict about the names of arguments, and with plain refusals.

The SDK ignores an argument that a tool does not have, so that a misspelt deadline was no deadline.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, Tool
from pydantic import ValidationError

from sluice.ingest.suggestions import suggestion
from sluice.service.mcp.answers import INSTRUCTIONS


class ToolServer(MCPServer[Any]):
    """Serves tools, each with the arguments of its schema and no others."""

    def __init__(self) -> None:
        super().__init__(
            "sluice", instructions=INSTRUCTIONS, version=version("sluice"), log_level="WARNING"
        )

    async def list_tools(self) -> list[Tool]:
        """All tools. Their schemas say that no other argument is taken."""
        return [
            tool.model_copy(
                update={"input_schema": {**tool.input_schema, "additionalProperties": False}}
            )
            for tool in await super().list_tools()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """The answer of the tool. Raises ToolError, also for an argument that it does not have."""
        known = {tool.name: tool.input_schema for tool in await super().list_tools()}
        taken = list(known.get(name, {}).get("properties", arguments))
        for one, value in arguments.items():
            if one not in taken:
                hint = suggestion(one, taken, f"{name} takes no arguments")
                raise ToolError(f"{name} has no argument {one[:60]!r}: {hint}")
            if "\0" in str(value):
                raise ToolError(f"{name}: {one} has a NUL character")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            wrong = error.__cause__
            if not isinstance(wrong, ValidationError):
                raise
            raise ToolError(f"{name}: {_sentence(wrong)}") from None


def _sentence(wrong: ValidationError) -> str:
    """Return what is wrong with each argument, without the names of classes."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong.errors(include_url=False)
    )
