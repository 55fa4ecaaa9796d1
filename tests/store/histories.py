"""Runs as logs show them: plain ones, and whatever Hypothesis thinks of."""

from hypothesis import strategies as st

from sluice.model.history import PastPhase, PastRun, PastTask, TaskCosts


def tasks_of(*lengths_s, node="node-1"):
    """A timeline: one after the other, each so long."""
    said, at_s = [], 0.0
    for length_s in lengths_s:
        said.append(PastTask(started_at_s=at_s, finished_at_s=at_s + length_s, node=node))
        at_s += length_s
    return tuple(said)


def phase_of(*lengths_s, name="map", kind="map", **more):
    """A phase whose tasks took so long, shown one by one."""
    return PastPhase(
        name=name,
        kind=kind,
        tasks=len(lengths_s),
        avg_s=sum(lengths_s) / len(lengths_s),
        max_s=max(lengths_s),
        timeline=tasks_of(*lengths_s),
        **more,
    )


def past_run(run_id="run-1", *phases, profile="words", source="sluice", **more):
    """A run; of one phase of two tasks unless phases are given."""
    return PastRun(
        run_id=run_id,
        profile=profile,
        source=source,
        phases=phases or (phase_of(2.0, 4.0),),
        **more,
    )


def cut_short(run, tasks):
    """The same run as a log shows it that ends after so many tasks of the first phase."""
    lengths_s = [task.length_s for task in run.phases[0].timeline[:tasks]]
    return past_run(
        run.run_id, phase_of(*lengths_s), profile=run.profile, source=run.source, succeeded=False
    )


_TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
_NAMES = _TEXTS.filter(bool)
_SECONDS = st.floats(0, 1e12) | st.integers(0, 10**9)
_COUNTS = st.integers(0, 2**63 - 1)
_COSTS = st.builds(TaskCosts, gc_s=st.floats(0, 1e12), spilled_bytes=_COUNTS)


@st.composite
def past_tasks(draw):
    """A task; instants in any order, as odd clocks show them."""
    return PastTask(
        started_at_s=draw(st.floats(-1e9, 1e12)),
        finished_at_s=draw(st.floats(-1e9, 1e12)),
        fetched_at_s=draw(st.none() | _SECONDS),
        node=draw(st.none() | _TEXTS),
        input_bytes=draw(_COUNTS),
    )


@st.composite
def past_phases(draw, phases):
    """A phase with anything that its type allows. phases: how many its run has."""
    average_s, longest_s = sorted(draw(st.tuples(_SECONDS, _SECONDS)))
    counts = {
        name: draw(_COUNTS)
        for name in (
            "input_bytes", "output_bytes", "shuffle_read_bytes", "shuffle_write_bytes",
            "input_records", "output_records",
        )
    }  # fmt: skip
    return PastPhase(
        name=draw(_TEXTS),
        kind=draw(st.sampled_from(["map", "reduce"])),
        tasks=draw(st.integers(1, 2**40)),
        avg_s=average_s,
        max_s=longest_s,
        failed=draw(st.integers(0, 2**40)),
        **counts,
        cpu_s=draw(st.none() | _SECONDS),
        rss_bytes_max=draw(st.none() | _COUNTS),
        timeline=tuple(draw(st.lists(past_tasks(), max_size=4))),
        after=tuple(draw(st.lists(st.integers(0, phases - 1), max_size=2))),
        costs=draw(st.none() | _COSTS),
    )


@st.composite
def past_runs(draw):
    """A run with anything that its type allows and that UTF-8 can write."""
    phases = draw(st.integers(0, 3))
    return PastRun(
        run_id=draw(_NAMES),
        profile=draw(_NAMES),
        source=draw(_NAMES),
        phases=tuple(draw(past_phases(phases)) for _ in range(phases)),
        succeeded=draw(st.booleans()),
        submitted_at_s=draw(st.none() | _SECONDS),
        elapsed_s=draw(st.none() | _SECONDS),
        queue=draw(st.none() | _TEXTS),
        machine_type=draw(st.none() | _TEXTS),
        slots=draw(st.dictionaries(_TEXTS, _COUNTS, max_size=3)),
        configuration=draw(st.dictionaries(_TEXTS, _TEXTS, max_size=3)),
        notes=tuple(draw(st.lists(_TEXTS, max_size=2))),
    )
