"""Run times on clusters of every VM type and size, for jobs that list none."""

import json

import pytest
from tests.estimate.nightly_jobs import nightly_jobs, nights_of

import sluice
from sluice.bootstrap.forecasts.job_forecasts import stored_forecasts
from sluice.bootstrap.forecasts.predicted_jobs import time_alone_s
from sluice.bootstrap.preparation.vm_grids import cluster_sizes, with_grids
from sluice.bootstrap.preparation.vm_nodes import with_vm_nodes
from sluice.model.errors import InvalidInput
from sluice.model.job import VmRequest
from sluice.model.vm_pools import UNKNOWN_S
from sluice.reporting.exports.workload_document import workload_document
from sluice.store.profiles import Profiles

TYPES = """\
version: 1
server_units: 8
vm_types:
  - {id: small, units: 1, vms: 8, map_slots: 1, reduce_slots: 1}
  - {id: large, units: 4, vms: 4, map_slots: 4, reduce_slots: 2}
"""


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Forty jobs, ten nights each, measured on 16 slots."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    runs = nights_of(nightly_jobs(0))
    with Profiles.open() as profiles:
        for each in runs.values():
            profiles.add(each)
    return runs


def grid(text, more=""):
    """{job: {(type, VMs): prediction}}."""
    made = with_grids(sluice.parse_workload(f"{TYPES}{more}{text}"), time_alone_s).workload
    return {
        str(job.job_id): {(one.vm_type, one.vms): one for one in job.predictions}
        for job in made.jobs
    }


def test_sizes_grow_by_halves_up_to_the_whole_pool():
    assert [1] == cluster_sizes(1)
    assert [] == cluster_sizes(0)
    assert [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40] == cluster_sizes(40)


def test_task_lengths_give_the_time_of_the_job_alone():
    """12 maps of 10 s in waves, then 2 reduces of 5 s."""
    found = grid("jobs: [{id: a, maps: {tasks: 12, avg_s: 10}, reduces: {tasks: 2, avg_s: 5}}]\n")

    assert {
        ("small", 1): 130, ("small", 2): 65, ("small", 3): 45, ("small", 4): 35, ("small", 6): 25,
        ("large", 1): 35, ("large", 2): 25, ("large", 3): 15,
    } == {cell: one.time_s for cell, one in found["a"].items()}  # fmt: skip
    # Eight small VMs and four large ones are no faster, and are left out.


@pytest.mark.usefixtures("history")
def test_a_profile_gives_the_forecasts_of_every_other_command():
    name = "nightly-03"
    found = grid(f"jobs: [{{id: a, profile: {name}}}]\n")["a"]

    for (vm_type, vms), one in found.items():
        slots = {"map": vms, "reduce": vms} if vm_type == "small" else {
            "map": 4 * vms, "reduce": 2 * vms
        }  # fmt: skip
        with Profiles.open() as profiles:
            expected = stored_forecasts([name], profiles).of(name, slots=slots)
        assert one.time_s == pytest.approx(expected.predicted_s)
        # The margin reaches to the upper end of the interval.
        assert one.time_s * (1 + one.error) == pytest.approx(expected.high_s)


def test_the_margin_of_the_file_comes_first(history):
    found = grid("jobs: [{id: a, profile: nightly-03}]\n", "prediction_error: 0.2\n")["a"]

    assert {None} == {one.error for one in found.values()}


def test_predictions_of_the_file_are_kept():
    text = "jobs: [{id: a, maps: {tasks: 2, avg_s: 3}, predictions: {small: {'2': 7}}}]\n"

    assert [7.0] == [one.time_s for one in grid(text)["a"].values()]


def test_a_profile_that_is_not_stored_is_named(history):
    with pytest.raises(InvalidInput, match="'nightly-99' gives no predictions") as caught:
        grid("jobs: [{id: a, profile: nightly-99}]\n")

    assert "job 'a'" in caught.value.where


def test_a_type_without_slots_is_named():
    text = TYPES.replace(", map_slots: 4, reduce_slots: 2", "")
    with pytest.raises(InvalidInput, match="type 'large' of vm_types has no slots"):
        with_grids(
            sluice.parse_workload(f"{text}jobs: [{{id: a, maps: {{tasks: 2, avg_s: 3}}}}]"),
            time_alone_s,
        )


@pytest.mark.parametrize(
    ("slots", "what"),
    [
        ("map_slots: 2", "reduce_slots is missing"),
        ("map_slots: 2, reduce_slots: 1, containers: 3", "containers is given together"),
        ("map_slots: 0, reduce_slots: 1", "map_slots is 0"),
    ],
)
def test_slots_that_contradict_each_other_are_refused(slots, what):
    text = (
        f"version: 1\nserver_units: 8\nvm_types: [{{id: a, units: 1, vms: 1, {slots}}}]\njobs: []"
    )
    with pytest.raises(InvalidInput, match=what):
        sluice.parse_workload(text)


def test_vms_become_nodes():
    workload = with_vm_nodes(sluice.parse_workload(TYPES + "jobs: []"))

    assert 12 == len(workload.cluster.nodes)
    assert [("large-4", "large", 4, 2, 4.0)] == [
        (node.node_id, node.vm_type, node.map_slots, node.reduce_slots, node.vm_units)
        for node in workload.cluster.nodes[-1:]
    ]


def test_slots_of_a_type_are_written_and_read_again():
    workload = sluice.parse_workload(TYPES + "jobs: []")

    again = sluice.parse_workload(json.dumps(workload_document(workload)))
    assert again.vm_pools == workload.vm_pools


# --- jobs that name their cluster -----------------------------------------------------------------


def test_a_job_that_names_its_cluster_has_that_one_alone():
    """Its limit comes first, then its predictions, then its task lengths."""
    named = "vm_request: {vm_type: large, vms: 2}"
    text = (
        f"jobs:\n  - {{id: limit, limit_s: 40, maps: {{tasks: 12, avg_s: 10}}, {named}}}\n"
        f"  - {{id: listed, {named}, predictions: {{large: {{'1': 9, '2': 7}}}}}}\n"
        f"  - {{id: lengths, maps: {{tasks: 12, avg_s: 10}}, {named}}}\n"
    )

    assert {
        "limit": {("large", 2): 40.0},
        "listed": {("large", 2): 7.0},
        "lengths": {("large", 2): 20.0},
    } == {
        job: {cell: one.time_s for cell, one in cells.items()} for job, cells in grid(text).items()
    }


@pytest.mark.usefixtures("history")
def test_a_job_that_was_never_profiled_is_planned_until_it_ends():
    text = (
        "jobs: [{id: a, profile: nightly-99, vm_request: {vm_type: small, vms: 3}},"
        " {id: b, profile: nightly-03, vm_request: {vm_type: small, vms: 3}}]\n"
    )
    found = grid(text)

    assert {("small", 3): UNKNOWN_S} == {cell: one.time_s for cell, one in found["a"].items()}
    with Profiles.open() as profiles:
        known = stored_forecasts(["nightly-03"], profiles)
        expected = known.of("nightly-03", slots={"map": 3, "reduce": 3})
    assert expected.predicted_s == pytest.approx(found["b"]["small", 3].time_s)


@pytest.mark.parametrize(
    ("request_", "what"),
    [
        ("{vm_type: medium, vms: 1}", "vm_request names the unknown type 'medium'"),
        ("{vm_type: large, vms: 5}", "asks for 5 VMs of 'large', whose pool has 4"),
    ],
)
def test_a_cluster_that_the_pools_do_not_have_is_refused(request_, what):
    with pytest.raises(InvalidInput, match=what):
        grid(f"jobs: [{{id: a, maps: {{tasks: 2, avg_s: 3}}, vm_request: {request_}}}]\n")


def test_no_deadline_is_promised_to_a_job_of_unknown_length(history):
    text = "jobs: [{id: a, profile: x, deadline_s: 9, vm_request: {vm_type: large, vms: 1}}]\n"
    with pytest.raises(InvalidInput, match="nothing is known of how long it runs"):
        grid(text)


def test_a_job_that_names_its_cluster_survives_writing_its_file():
    text = (
        f"{TYPES}jobs: [{{id: a, limit_s: 9,"
        " vm_request: {vm_type: large, vms: 2, start_within_s: 30}}]\n"
    )
    workload = sluice.parse_workload(text)
    again = sluice.parse_workload(json.dumps(workload_document(workload)))

    assert workload.jobs[0].vm_request == again.jobs[0].vm_request
    assert VmRequest(vm_type="large", vms=2, start_within_s=30) == again.jobs[0].vm_request


def test_what_a_file_says_about_its_pools_is_no_old_key_of_a_setting():
    document = {
        "version": 1,
        "server_units": 6,
        "vm_types": [{"id": "node", "units": 6, "vms": 2, "map_slots": 4, "reduce_slots": 2}],
        "jobs": [{"id": "a", "maps": {"tasks": 4, "avg_s": 10}, "deadline_s": 100}],
    }
    notes: list[str] = []
    result = sluice.simulate(document, tasks="vm-pools", on_message=notes.append)

    assert result.makespan_s == 10
    assert not [note for note in notes if "vm_server_units" in note]
