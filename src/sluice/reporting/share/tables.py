"""Tables of a division among members. Rich is imported when a table is made."""

from __future__ import annotations

from sluice.reporting.formatting import counted, hundredths, listed, share
from sluice.reporting.share.result import ShareResult
from sluice.reporting.table_style import (
    Panel,
    Table,
    framed,
    left_out,
    name_cell,
    plain_table,
    plain_text,
)

MEMBERS_MAX = 50
STEPS_MAX = 24


def steps_table(result: ShareResult) -> Table:
    """One row for each member: allocated and accumulated units of each step."""
    steps = result.history.steps
    first = max(0, len(steps) - STEPS_MAX)
    sizes = result.history.problem.task_units
    caption = "each cell: allocated / counted so far"
    if result.history.problem.tasks:
        caption = "each cell: tasks / dominant shares counted so far"
    if first:
        caption += f"; the first {counted(first, 'step')} left out, --json has all"
    hidden = len(result.names) - MEMBERS_MAX
    return plain_table(
        "; ".join(filter(None, (caption, left_out(max(0, hidden))))),
        names=("member",),
        numbers=(f"step {number + 1}" for number in range(first, len(steps))),
        rows=(
            (
                name_cell(name),
                *(
                    f"{hundredths(float(step.allocated[member] / sizes[member]))}"
                    f" / {hundredths(float(step.counted[member]))}"
                    for step in steps[first:]
                ),
            )
            for member, name in enumerate(result.names[:MEMBERS_MAX])
        ),
    )


def members_table(result: ShareResult) -> Table:
    """One row for each member: share, use, lent and borrowed units, and fairness."""
    problem = result.history.problem
    caption = "fairness: use divided by what a fixed share would have given"
    if problem.tasks:
        caption += "; share, used, lent and borrowed: dominant shares"
    heads = (*["tasks"] * bool(problem.tasks), "share", "used", "lent", "borrowed", "fairness")
    table = plain_table(caption, names=("member",), numbers=heads)
    steps, fairness = result.history.steps, result.fairness
    for member, name in enumerate(result.names[:MEMBERS_MAX]):
        degree = fairness[name]
        lent = [float(step.lent[member]) for step in steps]
        tasks = float(steps[-1].accumulated[member] / problem.task_units[member])
        table.add_row(
            name_cell(name),
            *([plain_text(hundredths(tasks))] if problem.tasks else []),
            hundredths(float(problem.shares[member])),
            hundredths(float(steps[-1].accumulated[member])),
            hundredths(sum(units for units in lent if units > 0)),
            hundredths(-sum(units for units in lent if units < 0)),
            plain_text(hundredths(degree), "red" if degree is not None and degree < 1 else ""),
        )
    return table


def misreports_table(result: ShareResult) -> Table:
    """One row for each member: useful units when it is honest, and under its best report."""
    found = result.misreports or ()
    is_exhaustive = all(one.is_exhaustive for one in found)
    table = plain_table(
        "all candidate reports were tried" if is_exhaustive else "searched: gains may be larger",
        names=("member",),
    )
    for name in ("honest", "best", "gain", "by reporting"):
        table.add_column(name, justify="right", no_wrap=name != "by reporting")
    sizes = result.history.problem.task_units
    for one, size in list(zip(found, sizes, strict=False))[:MEMBERS_MAX]:
        reports = ", ".join(hundredths(float(units / size)) for units in one.reports[:STEPS_MAX])
        table.add_row(
            name_cell(one.name),
            hundredths(float(one.honest / size)),
            hundredths(float(one.best / size)),
            plain_text(hundredths(float(one.gain / size)), "red" if one.gain > 0 else ""),
            reports if one.gain > 0 else "the truth",
        )
    return table


def share_sentence(result: ShareResult) -> str:
    """The answer in one sentence: the member that sharing serves worst."""
    known = {name: degree for name, degree in result.fairness.items() if degree is not None}
    rule = result.history.problem.options.policy
    if not known:
        return f"Under {rule} a fixed share would have given no member anything."
    worst = min(known, key=lambda name: known[name])
    name, degree = listed([worst]), hundredths(known[worst])
    return f"Under {rule} each member gets at least {degree} times its fixed share's use ({name})."


def share_panel(result: ShareResult) -> Panel:
    """A summary: the rule, benefit, loss and Jain's index."""
    options = result.history.problem.options
    return framed(
        "Sharing",
        [
            ("rule", options.policy),
            ("steps", str(len(result.history.steps))),
            ("benefit", hundredths(result.benefit)),
            ("loss", hundredths(result.loss)),
            ("Jain's index", hundredths(result.jain)),
            *((f"{name} used", share(part)) for name, part in result.utilization.items()),
        ],
    )
