"""Long-term sharing of real processes: an idle tenant is paid back, in one run and over two."""

import json

import pytest
from tests.live.command_line import Place
from tests.live.recorded_decisions import checks_out, events_of, scheduler_like

CLUSTER = {"containers": 2}
QUEUES = [{"id": "etl"}, {"id": "ads"}, {"id": "adhoc"}]
ETL_TASKS = 48  # more than two containers finish before ads has its first task
ADS_TASKS = 27
ADS_AT_S = 2
BURN_S = 0.1
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


def job(name, pool, at_s, files, burn_s):
    run = {"input": [f"in/{files}"], "output": f"out/{name}", "mapper": f"python3 burn.py {burn_s}"}
    return {"id": name, "pool": pool, "submitted_at_s": at_s, "run": run}


def write(place, jobs):
    place.write(jobs, cluster=CLUSTER, queues=QUEUES)


def ledger_of(place, *words):
    code, out, err = place.sluice("fairness", "--json", *words)
    assert code == 0, err
    return json.loads(out)


def late_tenant(place, tasks):
    """Three tenants with tasks of a tenth of a second; ads is idle for 2 s, then has much."""
    if not (place.folder / "in").exists():
        for name, files in (("etl", ETL_TASKS), ("adhoc", 2), ("ads", ADS_TASKS)):
            place.write_input(f"in/{name}", *("x\n" for _ in range(files)))
    write(
        place,
        [
            job("load", "etl", 0, "etl", BURN_S),
            job("query", "adhoc", 0, "adhoc", BURN_S),
            job("report", "ads", ADS_AT_S, "ads", BURN_S),
        ],
    )
    code, document = place.document("--tasks", tasks)
    assert 0 == code
    assert {"done"} == {one["state"] for one in document["jobs"].values()}
    (place.folder / "out").rename(place.folder / f"out-{tasks}")
    assert checks_out(place.runs[-1])
    return ledger_of(place)


def part_of_the_gap_left(run):
    """What etl has used more than ads while both had tasks to start: at the end of that, / before.

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
    ledgers, left = {}, {}
    for tasks in ("mlrf", "ltrf"):
        ledgers[tasks] = late_tenant(place, tasks)
        left[tasks] = part_of_the_gap_left(place.runs[-1])
    for found in ledgers.values():
        cpu_s = {name: row["cpu_s"] for name, row in found["tenants"].items()}
        assert cpu_s["etl"] >= ETL_TASKS * BURN_S
        assert cpu_s["ads"] >= ADS_TASKS * BURN_S

    assert left["ltrf"] < 0.5, left
    assert left["mlrf"] > 0.7, left
    assert {} == place.processes_left()


@pytest.mark.slow
def test_accounts_are_kept_over_two_runs(place):
    """Etl runs alone in the first run; in the second ads comes first until it has caught up."""
    place.write_input("in/first", *("x\n" for _ in range(8)))
    place.write_input("in/many", *("x\n" for _ in range(6)))
    write(place, [job("load", "etl", 0, "first", 0.2)])
    assert 0 == place.document("--tasks", "ltrf")[0]

    both = [job("more", "etl", 0, "many", 0.2), job("report", "ads", 0, "many", 0.2)]
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
