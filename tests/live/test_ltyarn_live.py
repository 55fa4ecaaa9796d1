"""Long-term sharing of real processes: an idle tenant is paid back, in one run and over two."""

import json

import pytest
from tests.live.command_line import Place
from tests.live.recorded_decisions import checks_out

CLUSTER = {"containers": 2}
QUEUES = [{"id": "etl"}, {"id": "ads"}, {"id": "adhoc"}]
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
    """Three tenants with tasks of a third of a second; ads is idle first, then has much to do."""
    if not (place.folder / "in").exists():
        for name, files in (("etl", 24), ("adhoc", 2), ("ads", 8)):
            place.write_input(f"in/{name}", *("x\n" for _ in range(files)))
    write(
        place,
        [
            job("load", "etl", 0, "etl", 0.3),
            job("query", "adhoc", 0, "adhoc", 0.3),
            job("report", "ads", 2.5, "ads", 0.3),
        ],
    )
    code, document = place.document("--tasks", tasks)
    assert 0 == code
    (place.folder / "out").rename(place.folder / f"out-{tasks}")
    return document, ledger_of(place)


@pytest.mark.slow
def test_a_lender_is_paid_back_under_ltrf_and_not_under_mlrf(place):
    """Ads finishes sooner under ltrf: nothing of etl starts while ads is owed."""
    responses, ledgers = {}, {}
    for tasks in ("mlrf", "ltrf"):
        document, ledgers[tasks] = late_tenant(place, tasks)
        job_of_ads = document["jobs"]["report"]
        responses[tasks] = job_of_ads["finished_at_s"] - job_of_ads["submitted_at_s"]
        assert {"done"} == {one["state"] for one in document["jobs"].values()}
        assert checks_out(place.runs[-1])
    for found in ledgers.values():
        cpu_s = {name: row["cpu_s"] for name, row in found["tenants"].items()}
        assert cpu_s["etl"] >= 24 * 0.3
        assert cpu_s["ads"] >= 8 * 0.3

    assert responses["ltrf"] < 0.85 * responses["mlrf"]
    borrowed = {name: one["tenants"]["ads"]["borrowed"] for name, one in ledgers.items()}
    assert borrowed["ltrf"] > borrowed["mlrf"]
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
        code, document = place.document("--tasks", "ltrf", "--set", f"accounts={accounts}")
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
