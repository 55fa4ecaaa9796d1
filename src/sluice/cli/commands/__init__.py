"""The commands of the command line, in the order of the help; importing a module registers its own.

A command reads and computes first, writes its files next, and prints last.
"""

from __future__ import annotations

from importlib import import_module

import typer

from sluice.cli.application import app
from sluice.cli.panels import COMMANDS


def with_command(name: str) -> typer.Typer:
    """The application with the command of that name, one of COMMANDS."""
    import_module(f"{__name__}.{COMMANDS[name]}")
    return app


def with_all_commands() -> typer.Typer:
    """The application with all commands, whichever of them were imported before."""
    modules = [f"{__name__}.{module}" for module in dict.fromkeys(COMMANDS.values())]
    for module in modules:
        import_module(module)
    app.registered_commands.sort(key=lambda one: modules.index(one.callback.__module__))
    return app
