"""A provider lets admission rent VMs: what was rented, why, and what it all cost."""

import json

from tests.cli.terminal import sluice

FILE = "examples/deadlines.yaml"
RENTING = (
    "--tasks", "yarn-like", "--admission", "capacity", "--set", "capacity.vms_max=16",
)  # fmt: skip


def answer(*words):
    found = sluice(*words)
    assert 0 == found.code, found.err
    return found.out


def test_a_provider_sees_what_was_rented_and_the_bill():
    shown = answer("simulate", FILE, *RENTING)
    document = json.loads(answer("simulate", FILE, *RENTING, "--json"))
    machines = document["machines"]

    assert "rented-1" in shown
    assert "bill" in shown
    assert 8 == machines["vms_fixed"]
    assert document["jobs"]["etl-3"]["deadline_met"]
    parts = machines["fixed_usd"] + machines["rented_usd"] + machines["penalties_usd"]
    assert machines["bill_usd"] == parts
    assert 1.0 >= document["utilisation"]["containers"]


def test_the_stories_of_the_job_and_of_the_node_agree():
    asked = ("--file", FILE, *RENTING)

    assert "VMs are rented for it for" in answer("story", "etl-3", *asked)
    assert "are rented for etl-3" in answer("story", "rented-1", *asked)
    assert "ready at 60 s" in " ".join(answer("why", "etl-3", *asked, "--at-s", "30").split())


def test_renting_is_compared_with_the_fixed_plan():
    fixed = "admission=capacity+tasks=yarn-like"
    rows = json.loads(
        answer("compare", FILE, "--schedulers", f"{fixed}, {fixed}[capacity.vms_max=16]", "--json")
    )["rows"]

    assert [2, 4] == [row["deadlines_met"] for row in rows]
    assert rows[1]["cost_usd"] > rows[0]["cost_usd"]
    assert rows[1]["bill_usd"] < rows[0]["bill_usd"]
