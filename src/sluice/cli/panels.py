"""The parts of the help, and the commands of each."""

from __future__ import annotations

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
        "cordon": "submit",
        "steer": "steer",
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
