"""Logs as workloads: jobs, lengths, order, cluster, and notes of all that was chosen."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.phase_order import in_order
from sluice.ingest.logs.replay import ReplayOptions, replayed, workload_from_logs
from sluice.ingest.logs.report import LogRead
from sluice.ingest.logs.slots_seen import slots_at_once, tasks_at_once
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun, PastTask
from sluice.model.job import MapOutput
from sluice.model.lengths import ConstantLengths, ListedLengths

DATA = Path(__file__).resolve().parents[1] / "data" / "logs"
YARN = DATA / "spark" / "application_1516285256255_0012"
LINES = DATA / "spark" / "linelen_rdd-50MB-local2.jsonl.gz"
FIFTY = next((DATA / "swim").glob("*first50*"))


def phase(*spans: tuple[float, float], kind: str = "map", after: tuple[int, ...] = ()) -> PastPhase:
    lengths = [end - start for start, end in spans]
    return PastPhase(
        name=f"{kind}: x",
        kind=kind,
        tasks=len(spans),
        avg_s=min(sum(lengths) / len(lengths), max(lengths)),
        max_s=max(lengths),
        timeline=tuple(PastTask(started_at_s=a, finished_at_s=b) for a, b in spans),
        after=after,
    )


def run(name: str, *phases: PastPhase, **fields: object) -> PastRun:
    return PastRun(run_id=name, profile=name, source="jhist", phases=phases, **fields)


def replay(*runs: PastRun, **options: object) -> sluice.Workload:
    log = LogRead(path="log", format="jhist", runs=runs)
    return replayed([log], ReplayOptions(**options), source="log")


# --- jobs -----------------------------------------------------------------------------------------


def test_a_run_becomes_a_job_with_the_lengths_of_its_tasks():
    """Task by task; what fetching took of a reduce is distinguished."""
    fetched = PastTask(started_at_s=3, fetched_at_s=5, finished_at_s=9)
    reduces = PastPhase(
        name="reduce", kind="reduce", tasks=1, avg_s=6, max_s=6, timeline=(fetched,), after=(0,)
    )
    (job,) = replay(run("a", phase((0, 2), (0, 3)), reduces)).jobs

    assert [one.lengths for one in job.phases] == [ListedLengths((2, 3)), ListedLengths((4,))]
    assert [one.fetch for one in job.phases] == [None, ListedLengths((2,))]
    assert [(one.name, one.kind.value, one.after) for one in job.phases] == [
        ("map", "map", ()), ("reduce", "reduce", (0,)),
    ]  # fmt: skip


def test_without_a_timeline_a_phase_has_its_average_and_maximum():
    said = PastPhase(name="map", kind="map", tasks=9, avg_s=2, max_s=5)
    workload = replay(run("a", said), map_slots=3)

    assert workload.jobs[0].phases[0].lengths == ConstantLengths(2, 5)
    assert any("single tasks" in note for note in workload.notes)


def test_tasks_of_no_length_get_the_least(tmp_path):
    workload = replay(run("a", phase((1, 1), (1, 2))), least_s=0.5)

    assert workload.jobs[0].phases[0].lengths == ListedLengths((0.5, 1))
    assert "least_s = 0.5: shorter tasks are made so long." in workload.notes


def test_submissions_count_from_the_first_and_names_are_made_unique():
    one = phase((0, 1))
    workload = replay(
        run("a", one, submitted_at_s=1000.0),
        run("a", one, submitted_at_s=990.5, queue="etl"),
        run("a\x1b", one),
    )

    assert [(job.job_id, job.submitted_at_s) for job in workload.jobs] == [
        ("a", 9.5), ("a#2", 0), ("a#3", 0),
    ]  # fmt: skip
    assert [job.pool for job in workload.jobs] == ["a", "etl", "a"]
    assert any("submitted at 0 s" in note for note in workload.notes)


def test_what_maps_handed_on_comes_along_where_bytes_and_records_are_shown():
    (job,) = workload_from_logs([LINES], options={"slots": "typed"}).jobs

    assert job.map_output == MapOutput(bytes=1144, records=12)
    assert workload_from_logs([FIFTY]).jobs[0].map_output is None


# --- order ----------------------------------------------------------------------------------------


def test_a_phase_waits_for_what_had_ended_before_or_only_for_what_it_reads():
    """Two stages read nothing from each other, but the driver asked for one after the other."""
    stages = phase((0, 4)), phase((5, 6)), phase((5, 9), kind="reduce", after=(0,))
    seen, data = (replay(run("a", *stages), order=order).jobs[0] for order in ("seen", "data"))

    assert [one.after for one in seen.phases] == [(), (0,), (0,)]
    assert [one.after for one in data.phases] == [(), (), (0,)]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), min_size=1, max_size=12))
def test_waiting_for_the_last_that_ended_is_waiting_for_all_that_had(spans):
    """The few that are named lead, step by step, to every phase that ended before."""
    phases = [phase((start, start + length)) for start, length in spans]
    ordered = in_order(phases, is_seen=True)
    before: list[set[int]] = []
    for one in ordered:
        before.append(set(one.after).union(*(before[at] for at in one.after)))

    for at, one in enumerate(ordered):
        began_s = one.timeline[0].started_at_s
        ended = {
            other for other in range(at) if ordered[other].timeline[0].finished_at_s <= began_s
        }
        assert before[at] == ended


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 6), st.sets(st.integers(0, 11), max_size=3)),
        min_size=1, max_size=12,
    ),
    st.booleans(),
)  # fmt: skip
def test_phases_come_only_after_earlier_ones(stages, is_seen):
    """A log may show any nonsense; a job with a circle would never end."""
    phases = [
        phase((start, start + length), after=tuple(sorted(after)))
        for start, length, after in stages
    ]

    for at, one in enumerate(in_order(phases, is_seen=is_seen)):
        assert all(0 <= other < at for other in one.after)


# --- cluster --------------------------------------------------------------------------------------


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), min_size=1, max_size=6),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_the_most_tasks_at_once_is_what_counting_at_every_instant_gives(jobs):
    """A task that begins when another ends may use its slot."""
    runs = [
        run("a", phase(*((start, start + length) for start, length in spans)), submitted_at_s=7.0)
        for spans in jobs
    ]
    spans = [span for one in jobs for span in one]

    counted = max(
        sum(start <= instant + 0.5 < start + length for start, length in spans)
        for instant in range(40)
    )
    assert tasks_at_once(runs, "map") == counted


def test_slots_are_asked_for_shown_or_seen_in_that_order():
    busy, said = phase((0, 4), (1, 5), (4, 6)), {"map": 7}
    span = {"submitted_at_s": 0.0, "elapsed_s": 5.0}

    assert replay(run("a", busy)).cluster.nodes[0].map_slots == 2
    assert replay(run("a", busy, slots=said, **span)).cluster.nodes[0].map_slots == 7
    asked = replay(run("a", busy, slots=said, **span), map_slots=1)
    assert (asked.cluster.nodes[0].map_slots, asked.notes[0]) == (1, "map_slots = 1: as asked for.")


def test_slots_of_runs_add_up_where_they_ran_together():
    one = phase((0, 1))
    runs = [
        run("a", one, slots={"map": 4}, submitted_at_s=0.0, elapsed_s=10.0),
        run("b", one, slots={"map": 3}, submitted_at_s=5.0, elapsed_s=10.0),
        run("c", one, slots={"map": 5}, submitted_at_s=15.0, elapsed_s=10.0),
    ]

    assert slots_at_once(runs, "map") == 7


def test_a_log_that_shows_no_slots_asks_for_them():
    """SWIM has neither durations nor slots: nothing to see, so nothing is made up."""
    workload = workload_from_logs([FIFTY])
    assert workload.cluster is None
    with pytest.raises(InvalidInput, match=r"Give map_slots and reduce_slots by --from-log-set"):
        sluice.simulate(workload)

    asked = workload_from_logs([FIFTY], options={"map_slots": 40, "reduce_slots": 20})
    assert set(sluice.simulate(asked).states) == {"done"}


# --- all of it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["spark/app-20161115172038-0000", "swf/hpc2n.swf"])
def test_a_sample_is_replayed_whole(name):
    """Every task that the log shows runs again."""
    path = DATA / name
    said = sum(phase.tasks for run in read_log(path).runs for phase in run.phases)
    workload = workload_from_logs([path])

    assert sum(job.tasks for job in workload.jobs) == said


def test_a_replay_takes_as_long_as_the_log_where_nothing_else_waits():
    """One stage after the other, each in one wave: the stages' own longest tasks."""
    result = sluice.simulate(workload_from_logs([LINES], options={"slots": "typed"}))
    (log,) = read_log(LINES).runs

    assert result.makespan_s is not None
    assert log.elapsed_s is not None
    assert max(phase.max_s for phase in log.phases) <= result.makespan_s <= log.elapsed_s


def test_notes_say_what_was_skipped_and_are_not_too_many(tmp_path):
    log = tmp_path / "trace.tsv"
    log.write_bytes(FIFTY.read_bytes() + b"broken\n")
    notes = workload_from_logs([log]).notes

    assert notes[-1] == f"Skipped {log}: line 51: 1 columns, not 6 to 8"
    assert any(note.startswith("block_bytes = ") for note in notes)
    runs = [run(f"{n}", phase((0, 1)), notes=(f"note {n}",)) for n in range(100)]
    assert replay(*runs).notes[-1].endswith(" more.")


def test_jobs_without_phases_are_nothing_to_run():
    with pytest.raises(InvalidInput, match="no job in it can be run again"):
        replay(run("a"))


# --- weights --------------------------------------------------------------------------------------


def test_queues_of_logs_get_the_weights_that_tenants_paid_for():
    one = phase((0, 1))
    runs = [run(name, one, queue=name) for name in ("etl", "ads", "a=b")]

    workload = replay(*runs, weights="etl=2, a=b=0.5")

    assert {"etl": 2.0, "a=b": 0.5} == {pool.pool_id: pool.weight for pool in workload.pools}
    shares = sluice.fairness(source=workload, tasks="ltrf").ledger.shares
    total = sum(shares.values())
    assert {"etl": 2 / 3.5, "a=b": 0.5 / 3.5, "ads": 1 / 3.5} == pytest.approx(
        {name: share / total for name, share in shares.items()}
    )


@pytest.mark.parametrize(
    ("weights", "fragment"),
    [
        ("etl", "not a weight"),
        ("etl=0", "not a weight"),
        ("etl=-1", "not a weight"),
        ("etl=nan", "not a weight"),
        ("elt=2", "Did you mean etl"),
        ("etl=2,etl=3", "given twice"),
        ("=2", "no job in the logs"),
    ],
)
def test_bad_weights_are_refused(weights, fragment):
    with pytest.raises(InvalidInput, match=fragment):
        replay(run("a", phase((0, 1)), queue="etl"), weights=weights)
