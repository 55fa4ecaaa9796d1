"""The help of `sluice` as texts: its parts, the commands of each, and what each command does."""

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
        "link": "submit",
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

# What a command does. Its docstring begins with the same words; to read them there, all commands
# and their libraries would be imported.
SUMMARIES = {
    "simulate": "Simulate a workload: when each job starts and ends, and how busy the slots are.",
    "compare": "Simulate a workload under several schedulers and compare the results.",
    "whatif": "Simulate a history under other queues: who waits less, and who waits longer.",
    "advise": (
        "Say which combination of scheduler parts to run, what it gains, and what each part adds."
    ),
    "plan": (
        "List the plans that no other plan beats in both time and cost, under a budget "
        "and a deadline."
    ),
    "size": "Find the smallest cluster that meets the deadlines with a probability.",
    "order": "Find the best order in which to submit jobs, or their stages, to a FIFO cluster.",
    "capacity": (
        "Compute how many jobs of each class to admit, and how many VMs to rent, at the least cost."
    ),
    "pools": (
        "Choose VM type, number of VMs and start of each job, so that all deadlines are "
        "met cheaply."
    ),
    "share": (
        "Divide a capacity among members, step by step: who lent, who borrowed, and how "
        "fair it was."
    ),
    "run": (
        "Run a workload's jobs on this machine or a cluster, with the same policies as simulate."
    ),
    "runs": "List, show and remove recorded runs.",
    "serve": "Run a service that takes jobs while others run, until Ctrl-C or `sluice serve stop`.",
    "page": "Open the page of the service in a browser; without one, a page of recorded runs.",
    "mcp": "Give tools to an agent, by the Model Context Protocol over stdin and stdout.",
    "submit": "Submit jobs to the service, and say when they will end.",
    "jobs": "List the jobs of the service: state, place in line, and when they end.",
    "kill": "End a job of the service.",
    "link": "Make a link that shows one job of the service to people without a token.",
    "queue": "Show the queues of the service, how busy it is, and when the present work is done.",
    "cordon": "Give a node of the service no more work; what runs on it goes on.",
    "steer": (
        "Change queues, applications, nodes and reservations of a running YARN, and read them back."
    ),
    "why": "Explain why a job waits, or how it ended: in the newest run, or in a simulation.",
    "story": "List what happened to a job, a task or a node, in order of time.",
    "explain": (
        "Explain why a finished run took that long: critical path, skew, idle slots, advice."
    ),
    "predict": (
        "Predict how long jobs will take: time, interval, cost, and other numbers of machines."
    ),
    "eta": "Say when each job of a live queue starts and ends, from runs of the past.",
    "quote": (
        "Say what one job more may expect of a live queue: start, end, cost, and what would help."
    ),
    "fairness": (
        "Report who paid for what, used, lent, borrowed and is owed, per tenant and period."
    ),
    "report": "Put all charts and tables of one result in one HTML file, which works offline.",
    "import": "Import the runs of log files into the profile store.",
    "profiles": "List all stored profiles, or the runs of one profile.",
    "calibrate": (
        "Compare predictions with actual run times: error, bias, coverage of the intervals."
    ),
    "profile-run": (
        "Run each job alone at several slot counts, report the best, and store the measurements."
    ),
    "init": "Write a commented workload file to start from.",
    "validate": "Check a workload file, and print a summary.",
    "workload": "Make workload files, to try schedulers on.",
    "settings": "List the settings for --set and for `settings:` in a workload file.",
    "schema": "Print the JSON Schema of the workload file, for editors and other programs.",
    "demo": (
        "Show what Sluice does: run real jobs, predict and explain them, replay a real cluster."
    ),
    "reproduce": (
        "Run a paper's evaluation again, and print the results next to the published ones."
    ),
    "version": "Print the version.",
}
DESCRIPTION = (
    "Plan, simulate and run data-processing jobs on a shared or rented cluster: which jobs to"
    " admit, in which order to release them, where each task runs, and what it costs."
)
USAGE = "Usage: sluice [OPTIONS] COMMAND [ARGS]..."
# Long and short names, and the help of each.
OPTIONS = (
    ("--version", "", "Print the version."),
    ("--install-completion", "", "Install completion for the current shell."),
    (
        "--show-completion",
        "",
        "Show completion for the current shell, to copy it or customize the installation.",
    ),
    ("--help", "-h", "Show this message and exit."),
)
EPILOG = "Every command reads the same workload file. Start with: sluice validate FILE"
