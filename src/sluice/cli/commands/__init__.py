"""The commands of the command line, in the order of the help; importing a module registers its own.

A command reads and computes first, writes its files next, and prints last.
"""

from __future__ import annotations

from importlib import import_module

import typer

from sluice.cli.application import app

# Each part of the help, with its commands in their order: command, and the module that has it. One
# that is named is imported alone, and starts sooner.
PANELS = {
    "Decide before it costs": {
        "simulate": "simulate",
        "compare": "simulate",
        "whatif": "whatif",
        "advise": "advise",
        "plan": "plan",
        "size": "size",
        "order": "order",
        "capacity": "capacity",
        "pools": "pools",
        "share": "share",
    },
    "Run jobs": {
        "run": "run",
        "runs": "runs",
        "serve": "serve",
        "page": "serve",
        "mcp": "serve",
        "submit": "submit",
        "jobs": "submit",
        "kill": "submit",
        "queue": "submit",
    },
    "Ask why, and when": {
        "why": "explain",
        "story": "explain",
        "explain": "explain",
        "predict": "predict",
        "eta": "eta",
        "quote": "eta",
        "fairness": "fairness",
        "report": "report",
    },
    "Learn from the past": {
        "import": "profiles",
        "profiles": "profiles",
        "calibrate": "calibrate",
        "profile-run": "calibrate",
    },
    "Files, and help": {
        "init": "init",
        "validate": "validate",
        "workload": "workload",
        "settings": "validate",
        "schema": "validate",
        "demo": "demo",
        "reproduce": "reproduce",
        "version": "validate",
    },
}
COMMANDS = {name: module for panel in PANELS.values() for name, module in panel.items()}
PANEL_OF = {name: panel for panel, commands in PANELS.items() for name in commands}


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
