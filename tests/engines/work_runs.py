"""Running real jobs for tests: each attempt in a forked child, one after the other."""

import json
import os
import shlex
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from sluice.engines.mapreduce import WorkFailed, perform
from sluice.engines.mapreduce.layout import PreparedJob, begin_job, commit_job, prepare
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase, RunSpec
from sluice.model.slot_kind import SlotKind

SPLIT_WORDS = r"""awk '{for(i=1;i<=NF;i++) print $i "\t1"}'"""
SUM = (
    r"""awk -F '\t' 'NR>1 && $1"" != k {print k "\t" n; n=0} """
    r"""{k=$1""; n+=$2} END {if (NR) print k "\t" n}'"""
)


def job_in(folder, *, reduces=1, job_id="word count/1", **run):
    """A job whose commands are given as command lines."""
    for part in ("mapper", "combiner", "reducer"):
        if isinstance(run.get(part), str):
            run[part] = tuple(shlex.split(run[part]))
    phase = Phase(name="reduce", kind=SlotKind.REDUCE, tasks=reduces)
    return Job(
        job_id=JobId(job_id),
        pool=PoolId("p"),
        phases=(phase,),
        run=RunSpec(**{"folder": str(folder), "input": ("in",), "output": "out", **run}),
    )


def write_input(folder, *contents):
    """Files in the folder `in`."""
    (folder / "in").mkdir(exist_ok=True)
    for number, content in enumerate(contents):
        data = content if isinstance(content, bytes) else content.encode()
        (folder / "in" / f"file-{number}").write_bytes(data)


def place_in(folder, attempt_id, **more):
    """Where one attempt works."""
    scratch = Path(folder) / "scratch"
    scratch.mkdir(exist_ok=True)
    return {"attempt_id": attempt_id, "node_id": "n1", "scratch": str(scratch), **more}


def attempt(work: dict[str, Any], place: dict[str, Any]) -> dict[str, Any]:
    """The result of one attempt in a child of its own; raises the WorkFailed that it raised."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _answer(writing, work, place)
    os.close(writing)
    with os.fdopen(reading) as answers:
        answer = json.loads(answers.read() or "{}")
    os.waitpid(child, 0)
    if "result" not in answer:
        blames = [tuple(blame) for blame in answer["blames"]]
        raise WorkFailed(answer["message"], blames)
    result: dict[str, Any] = answer["result"]
    return result


def _answer(writing, work, place):
    answer: dict[str, Any] = {"message": "the child broke", "blames": []}
    try:
        answer = {"result": perform(json.loads(json.dumps(work)), place)}
    except WorkFailed as failed:
        answer = {"message": str(failed), "blames": failed.blames}
    except BaseException:  # noqa: BLE001  # a forked child must not return into the test runner
        traceback.print_exc()
    finally:
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)


def run_tasks(prepared: PreparedJob, folder, **more):
    """All tasks of a job; returns the outputs of every (phase, task), and all results."""
    begin_job(prepared)
    outputs: dict[tuple[int, int], Any] = {}
    results: dict[tuple[int, int], Any] = {}
    for phase in range(len(prepared.job.phases)):
        for task in range(prepared.job.phases[phase].tasks):
            work = prepared.work(phase, task, outputs)
            place = place_in(folder, f"{prepared.name}-{phase}-{task}-1-e1", **more)
            results[phase, task] = attempt(work, place)
            outputs[phase, task] = results[phase, task]["outputs"]
    return outputs, results


def run_job(job, folder, **more):
    """The contents of the part files of a job that was planned, run and committed."""
    prepared = prepare(job)
    outputs, _ = run_tasks(prepared, folder, **more)
    output = Path(commit_job(prepared, outputs))
    assert (output / "_SUCCESS").is_file()
    assert not prepared.staging.folder.exists()
    assert not list((Path(folder) / "scratch").glob("*.tmp"))
    parts = sorted(output.glob("part-*"))
    assert {*parts, output / "_SUCCESS", output / ".sluice"} == {*output.iterdir()}
    return [part.read_bytes() for part in parts]


def counted(parts):
    """Lines `word TAB number` as a Counter; every word stands once."""
    pairs = [line.split(b"\t") for part in parts for line in part.splitlines()]
    assert len({word for word, _ in pairs}) == len(pairs)
    return Counter({word.decode("utf-8", "surrogateescape"): int(n) for word, n in pairs})
