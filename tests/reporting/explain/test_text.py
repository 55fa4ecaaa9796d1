"""The text that `why` and `story` print for people."""

from io import StringIO

import yaml
from rich.console import Console
from tests.reporting.run.run_results import paper_jobs, stormy_state
from tests.runs import map_reduce, scheduler_of, totals

import sluice
from sluice.core.events import JobSubmitted, NodeJoined, TaskProgress, Tick
from sluice.core.explain.story import Story, StoryLine, story
from sluice.core.explain.why import why
from sluice.model.attempts import AttemptKey
from sluice.policies.orders.fifo import Fifo
from sluice.reporting.explain.text import story_view, why_text


def printed(renderable):
    console = Console(file=StringIO(), width=80, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def half_way():
    """All of J1's maps run or wait; J2 and the others wait behind it."""
    scheduler = scheduler_of()
    scheduler.handle(NodeJoined(0.0, totals(8, 4).nodes[0]))
    for job in paper_jobs():
        scheduler.handle(JobSubmitted(0.0, job))
    scheduler.handle(Tick(0.0))
    return scheduler


def test_a_waiting_job_shows_the_jobs_ahead_of_it():
    scheduler = half_way()
    text = printed(why_text(why("J2", scheduler.state, scheduler.policies.tasks)))

    assert "J2 waits at 0 s, because 1 job (2 tasks) is ahead of it in the queue." in text
    assert "4 tasks of the previous phase are not" in text


def test_a_job_with_two_stages_ahead_is_one_job_ahead():
    """Two stages of `a` wait, and are one job; a stage of `b` itself is not ahead of `b`."""
    graphs = """
        version: 1
        cluster: {containers: 1}
        jobs:
          - id: a
            phases: [{name: x, tasks: 2, avg_s: 9}, {name: y, tasks: 3, avg_s: 9, after: []}]
          - id: b
            phases: [{name: x, tasks: 1, avg_s: 9}, {name: y, tasks: 2, avg_s: 9, after: []}]
    """
    asked = {"source": yaml.safe_load(graphs), "tasks": "fifo", "at_s": 1.0}
    waiting = printed(why_text(sluice.why("b", **asked)))
    running = printed(why_text(sluice.why("a", **asked)))

    assert waiting.count("1 job (4 tasks) is ahead of it in the queue") == 3
    assert "ahead" not in running


def test_a_running_job_shows_its_tasks():
    scheduler = half_way()
    text = printed(why_text(why("J1", scheduler.state, scheduler.policies.tasks)))

    assert "J1 is running, with 8 tasks" in text
    assert "map: 0 of 10 tasks done, 8 running, 2 waiting; all 8 map slots are busy" in text


def test_an_ended_job_is_one_sentence():
    state = stormy_state()

    assert printed(why_text(why("J1", state, None))).startswith("J1 ended at ")


def test_a_story_reads_from_top_to_bottom():
    lines = printed(story_view(story("J1", stormy_state()))).splitlines()

    assert "job J1" == lines[0].strip()
    assert "submitted" in lines[1]
    assert "job done" in lines[-1]
    assert max(map(len, lines)) <= 80


def test_the_last_lines_of_stderr_follow():
    error = "exit 1\n" + "\n".join(f"line {number}" for number in range(20))
    text = printed(story_view(Story(subject="j", kind="job", lines=(StoryLine(1.0, "x", error),))))

    assert "x: exit 1" in text
    assert "line 19" in text
    assert "line 3\n" not in text


def test_the_middle_of_a_long_story_is_left_out_and_counted():
    lines = tuple(StoryLine(float(n), f"event {n}.") for n in range(100))
    text = printed(story_view(Story(subject="j", kind="job", lines=lines), lines_max=10))

    assert "90 more lines" in text
    assert ("event 4." in text, "event 5." in text, "event 95." in text) == (True, False, True)


def test_a_running_attempt_shows_its_age_its_report_and_why_it_has_no_copy():
    scheduler, node = scheduler_of(), totals(8, 4).nodes[0]
    scheduler.handle(NodeJoined(0.0, node))
    scheduler.handle(JobSubmitted(0.0, map_reduce("J", 2)))
    scheduler.handle(Tick(0.0))
    scheduler.handle(TaskProgress(4.0, AttemptKey("J", 0, 0, 1), 0.1))
    scheduler.pass_time(10.0)
    text = " ".join(printed(why_text(why("J", scheduler.state, Fifo()))).split())

    has_run = f"on {node.node_id} has run for 10 s"
    assert f"attempt J/map/1/1 {has_run}, no progress report; no copy: " in text
    assert f"attempt J/map/0/1 {has_run}, 10 % done at its last report, 6 s ago; " in text
