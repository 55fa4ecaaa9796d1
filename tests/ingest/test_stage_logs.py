"""dbt, Ray, Tez, Philly and Alibaba: jobs, stages, graphs, failures, and what is left out."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.ingest.stage_logs import (
    ALIBABA,
    dbt_result,
    dbt_results,
    philly_job,
    tez_attempt,
    tez_history,
    tez_record,
)  # fmt: skip

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput

TIMELINE = Path(__file__).resolve().parents[1] / "data" / "logs" / "ray" / "timeline.json"
SHOP = [
    dbt_result("model.shop.orders", 0, 10),
    dbt_result("model.shop.users", 0, 4),
    dbt_result("model.shop.report", 12, 20),
    dbt_result("test.shop.unique", 20, 21, "pass"),
    dbt_result("model.shop.off", 0, 0, "skipped"),
]


@pytest.fixture
def file(tmp_path):
    def of(content, name="log"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return of


def stages(run):
    return [(one.name, one.tasks, one.avg_s, one.after) for one in run.phases]


# --- dbt ------------------------------------------------------------------------------------------


def test_an_invocation_of_dbt_is_a_job_and_each_node_a_stage(file):
    log = read_log(file(dbt_results(SHOP)))
    (run,) = log.runs

    assert (log.format, log.skipped_count) == ("dbt", 0)
    assert (run.run_id, run.profile, run.elapsed_s) == ("shop/7f1c", "shop build", 21)
    assert stages(run) == [
        ("model.shop.orders", 1, 10, ()),
        ("model.shop.users", 1, 4, ()),
        ("model.shop.report", 1, 8, ()),
        ("test.shop.unique", 1, 1, ()),
    ]
    (job,) = sluice.workload_from_logs([str(file(dbt_results(SHOP)))]).jobs
    assert [phase.after for phase in job.phases] == [(), (), (0, 1), (2,)]


def test_the_manifest_beside_it_has_the_graph_through_models_that_did_not_run(file):
    parents = {
        "model.shop.report": ["model.shop.middle", "source.shop.raw"],
        "model.shop.middle": ["model.shop.users", "model.shop.middle"],
        "test.shop.unique": ["model.shop.orders"],
    }
    file(json.dumps({"parent_map": parents}), "manifest.json")
    (run,) = read_log(file(dbt_results(SHOP), "run_results.json")).runs

    assert [phase.after for phase in run.phases] == [(), (), (1,), (0,)]
    assert run.notes[0] == "The graph is that of manifest.json."


def test_an_older_manifest_has_its_graph_in_the_nodes(file):
    node = {"depends_on": {"nodes": ["model.shop.users"]}}
    file(json.dumps({"nodes": {"model.shop.report": node}}), "manifest.json")
    (run,) = read_log(file(dbt_results(SHOP), "run_results.json")).runs

    assert [phase.after for phase in run.phases] == [(), (), (1,), ()]


def test_a_damaged_manifest_is_reported_and_does_without(file):
    file("{", "manifest.json")
    log = read_log(file(dbt_results(SHOP), "run_results.json"))

    assert log.skipped[0].why.startswith("manifest.json: it is not JSON")
    assert len(log.runs[0].phases) == 4


def test_an_invocation_with_an_error_did_not_end_well(file):
    failed = dbt_result("model.shop.bad", 5, 6, "error")
    (run,) = read_log(file(dbt_results([*SHOP, failed]))).runs

    assert not run.succeeded
    assert run.phases == ()


def test_nodes_of_dbt_that_cannot_be_used_are_reported(file):
    odd = [*SHOP, {"status": "success"}, dbt_result("a", 1, 2, "dreaming"),
           {"unique_id": "b", "status": "success", "timing": []}]  # fmt: skip
    log = read_log(file(dbt_results(odd)))

    assert [one.why for one in log.skipped] == [
        "a result without unique_id", "a is dreaming", "b has no timing",
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="it holds no node that ran"):
        read_log(file(dbt_results([])))


# --- Ray ------------------------------------------------------------------------------------------


def test_a_timeline_of_ray_has_as_many_tasks_as_it_was_given(file):
    """A second reader: four loads and a sum, an actor and a call of it were submitted."""
    log = read_log(TIMELINE)
    (run,) = log.runs
    events = json.loads(TIMELINE.read_text())
    counts = Counter(one["cat"] for one in events if one["cat"].startswith("task::"))

    assert log.format == "ray"
    assert {f"task::{one.name}": one.tasks for one in run.phases} == counts
    assert counts == {"task::load": 4, "task::total": 1, "task::A.__init__": 1, "task::A.f": 1}
    load = next(one for one in run.phases if one.name == "load")
    lengths = [one["dur"] / 1e6 for one in events if one["cat"] == "task::load"]
    assert load.avg_s == pytest.approx(sum(lengths) / 4)


def test_of_several_attempts_of_a_ray_task_the_last_one_counts(file):
    events = [
        {"cat": "task::f", "name": "f", "ph": "X", "ts": ts * 1e6, "dur": 2e6,
         "args": {"task_id": "ab01000000", "attempt_number": n}}
        for n, ts in enumerate((10, 20))
    ]  # fmt: skip
    (run,) = read_log(file(json.dumps({"traceEvents": events}))).runs

    assert (run.profile, run.submitted_at_s, run.elapsed_s) == ("01000000", 10, 12)
    assert [(one.tasks, one.failed) for one in run.phases] == [(1, 1)]
    assert run.phases[0].timeline[0].started_at_s == 10


def test_jobs_of_a_cluster_are_apart_and_odd_events_are_reported(file):
    def event(job, **more):
        return {"cat": "task::f", "ts": 0, "dur": 1, "args": {"task_id": f"t{job}", "job_id": job},
                **more}  # fmt: skip

    odd = [event("a"), event("b"), event("c", ts="x"), event("d", args=None), event("e", cat="x")]
    log = read_log(file(json.dumps(odd)), "ray")

    assert [run.profile for run in log.runs] == ["a", "b"]
    assert [one.line for one in log.skipped] == [3, 4]


# --- Tez ------------------------------------------------------------------------------------------

VERTICES = [
    tez_attempt(0, 0, 1, 11),
    tez_attempt(0, 1, 1, 21, status="FAILED"),
    tez_attempt(0, 1, 21, 31, number=1),
    tez_attempt(1, 0, 1, 6),
    tez_attempt(2, 0, 30, 90),
    tez_attempt(2, 1, 30, 60, status="KILLED"),
]


def test_a_dag_of_tez_is_a_job_and_a_vertex_a_stage(file):
    log = read_log(file(tez_history(VERTICES)))
    (run,) = log.runs

    assert (log.format, log.skipped_count) == ("tez", 0)
    assert (run.run_id, run.profile) == ("tez/dag_1767600000000_0001_1", "daily")
    assert run.elapsed_s == 100
    assert stages(run) == [
        ("Map 1", 2, 10, ()), ("Map 2", 1, 5, ()), ("Reducer 3", 1, 60, (0, 1)),
    ]  # fmt: skip
    assert [one.failed for one in run.phases] == [1, 0, 0]


def test_an_older_tez_says_the_start_in_an_event_of_its_own(file):
    entity = "attempt_1767600000000_0001_1_00_000000_0"
    pair = tez_record("TASK_ATTEMPT_ID", entity, ("TASK_ATTEMPT_STARTED", 3)) + tez_record(
        "TASK_ATTEMPT_ID", entity, ("TASK_ATTEMPT_FINISHED", 10), status="SUCCEEDED"
    )
    (run,) = read_log(file(tez_history([pair]))).runs

    assert stages(run) == [("Map 1", 1, 7, ())]


def test_a_dag_that_failed_has_no_phases_and_one_without_an_end_is_left_out(file):
    (run,) = read_log(file(tez_history(VERTICES, status="FAILED"))).runs
    assert (run.succeeded, run.phases) == (False, ())

    whole = tez_history(VERTICES)
    with pytest.raises(InvalidInput, match=r"no DAG that has ended .*its end is missing"):
        read_log(file(whole[: whole.rindex('{"entity"')]), "tez")


# --- Philly ---------------------------------------------------------------------------------------


def test_a_job_of_philly_holds_its_gpus_over_its_attempts(file):
    jobs = [
        philly_job("application_1", 0, [(10, 40, (4, 4)), (50, 110, (4, 4))]),
        philly_job("application_2", 5, [(20, 30, (1,))], "Killed"),
        philly_job("application_3", 6, []),
        philly_job("application_4", 7, [(8, None, (1,))], "Running"),
    ]
    log = read_log(file(json.dumps(jobs)))

    assert log.format == "philly"
    assert [one.why for one in log.skipped] == [
        "application_3 never ran", "application_4 is Running",
    ]  # fmt: skip
    first, second = log.workload.jobs
    assert (first.gang, first.phases[0].tasks, first.phases[0].lengths.average_s) == (8, 8, 90)
    assert (second.gang, second.submitted_at_s, str(second.pool)) == (1, 5, "ee9e8c")
    assert log.workload.cluster.nodes[0].containers == 9
    assert [run.succeeded for run in log.runs] == [True, False]


# --- Alibaba --------------------------------------------------------------------------------------


def test_the_graph_of_alibaba_is_in_the_names_of_its_tasks(file):
    log = read_log(file(ALIBABA))
    first, second, failed = log.runs

    assert log.format == "alibaba"
    assert stages(first) == [
        ("M1", 4, 30, ()), ("M2", 2, 20, ()), ("J3_1_2", 3, 20, (0, 1)), ("R4_3_Stg1", 1, 5, (2,)),
    ]  # fmt: skip
    assert stages(second) == [("task_NzU4", 5, 1, ())]
    assert (failed.succeeded, failed.phases) == (False, ())
    assert [one.why for one in log.skipped] == [
        "M1 of j_4 is Running", "job j_4 is left out, for a part of it is missing",
    ]  # fmt: skip
    assert first.slots == {"map": 11}  # at 110 s: 4 + 2 + 5


def test_whole_numbers_that_a_data_frame_wrote_are_whole(file):
    written = re.sub(r",(\d+),(?=j_)", r",\1.0,", ALIBABA)
    assert written != ALIBABA

    plain, framed = (
        [run.phases for run in read_log(file(text)).runs] for text in (ALIBABA, written)
    )

    assert plain == framed


def test_a_line_of_names_is_no_row_and_odd_rows_are_reported(file):
    names = "task_name,instance_num,job_name,task_type,status,start_time,end_time,plan_cpu,plan_mem"
    odd = ["M1,0,j_9,1,Terminated,1,2,1,1", "M1,1,j_9", "M1,1,j_1,1,Terminated,1,2,1,1"]
    log = read_log(file("\n".join([names, *ALIBABA.splitlines()[:4], *odd])))

    assert [one.why for one in log.skipped] == [
        "M1 of j_9 has 0 instances", "it has 3 columns, not 9", "M1 of j_1 is given twice",
    ]  # fmt: skip
    assert len(log.runs) == 1


def test_each_can_be_replayed_from_its_file_alone(file):
    logs = {
        "dbt": dbt_results(SHOP),
        "tez": tez_history(VERTICES),
        "alibaba": ALIBABA,
        "ray": TIMELINE.read_text(),
        "philly": json.dumps([philly_job("a", 0, [(10, 40, (2,))])]),
    }
    for name, content in logs.items():
        workload = sluice.workload_from_logs([str(file(content, name))])
        result = sluice.simulate(workload)
        assert all(row.finished_at_s is not None for row in result.jobs), name
