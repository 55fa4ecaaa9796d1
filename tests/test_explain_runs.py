"""`sluice explain`: from a log, or a recorded run, to where its time went and what would help."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests import warm_start

import sluice
from sluice.ingest.scheduler_configs.reading import read_queue_tree
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun, TaskCosts
from sluice.reporting.explain.map_spills import MapSpills, map_spills

LOGS = Path(__file__).parent / "data/logs"
SPARK = LOGS / "spark/local-1430917381534"
NIGHTLY = LOGS.parents[2] / "examples/queues/nightly.xml"
QUEUES = ["--config", str(NIGHTLY), "--map", "*=root.science"]


def explained(*words, cwd, home):
    environment = {**os.environ, "SLUICE_HOME": str(home)}
    command = [sys.executable, "-m", "sluice", *words]
    return warm_start.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_log_by_a_relative_path_from_another_folder(tmp_path):
    relative = os.path.relpath(SPARK, tmp_path)

    done = explained("explain", relative, cwd=tmp_path, home=tmp_path / "home")

    assert done.returncode == 0, done.stderr
    for words in ("recorded", "critical path", "stage 0: map", "2x", "efficiency", "saves"):
        assert words in done.stdout


def test_a_log_that_is_cut_off_is_explained_with_a_note(tmp_path):
    whole = SPARK.read_bytes()
    log = tmp_path / "local-1430917381534.inprogress"
    log.write_bytes(whole[: len(whole) * 9 // 10 + 7])
    done = explained("explain", str(log), cwd=tmp_path, home=tmp_path / "home")
    found = json.loads(
        explained("explain", str(log), "--json", cwd=tmp_path, home=tmp_path / "home").stdout
    )

    assert "it failed, or its end is not in the log" in done.stdout
    assert "note: The log ends before the application" in done.stdout
    assert (found["succeeded"], len(found["notes"])) == (False, done.stdout.count("note: "))
    assert abs(found["replay_error"]) < 0.05


def test_the_document_has_the_fields_of_the_contract(tmp_path):
    done = explained("explain", str(SPARK), "--json", cwd=tmp_path, home=tmp_path / "home")

    document = json.loads(done.stdout)
    for name in ("recorded_s", "replayed_s", "waited_s", "driver_s", "idle_share"):
        assert document[name] >= 0
    assert document["replay_error"] == document["replayed_s"] / document["recorded_s"] - 1
    assert set(document["critical_path"][0]) == {"stage", "s", "share"}
    assert {"stage", "longest_s", "median_s", "ratio"} <= set(document["skew"][0])
    assert [one["slots_factor"] for one in document["what_if"]] == [0.5, 1, 2, 4]
    same = document["what_if"][1]
    assert (same["slots"], same["s"]) == (document["slots"], document["replayed_s"])
    assert same["efficiency"] == 1
    saved = [one["saves_s"] for one in document["advice"]]
    assert saved == sorted(saved, reverse=True)
    assert len(saved) <= 5


@pytest.mark.parametrize(
    "log",
    [
        SPARK,
        LOGS / "spark/application_1516285256255_0012",
        LOGS / "spark/app-20161115172038-0000",
        *sorted((LOGS / "jhist").glob("job_1[0-5]*.jhist")),
    ],
    ids=lambda log: log.name[:24],
)
def test_a_replay_takes_what_was_recorded(log):
    assert abs(sluice.explain(str(log)).replay_error) < 0.05


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("grep_rdd-100MB-localcluster2x1.jsonl.gz", "first task of a slot takes 10.1 times"),
        ("linelen_rdd-50MB-local2.jsonl.gz", "Use 4 slots instead of 2"),
        ("grep_rdd-100MB-localcluster2x1.jsonl.gz", "Start the driver"),
    ],
)
def test_five_changes_are_listed_with_what_each_saves(log, said):
    advice = sluice.explain(str(LOGS / "spark" / log)).advice

    assert len(advice) == 5
    assert any(said in one.what for one in advice)
    assert all(one.saves_s > 0 and one.how for one in advice)
    assert [one.saves_s for one in advice] == sorted((one.saves_s for one in advice), reverse=True)


def test_what_tasks_spent_besides_their_work_survives_the_store(tmp_path):
    store = str(tmp_path / "store.db")
    sluice.import_logs([LOGS / "spark/linelen_rdd-50MB-local2.jsonl.gz"], store=store)

    found = sluice.explain("linelen_rdd", store=store)

    assert any("start faster: smaller code" in one.what for one in found.advice)
    assert (found.spilled_bytes, found.remote_tasks) == (0, 0)


def test_hadoop_logs_show_spills_garbage_collection_and_locality(tmp_path):
    store = str(tmp_path / "store.db")
    log = str(next((LOGS / "jhist").glob("job_1526555215992_0002-*.jhist")))
    sluice.import_logs([log], store=store)

    found = sluice.explain("QuasiMonteCarlo", store=store)

    assert found == sluice.explain(log)
    assert found.gc_s == pytest.approx(0.083)
    assert (found.spilled_records, found.remote_tasks, found.spilled_bytes) == (4, 0, None)
    done = explained("explain", log, cwd=tmp_path, home=tmp_path / "home")
    for words in ("garbage collection     83 ms", "4 records", "away from their input  0 tasks"):
        assert words in done.stdout


@pytest.mark.parametrize(
    ("job", "records"), [("job_1526555215992_0002", 2), ("job_1329348432655_0001", 10)]
)
def test_records_that_maps_spilled_are_shown_with_their_prediction(job, records):
    """Counters and buffers of real histories: the maps of both spill each record once."""
    found = sluice.explain(str(next((LOGS / "jhist").glob(f"{job}-*.jhist")))).document()

    assert found["map_spills"] == {
        "records": records, "predicted_records": records, "sort_mb": 100,
    }  # fmt: skip


def test_spills_are_predicted_only_where_the_log_says_enough():
    costs = TaskCosts(spilled_records=300)
    phase = PastPhase(
        name="map", kind="map", tasks=2, avg_s=1, max_s=1, output_records=100,
        shuffle_write_bytes=10**7, costs=costs,
    )  # fmt: skip
    size = {"mapreduce.task.io.sort.mb": "1"}
    run = PastRun(run_id="r", profile="p", source="jhist", phases=(phase,), configuration=size)
    compressed = size | {"mapreduce.map.output.compress": "TRUE"}
    unknown = [
        replace(run, configuration={}),
        replace(run, configuration=compressed),
        replace(run, configuration={"mapreduce.task.io.sort.mb": "-1"}),
        replace(run, phases=(replace(phase, costs=None),)),
        replace(run, phases=(replace(phase, shuffle_write_bytes=0),)),
        replace(run, phases=(replace(phase, output_records=0),)),
    ]

    assert map_spills(run) == MapSpills(records=300, predicted_records=200, sort_mb=1)
    assert [None] * len(unknown) == [map_spills(one) for one in unknown]


def test_a_rumen_trace_shows_spills_and_locality():
    found = sluice.explain(str(LOGS / "rumen" / "wordcount.json"))

    assert (found.gc_s, found.spilled_records, found.remote_tasks) == (None, 35_732, 0)


WAITING = """\
version: 1
cluster: {map_slots: 2, reduce_slots: 1}
jobs:
  - {id: first, maps: {tasks: 4, avg_s: 10}, reduces: {tasks: 1, avg_s: 5}}
  - {id: second, maps: {tasks: 2, avg_s: 10}, reduces: {tasks: 1, avg_s: 5}}
"""


def test_why_of_an_ended_job_is_its_diagnosis_in_three_lines(tmp_path):
    (tmp_path / "jobs.yaml").write_text(WAITING)
    words = ("why", "second", "--file", "jobs.yaml")
    said = explained(*words, cwd=tmp_path, home=tmp_path / "home").stdout
    found = explained(*words, "--json", cwd=tmp_path, home=tmp_path / "home").stdout
    ended = [
        "second ended at 35 s; it waited 20 s for its first task.",
        "at 10 s it waited because all 2 map slots are busy",
    ]
    lines = [
        "took 35 s: waited 20 s, slots idle 44 %",
        "critical path: map 10 s, reduce 5 s",
        "what would save most: Submit when slots are free, or guarantee its queue a share (20 s)",
    ]

    assert " ".join(said.split()) == " ".join([*ended, *lines])
    assert json.loads(found)["explained"] == lines
    assert json.loads(found)["waited_for"]["at_s"] == 10.0


def test_why_of_a_job_that_waits_or_has_failed_has_no_diagnosis(tmp_path):
    hangs = "settings: {p_hang: 1, failures_max: 1, task_timeout_s: 30}\njobs:"
    for content, more in ((WAITING, ("--at-s", "12")), (WAITING.replace("jobs:", hangs), ())):
        (tmp_path / "jobs.yaml").write_text(content)
        words = ("why", "second", "--file", "jobs.yaml", *more, "--json")
        done = explained(*words, cwd=tmp_path, home=tmp_path / "home")

        assert "explained" not in json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_session_gets_no_advice_about_the_time_in_which_its_user_thinks(is_stored, tmp_path):
    log, store = LOGS / "spark" / "application_1516285256255_0012", str(tmp_path / "store.db")
    if is_stored:
        sluice.import_logs([log], store=store)
    found = sluice.explain(log.name, store=store) if is_stored else sluice.explain(str(log))

    assert [] == [one.what for one in found.advice if one.saves_s > 5]
    assert any("the user of this session" in note for note in found.notes)


def test_more_slots_never_take_longer():
    seconds = [one.s for one in sluice.explain(str(SPARK)).what_if]

    assert seconds == sorted(seconds, reverse=True)


def test_a_stored_application_is_explained_by_its_name_and_id(tmp_path):
    store = str(tmp_path / "store.db")
    sluice.import_logs([SPARK], store=store)

    by_name = sluice.explain("Spark shell", store=store)
    by_id = sluice.explain("local-1430917381534", store=store)

    assert by_name == by_id == sluice.explain(str(SPARK))


def test_one_of_several_jobs_is_chosen(tmp_path):
    store = str(tmp_path / "store.db")
    sluice.import_logs([LOGS / "jhist"], store=store)

    with pytest.raises(InvalidInput, match="Choose one by job") as caught:
        sluice.explain(str(LOGS / "jhist"))
    assert "job_1329348432655_0001" in str(caught.value)
    chosen = sluice.explain(str(LOGS / "jhist"), job="job_1329348432655_0001")
    assert chosen.profile == "Sleep job"
    with pytest.raises(InvalidInput, match="no job 'job_7'"):
        sluice.explain(str(LOGS / "jhist"), job="job_7")


@pytest.mark.parametrize(
    ("subject", "said"), [("sparkshell", "Spark shell"), ("nothing-like-it", "Spark shell")]
)
def test_an_unknown_subject_names_what_is_near(subject, said, tmp_path):
    store = str(tmp_path / "store.db")
    sluice.import_logs([SPARK], store=store)

    with pytest.raises(InvalidInput, match=said):
        sluice.explain(subject, store=store)


def test_a_job_of_a_log_is_explained_in_other_queues(tmp_path):
    """Two jobs share a queue of three units: the second waits for the first."""
    log = str(LOGS / "rumen")
    words = ("explain", log, "--job", "job_1369942127770_1206", *QUEUES)
    shown, found = (
        explained(*words, *more, cwd=tmp_path, home=tmp_path) for more in ((), ("--json",))
    )

    assert shown.returncode == 0, shown.stderr
    assert "In the queues of nightly.xml:" in shown.stdout
    said = " ".join(shown.stdout.split())
    assert "because root.science is at its maximum share of 3 units" in said
    document = json.loads(found.stdout)["queues"]
    assert document["config"] == "nightly.xml"
    assert document["waited_s"] > 0
    assert document["waited_for"]["reason"] == "queue_at_max"


def test_queues_of_a_file_that_was_read_have_its_name_and_its_notes():
    one = {"job": "job_1369942127770_1206", "mapping": {"*": "root.science"}}
    by_path = sluice.explain(str(LOGS / "rumen"), config=NIGHTLY, **one)
    by_tree = sluice.explain(str(LOGS / "rumen"), config=read_queue_tree(str(NIGHTLY)), **one)

    assert by_path == by_tree
    assert by_tree.queued is not None
    assert by_tree.queued.config == "nightly.xml"
    keys = "yarn.scheduler.capacity.root.science.acl_submit_applications"
    assert by_tree.notes.count(f"keys that are not simulated: {keys}") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["application_1", *QUEUES[:2]], "--config: it needs all jobs of a log"),
        ([str(SPARK), *QUEUES[2:]], "--map: it has no effect without --config"),
    ],
)
def test_queues_without_a_log_or_a_configuration_are_refused(words, said, tmp_path):
    refused = explained("explain", *words, cwd=tmp_path, home=tmp_path)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr


def test_a_workload_is_refused_with_the_command_that_reads_it():
    with pytest.raises(InvalidInput, match=r"sluice simulate jobs\.yaml"):
        sluice.explain("jobs.yaml")


def test_a_log_without_single_tasks_is_refused_in_one_line(tmp_path):
    (swf,) = sorted((LOGS / "swf").glob("*.swf"))[:1] or [LOGS / "swf"]

    done = explained("explain", str(swf), cwd=tmp_path, home=tmp_path / "home")

    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1


FEW_HEARTBEATS = """version: 1
cluster: {nodes: 10, node: {map_slots: 4, reduce_slots: 2}}
jobs: [{id: tiny, maps: {tasks: 120, avg_s: 0.5}}]
settings: {heartbeat_s: 3}
"""
EARLY_REDUCES = """version: 1
cluster: {map_slots: 20, reduce_slots: 10}
jobs:
  - {id: big, pool: a, maps: {tasks: 200, avg_s: 30}, reduces: {tasks: 10, avg_s: 60}}
  - {id: small, submitted_at_s: 50, pool: b, maps: {tasks: 4, avg_s: 10}, reduces: {tasks: 2, avg_s: 5}}
settings: {slowstart: 0.05}
"""  # noqa: E501


def test_slots_that_wait_for_heartbeats_or_for_maps_are_not_just_busy():
    running = sluice.why("tiny", source=sluice.parse_workload(FEW_HEARTBEATS), at_s=5)
    assert "until the next heartbeat of their node (heartbeat_s)" in running.reason.text()
    ended = sluice.why("tiny", source=sluice.parse_workload(FEW_HEARTBEATS)).diagnosis
    assert "a lower heartbeat_s" in ended.advice[0].what, "more slots are not the best advice"

    early = sluice.parse_workload(EARLY_REDUCES)
    waiting = sluice.why("small", source=early, tasks="fair", at_s=100).reason.text()
    assert "tasks that started early hold 10 of them" in waiting
    assert "of big (slowstart)" in waiting
