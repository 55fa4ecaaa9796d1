"""The answers of a service in sentences and tables. Instants are shown in local time.

Answers come as JSON rows, so a field that is missing is not known, and shown as a dash. Tables
follow from columns (`field`); what is not a list of rows is a sentence or some lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sluice.reporting.columns import Column, column_table, field
from sluice.reporting.formatting import NOTHING, counted, money
from sluice.reporting.table_style import Table, left_out, plain_table, plain_text, short_name

GLYPHS = {
    "waiting": "○", "held": "‖", "running": "▶", "done": "✓", "failed": "✕", "killed": "✕",
    "refused": "⊘",
}  # fmt: skip
_ENDED_EARLY = ("failed", "killed", "refused")
QUEUES_MAX = 20
_DECISIONS_SHOWN = 5
_CAUSES = {
    "later_arrivals": "later jobs", "other_jobs": "other jobs", "own_length": "own length",
    "failures": "failures", "nodes_lost": "lost nodes", "service_down": "service down",
    "changed": "changed", "overhead": "slow start",
}  # fmt: skip
_OFFERS = {
    "later_deadline": "a deadline {value:.0f} s after submission",
    "more_vms": "{value} more of its nodes",
    "other_queue": "queue {value}",
}


def clock(instant: str | None) -> str:
    """An instant of today as a time, of another day with its date, both local."""
    if instant is None:
        return NOTHING
    at = datetime.fromisoformat(instant).astimezone()
    is_today = at.date() == datetime.now(UTC).astimezone().date()
    return at.strftime("%H:%M:%S" if is_today else "%d %b %H:%M")


def promise_sentence(promise: Mapping[str, Any]) -> str:
    """The decision on a job, its end with the interval, its cost and deadline."""
    name = promise["name"]
    if promise["job_id"] is not None:  # a quote has none
        name = f"{promise['job_id']} ({name})"
    if promise["decision"] == "refused":
        return f"{name} is refused: {promise['why_not']}."
    ends = promise.get("ends_at") or {}
    if ends.get("expected") is None:
        return f"{name} is accepted, without a promise: {promise['why_not']}."
    likely = f"{promise['level']:.0%}: {clock(ends['low'])} to {clock(ends['high'])}"
    parts = [f"{name} is accepted and ends at {clock(ends['expected'])} ({likely})"]
    cost = promise.get("cost_usd")
    if cost is not None:
        parts.append(f"costs {money(cost['expected'])}")
    chance = promise.get("deadline_probability")
    if chance is not None:
        kind = "guaranteed" if promise.get("deadline_guaranteed") else "not guaranteed"
        by = clock(promise["deadline_at"])
        parts.append(f"keeps its deadline of {by} with {chance:.0%} ({kind})")
    return f"{', '.join(parts)}."


def offers_table(promise: Mapping[str, Any]) -> Table:
    """Return what would help, the cheapest first."""
    table = plain_table("", names=("what would help",), numbers=("ends at", "deadline"))
    for offer in promise["counter_offers"]:
        (value,) = offer["change"].values()
        text = _OFFERS[offer["kind"]].format(value=value)
        chance = offer["deadline_probability"]
        table.add_row(text, clock(offer["ends_at"]), NOTHING if chance is None else f"{chance:.0%}")
    return table


def jobs_sentence(found: Mapping[str, Any], only: Collection[object] = ()) -> str:
    """How many jobs run and wait, and how many have ended. only: what they were filtered by."""
    states = [row["state"] for row in found["jobs"]]
    if not states and any(only):
        return "No job is like this. All of them: sluice jobs"
    if not states:
        return "No job is known. Submit one: sluice submit FILE"
    counts = [(state, states.count(state)) for state in GLYPHS if state in states]
    text = ", ".join(f"{number} {state}" for state, number in counts)
    more = found["total"] - len(states)
    if not found["total_is_exact"]:
        return f"More than {counted(found['total'], 'job')}: {text} are shown."
    return f"{counted(found['total'], 'job')}: {text}{f', and {more} more' if more else ''}."


def jobs_table(found: Mapping[str, Any]) -> Table:
    """One row for each job, the newest first."""
    table = plain_table(
        left_out(found["total"] - len(found["jobs"])),
        names=("job", "name", "queue", "state"),
        numbers=("done", "ends at", "deadline", "promise"),
    )
    for row in found["jobs"]:
        tasks = row["tasks"]
        place = "" if row["position"] is None else f" #{row['position']}"
        chance = row["deadline_probability"]
        table.add_row(
            plain_text(row["job_id"], "bold"),
            short_name(row["name"], ""),
            short_name(row["queue"], ""),
            f"{GLYPHS[row['state']]} {row['state']}{place}",
            _done(tasks, row["state"]),
            clock(row["ends_at"]["expected"]),
            NOTHING if chance is None else f"{chance:.0%}",
            _promise_word(row["promise"]),
        )
    return table


def _done(tasks: Mapping[str, int], state: str) -> str:
    """The tasks that are done, of all that are to be done."""
    if state in _ENDED_EARLY:
        return str(tasks["done"])  # "2/2" would say that nothing of it was left
    total = tasks["waiting"] + tasks["running"] + tasks["done"]
    return f"{tasks['done']}/{total}" if total else NOTHING


def observed_sentence(observed: Mapping[str, Any]) -> str:
    """How many applications of others a service observes, and why not more is known."""
    states = [row["state"] for row in observed["jobs"]]
    counts = [f"{states.count(state)} {state}" for state in GLYPHS if state in states]
    more = observed["total"] - len(states)
    counts += [f"{more} more"] if more else []
    found = f"{counted(observed['total'], 'application')} of others"
    shown = f"{found}: {', '.join(counts)}" if counts else found
    problem = observed["problem"]
    since = f", as of {clock(observed['as_of'])}" if observed["as_of"] and problem else ""
    return f"{shown}{since}." + (f" YARN cannot be observed now: {problem}" if problem else "")


def observed_lines(row: Mapping[str, Any]) -> Sequence[str]:
    """Why an application of others waits, and what is expected of it."""
    reason = row["reason"]
    because = f" {reason[:1].upper()}{reason[1:]}." if reason else ""
    lines = [f"{row['job_id']} ({row['name']}, {row['queue']}): {row['state']}.{because}"]
    ends = row["ends_at"]
    if ends["expected"] is None:
        return [*lines, "  when it ends is not known: no application like it has ended"]
    started = "started" if row["state"] == "running" else "starts"
    starts_at, ends_at = clock(row["starts_at"]["expected"]), clock(ends["expected"])
    interval = f"{row['level']:.0%}: {clock(ends['low'])} to {clock(ends['high'])}"
    runs = counted(row["past_runs"], "past run")
    return [*lines, f"  {started} at {starts_at}, ends at {ends_at} ({interval}), by {runs}"]


def observed_table(observed: Mapping[str, Any]) -> Table:
    """One row for each application of others: those that run, then the first in line."""
    table = plain_table(
        "forecasts, not promises",
        names=("application", "name", "user", "state"),
        numbers=("starts at", "ends at", f"ends, {observed['jobs'][0]['level']:.0%}"),
    )
    for row in observed["jobs"]:
        ends = row["ends_at"]
        is_known = ends["low"] is not None and ends["high"] is not None
        table.add_row(
            plain_text(row["job_id"], "bold"),
            *(short_name(row[key], "") for key in ("name", "user")),
            f"{GLYPHS[row['state']]} {row['state']}",
            clock(row["starts_at"]["expected"]),
            clock(ends["expected"]),
            f"{clock(ends['low'])} - {clock(ends['high'])}" if is_known else NOTHING,
        )
    return table


def broken_sentence(outcome: Mapping[str, Any]) -> str:
    """Return why a promise was not kept, and how much of what is off is wait."""
    text = f"promise: {outcome['cause']['text']}"
    if outcome["off_s"] is None:
        return text
    return (
        f"{text} (off by {outcome['off_s']:+.1f} s = wait {outcome['off_wait_s']:+.1f} s"
        f" + run {outcome['off_run_s']:+.1f} s)"
    )


def _promise_word(outcome: Mapping[str, Any]) -> str:
    if outcome["kept"] is not None:
        return "kept" if outcome["kept"] else _CAUSES[outcome["cause"]["code"]]
    return NOTHING if outcome["cause"] is None else "late"


def queue_sentence(found: Mapping[str, Any]) -> str:
    """How busy the cluster is, and when the present work is done."""
    waiting = sum(row["waiting_jobs"] for row in found["queues"])
    jobs = sum(row["jobs"] for row in found["queues"])
    head = (
        f"{counted(found['nodes_up'], 'node')} up, {found['used']} of"
        f" {counted(found['slots'], 'slot')} in use; {counted(jobs, 'job')} open,"
        f" {waiting} of them waiting"
    )
    drains = found["drains_at"]
    if drains is None:
        return f"{head}."
    return f"{head}; all of it ends at {clock(drains['expected'])}."


def condition_sentence(condition: Mapping[str, Any]) -> str:
    """Return what keeps the service from running jobs, and since when."""
    text = condition["text"]
    since = "" if condition["since_at"] is None else f" (since {clock(condition['since_at'])})"
    return f"{text[0].upper()}{text[1:]}{since}{'' if text.endswith('.') else '.'}"


_QUEUE: Sequence[Column[Mapping[str, Any]]] = (
    field("queue", "queue", short_name, is_left=True),
    field("jobs", "jobs"),
    field("waiting_jobs", "waiting"),
    field("used", "tasks running"),
    field("waiting", "tasks waiting"),
)


def queue_table(found: Mapping[str, Any]) -> Table:
    """One row for each queue with open jobs, those with most of them first."""
    rows = sorted(found["queues"], key=lambda row: (-row["jobs"], row["queue"]))
    return column_table(_QUEUE, rows, rows_max=QUEUES_MAX)


def kept_lines(found: Mapping[str, Any]) -> Sequence[str]:
    """From when on the history is kept, if its beginning was removed."""
    if "kept_from" not in found:
        return []
    return [
        f"The history is kept from {clock(found['kept_from'])} on; the service removed the rest."
    ]


def story_lines(found: Mapping[str, Any]) -> Sequence[str]:
    """The events of a job or a node of a service, a line for each."""
    lines = [f"{found['kind']} {found['id']}"]
    for one in found["lines"]:
        because = f": {one['why']}" if one["why"] else ""
        lines.append(f"  {clock(one['at'])}  {one['what']}{because}")
    return [*lines, *kept_lines(found)]


def why_lines(found: Mapping[str, Any]) -> Sequence[str]:
    """Why a job of a service waits, a line for each cause."""
    because = found["text"][:1].upper() + found["text"][1:]
    detail = f": {found['detail']}" if found.get("detail") else ""
    lines = [f"{found['job']}: {found['state']}. {because}{detail}"]
    for phase in found["phases"]:
        text = f": {phase['text']}" if phase["text"] not in {None, "", found["text"]} else ""
        lines.append(
            f"  {phase['phase']}: {phase['done']} of {phase['tasks']} done,"
            f" {phase['running']} running{text}"
        )
    ahead = found["ahead"]
    if ahead:
        lines.append(f"  {counted(len(ahead), 'open job')} came before it")
    cause = found["promise"]["cause"]
    if cause is not None:
        lines.append(f"  {broken_sentence(found['promise'])}")
    return lines


_TOKEN: Sequence[Column[Mapping[str, Any]]] = (
    field("name", "name", lambda name: plain_text(name, "bold"), is_left=True),
    field("tenant", "tenant", is_left=True),
    field("role", "role", is_left=True),
    field("made_at", "made", lambda at: at[:10], is_left=True),
    field("used_at", "last used", lambda at: at[:10], is_left=True),
)


def tokens_table(found: Sequence[Mapping[str, Any]]) -> Table:
    """One row for each token."""
    return column_table(_TOKEN, found)


def steering_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines on what is steered and what is in the way, and the newest decisions with reasons."""
    options = found["options"]
    verb = "Steers" if options["apply"] else "Would steer"
    since = "" if found["as_of"] is None else f", last at {clock(found['as_of'])}"
    yield f"{verb} {options['address']} by {', '.join(options['policies'])}{since}."
    for policy, why in found["problems"].items():
        yield f"{policy} changed nothing: {why}"
    for one in found["decisions"][:_DECISIONS_SHOWN]:
        if one["target"]:
            yield _decision_line(one)
    if found["undo"] is not None:
        yield f"To take it back: sluice steer {found['undo']} --address {options['address']}"


def _decision_line(one: Mapping[str, Any]) -> str:
    change = f"{one['setting']} of {one['target']}: {one['before'] or 'none'} -> {one['wanted']}"
    reason = f", as {one['reason']}" if one["reason"] else ""
    why = f" ({one['why']})" if one["why"] else ""
    return f"{clock(one['at'])} {one['outcome']} {change}{reason}{why}"
