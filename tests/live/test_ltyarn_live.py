"""Long-term sharing of real processes: an idle tenant is paid back, in one run and over two."""

import json

import pytest
from tests.live.command_line import Place
from tests.live.recorded_decisions import checks_out, events_of, scheduler_like

import sluice

CLUSTER = {"containers": 2}
QUEUES = [{"id": "etl"}, {"id": "ads"}, {"id": "adhoc"}]
ETL_TASKS = 24  # more than two containers finish before ads has its first task
ADS_TASKS = 14
ADS_AT_S = 2
NAP_S = 0.2
FIRST_TASKS, BURN_S = 8, 0.2
# Seconds of processor time, as a computation takes them.
BURN_PY = """\
import sys, time
until = time.process_time() + float(sys.argv[1])
for line in sys.stdin:
    pass
while time.process_time() < until:
    sum(range(1000))
print("done")
"""


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    (made.folder / "burn.py").write_text(BURN_PY)
    yield made
    made.end()


def job(name, pool, at_s, files, mapper=f"sh -c 'sleep {NAP_S}; cat'"):
    run = {"input": [f"in/{files}"], "output": f"out/{name}", "mapper": mapper}
    return {"id": name, "pool": pool, "submitted_at_s": at_s, "run": run}


def write(place, jobs):
    place.write(jobs, cluster=CLUSTER, queues=QUEUES)


def ledger_of(place, *words):
    code, out, err = place.sluice("fairness", "--json", *words)
    assert code == 0, err
    return json.loads(out)


def late_tenant(place, tasks):
    """Three tenants with tasks of a fifth of a second; ads is idle for 2 s, then has much."""
    if not (place.folder / "in").exists():
        for name, files in (("etl", ETL_TASKS), ("adhoc", 2), ("ads", ADS_TASKS)):
            place.write_input(f"in/{name}", *("x\n" for _ in range(files)))
    write(
        place,
        [
            job("load", "etl", 0, "etl"),
            job("query", "adhoc", 0, "adhoc"),
            job("report", "ads", ADS_AT_S, "ads"),
        ],
    )
    code, document = place.document("--tasks", tasks)
    assert 0 == code
    assert {"done"} == {one["state"] for one in document["jobs"].values()}
    (place.folder / "out").rename(place.folder / f"out-{tasks}")
    assert checks_out(place.runs[-1])


def part_of_the_gap_left(run):
    """The lead of etl over ads in use while both had tasks to start: at the end of that, / before.

    In container-seconds, from the arrival of ads to the last start of the first to run out.
    """
    scheduler = scheduler_like(run, is_live=True)
    for event in events_of(run):
        scheduler.handle(event)
    attempts = list(scheduler.state.closed)

    def gap(at_s):
        used = {"load": 0.0, "report": 0.0, "query": 0.0}
        for one in attempts:
            ran_s = min(at_s, one.finished_at_s) - one.started_at_s
            used[str(one.key.job_id)] += max(0.0, ran_s)
        return used["load"] - used["report"]

    last_s = min(
        max(one.started_at_s for one in attempts if one.key.job_id == name)
        for name in ("load", "report")
    )
    return gap(last_s) / gap(scheduler.state.jobs["report"].released_at_s)


@pytest.mark.slow
def test_a_lender_is_paid_back_under_ltrf_and_not_under_mlrf(place):
    """Under ltrf use levels out once ads has work; under mlrf etl stays ahead by as much."""
    left = {}
    for tasks in ("mlrf", "ltrf"):
        late_tenant(place, tasks)
        left[tasks] = part_of_the_gap_left(place.runs[-1])

    assert left["ltrf"] < 0.5, left
    assert left["mlrf"] > 0.7, left
    assert {} == place.processes_left()


@pytest.mark.slow
def test_accounts_are_kept_over_two_runs(place):
    """Etl runs alone in the first run; in the second ads comes first until it has caught up."""
    place.write_input("in/first", *("x\n" for _ in range(FIRST_TASKS)))
    place.write_input("in/many", *("x\n" for _ in range(6)))
    write(place, [job("load", "etl", 0, "first", f"python3 burn.py {BURN_S}")])
    assert 0 == place.document("--tasks", "ltrf")[0]
    assert ledger_of(place)["tenants"]["etl"]["cpu_s"] >= FIRST_TASKS * BURN_S

    both = [job("more", "etl", 0, "many"), job("report", "ads", 0, "many")]
    write(place, both)
    ends = {}
    for accounts in ("keep", "fresh"):
        code, document = place.document("--tasks", "ltrf", "--set", f"order.accounts={accounts}")
        assert 0 == code
        assert checks_out(place.runs[-1])
        jobs = document["jobs"]
        ends[accounts] = jobs["more"]["started_at_s"] - jobs["report"]["started_at_s"]
        account = document["accounts"]["etl"]["used_container_s"]
        before = account - ledger_of(place)["tenants"]["etl"]["used"]
        assert (before > 1.0) == (accounts == "keep"), before
        for name in ("more", "report"):
            (place.folder / f"out/{name}").rename(place.folder / f"out/{name}-{accounts}")

    assert ends["keep"] > 0.1, "etl waits for ads where accounts are kept"
    assert ends["fresh"] < ends["keep"]
    everything = ledger_of(place, "--all-runs")["tenants"]
    assert everything["etl"]["used"] > everything["ads"]["used"] > 0


FAST_AND_SLOW = ("fast", "slow")
LENGTHS_S = {"load": 1.1, "report": 0.8}  # no two tasks end within 0.2 s of each other
NODES_UP_AT_S = 1
TASKS = 3
EXACT = {"ltyarn.adaptive": False, "ltyarn.quantum_s": 0.05}


def turns_of(attempts):
    """The jobs of the tasks of each node, in the order of their starts."""
    starts = sorted((one.started_at_s, one.node.node_id, str(one.key.job_id)) for one in attempts)
    return {name: [job for _, node, job in starts if node == f"{name}-1"] for name in FAST_AND_SLOW}


def on_unequal_nodes(unit_weight, **jobs):
    groups = [{"id": name, "containers": 1} for name in FAST_AND_SLOW]
    groups[0]["unit_weight"] = unit_weight
    pools = {"load": "etl", "report": "ads"}
    return {
        "cluster": {"node_groups": groups},
        "queues": QUEUES[:2],
        "jobs": [
            {"id": name, "pool": pools[name], "submitted_at_s": NODES_UP_AT_S, **job}
            for name, job in jobs.items()
        ],
    }


def simulated(unit_weight, lengths_s):
    """The run with tasks of these lengths, by job."""
    phases = {name: {"maps": {"durations_s": each}} for name, each in lengths_s.items()}
    made = {"version": 1, **on_unequal_nodes(unit_weight, **phases)}
    return sluice.simulate(sluice.parse_workload(json.dumps(made)), tasks="ltrf", settings=EXACT)


def lengths_of(attempts):
    """The measured lengths of the tasks of each job, in the order of their starts."""
    inside: dict[str, list[float]] = {name: [] for name in LENGTHS_S}
    for one in sorted(attempts, key=lambda one: one.started_at_s):
        inside[str(one.key.job_id)].append(one.finished_at_s - one.started_at_s)
    return inside


def test_a_container_counts_by_its_node_as_in_the_simulation(place):
    """With weight 3 the load has used 3.3 units when its first task ends, the report 1.1."""
    place.write_input("in", *("x\n" for _ in range(TASKS)))
    real = {
        name: {"run": {"input": ["in"], "output": f"out/{name}", "mapper": f"sleep {length_s}"}}
        for name, length_s in LENGTHS_S.items()
    }
    made = on_unequal_nodes(3, **real)
    place.write(made.pop("jobs"), **made, settings=EXACT)
    code, document = place.document("--tasks", "ltrf")
    assert code == 0
    scheduler = scheduler_like(place.runs[-1], is_live=True)
    for event in events_of(place.runs[-1]):
        scheduler.handle(event)

    attempts = list(scheduler.state.closed)
    expected = simulated(3, lengths_of(attempts))
    turns = turns_of(attempts)
    assert turns["fast"] == ["load", "report", "load"]
    assert turns == turns_of(expected.attempts)
    assert turns != turns_of(simulated(1, lengths_of(attempts)).attempts)
    used = {name: row["used_container_s"] for name, row in document["accounts"].items()}
    accounts = expected.document()["accounts"]
    assert used == pytest.approx(
        {name: row["used_container_s"] for name, row in accounts.items()}, rel=0.4
    )
