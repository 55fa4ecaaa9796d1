"""The commands of the command line, in the order of the help; importing a module registers its own.

A command reads and computes first, writes its files next, and prints last.
"""

from __future__ import annotations

from importlib import import_module

import typer

from sluice.cli.application import app

# In the order of the help. One that is named is imported alone, and starts sooner.
COMMANDS = {
    "simulate": "simulate",
    "compare": "simulate",
    "run": "run",
    "runs": "runs",
    "serve": "serve",
    "page": "serve",
    "mcp": "serve",
    "submit": "submit",
    "jobs": "submit",
    "kill": "submit",
    "queue": "submit",
    "why": "explain",
    "story": "explain",
    "explain": "explain",
    "report": "report",
    "predict": "predict",
    "eta": "eta",
    "quote": "eta",
    "size": "size",
    "whatif": "whatif",
    "advise": "advise",
    "plan": "plan",
    "order": "order",
    "capacity": "capacity",
    "pools": "pools",
    "share": "share",
    "fairness": "fairness",
    "import": "profiles",
    "profiles": "profiles",
    "calibrate": "calibrate",
    "profile-run": "calibrate",
    "reproduce": "reproduce",
    "workload": "workload",
    "init": "init",
    "demo": "demo",
    "validate": "validate",
    "settings": "validate",
    "schema": "validate",
    "version": "validate",
}


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
