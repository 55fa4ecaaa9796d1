"""What Sluice does, in a minute: `make demo`. Offline; writes to build/demo only.

Four real jobs run at once on this machine under two schedulers. The first run is measured, so the
second is predicted before it starts. Then the first 50 jobs of a real cluster are replayed in
virtual time under three schedulers.
"""

from __future__ import annotations

import filecmp
import os
import platform
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from examples.findings import findings
from examples.forecast import ends, prediction_table, with_measured_lengths
from examples.gantt import gantt
from examples.volumes import VOLUME_BYTES, write_volumes
from rich.console import Console, RenderableType
from rich.table import Table

import sluice
from sluice.cli.live import live_watcher
from sluice.ingest.logs.swim import SwimOptions, load_swim
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.reporting.compare.tables import comparison_table
from sluice.reporting.formatting import duration, size
from sluice.reporting.run.idleness import idleness
from sluice.reporting.run.result import RunResult
from sluice.reporting.run.slots_gantt import slots_of
from sluice.reporting.run.tables import idle_table, job_table

EXAMPLES = Path(__file__).resolve().parent
TRACE = EXAMPLES / "swim" / "FB-2009_samples_24_times_1hr_0_first50jobs.tsv"
SCHEDULERS = ("fifo", "fair", "yarn-like")
SEEDS = 10
SHORTEST = "grep"
WIDTH = 80

console = Console(width=WIDTH, highlight=False, markup=False, emoji=False)


@dataclass(frozen=True, slots=True)
class Files:
    """Where the demo keeps what it reads and makes."""

    folder: Path

    @property
    def jobs(self) -> Path:
        """The workload that really runs."""
        return self.folder / "jobs.yaml"

    @property
    def measured(self) -> Path:
        """Its jobs with the lengths that the first run measured, to be simulated."""
        return self.folder / "measured.json"

    @property
    def facebook(self) -> Path:
        """The trace of the real cluster, to be simulated."""
        return self.folder / "facebook.json"

    @property
    def state(self) -> Path:
        """Sluice's own memory of the runs, so that the user's stays as it is."""
        return self.folder / "state"

    def told(self, path: Path) -> str:
        """The path as somebody in the checkout would type it."""
        return os.path.relpath(path, EXAMPLES.parent)


def demo(folder: Path, *, volume_bytes: int = VOLUME_BYTES, library: Path | None = None) -> None:
    """OnMessage the whole story. folder: made anew; whatever stood there is gone."""
    began_s = time.monotonic()
    files = Files(folder)
    os.environ["SLUICE_HOME"] = str(files.state)
    lay_out(files, volume_bytes=volume_bytes, library=library)
    fifo = first_run(files)
    fair = second_run(files, fifo)
    draw({"fifo": fifo, "fair": fair}, files)
    replay(files)
    try_next(files)
    say(f"\nThe demo took {duration(time.monotonic() - began_s)}.")


# --- four real jobs -------------------------------------------------------------------------------


def lay_out(files: Files, *, volume_bytes: int, library: Path | None) -> None:
    """The text, the workload, and the code of its jobs, in a folder that holds nothing else."""
    shutil.rmtree(files.folder, ignore_errors=True)
    text = files.folder / "text"
    text.mkdir(parents=True)
    volumes = write_volumes(text, volume_bytes=volume_bytes, library=library)
    code = files.folder / "jobs"
    shutil.copytree(EXAMPLES / "jobs", code, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXAMPLES / "standard_library.yaml", files.jobs)
    heading("Real text")
    text_bytes = sum(volume.stat().st_size for volume in volumes)
    say(
        f"The sources of Python {platform.python_version()}'s own standard library, bound into"
        f" {len(volumes)} volumes of {size(text_bytes)} together: {files.told(text)}"
    )


def first_run(files: Files) -> RunResult:
    """All four jobs under fifo, measured."""
    heading("Four real jobs at once: first come, first served")
    say(
        "Word count and inverted index are Python functions, grep and sort are commands. They run"
        " as processes on two virtual nodes, each with two map slots and one reduce slot; a"
        " map reads one volume."
    )
    command(f"run {files.told(files.jobs)} --tasks fifo")
    result = run(files, "fifo")
    say(
        f"It took {duration(result.makespan_s)}. Nothing was predicted, for nobody had measured"
        " these jobs before. Now somebody has."
    )
    return result


def second_run(files: Files, fifo: RunResult) -> RunResult:
    """The same jobs under fair: predicted, then run, then compared."""
    heading("The same jobs, shared fairly: predicted, then run")
    workload = with_measured_lengths(sluice.load_workload(str(files.jobs)))
    sluice.write_workload(files.measured, workload)
    predicted = sluice.simulate(files.measured, tasks="fair")
    say(
        "What the first run measured predicts the second: the same scheduler places the same tasks"
        f" in virtual time, and says {duration(predicted.makespan_s)}."
    )
    command(f"run {files.told(files.jobs)} --tasks fair")
    fair = run(files, "fair")
    say("Predicted against measured:")
    show(prediction_table(ends(fifo, predicted, fair)))
    say(
        "The prediction counts work. Starting tasks and interpreters comes on top, and so does"
        " whatever else this machine does meanwhile; short jobs feel it most."
    )
    say(f"{told_of_shortest(fifo, fair)} {told_of_outputs(files)}")
    say("\nWhat they found:")
    for job, found in findings(files.folder / "fair"):
        say(f"  {job:<15} {found}")
    return fair


def run(files: Files, tasks: str) -> RunResult:
    """Run the workload for real, show what came of it, and put its output aside."""
    with live_watcher() as watcher:
        result = sluice.run(files.jobs, tasks=tasks, watcher=watcher)
    show(job_table(result))
    failed = [f"{job.job_id}: {job.reason}" for job in result.jobs if job.state != "done"]
    if failed:
        sys.exit("\n".join(failed))
    say("Which slot idled when:")
    ends_at_s = result.finished_at_s or 0.0
    show(idle_table(idleness(result.attempts, slots_of(result), result.started_at_s, ends_at_s)))
    (files.folder / "out").rename(files.folder / tasks)
    return result


def told_of_shortest(fifo: RunResult, fair: RunResult) -> str:
    """What the choice of scheduler meant to the job that had least to do."""
    before_s, now_s = (
        next(job.finished_at_s for job in result.jobs if job.job_id == SHORTEST)
        for result in (fifo, fair)
    )
    return f"{SHORTEST} has its answer after {duration(now_s)} instead of {duration(before_s)}."


def told_of_outputs(files: Files) -> str:
    """Whether both runs gave the same."""
    first, second = files.folder / "fifo", files.folder / "fair"
    parts = [path.relative_to(first) for path in sorted(first.rglob("part-*"))]
    _, different, missing = filecmp.cmpfiles(first, second, map(str, parts), shallow=False)
    if different or missing:
        return f"The two runs differ in {', '.join(different + missing)}."
    return f"Both runs wrote the same {len(parts)} part files, byte for byte."


def draw(runs: dict[str, RunResult], files: Files) -> None:
    """The Gantt chart of both runs, for the browser and as a picture."""
    heading("Who held which slot when")
    chart = gantt(runs)
    for name in ("gantt.html", "gantt.png"):
        chart.save(files.folder / name)
        say(f"  {files.told(files.folder / name)}")


# --- fifty jobs of somebody else's ----------------------------------------------------------------


def replay(files: Files) -> None:
    """The Facebook trace in virtual time under three schedulers."""
    heading("Fifty jobs of a Facebook cluster, replayed in virtual time")
    trace = load_swim(TRACE, options=SwimOptions(block_bytes=64 * 1024 * 1024))
    nodes = [
        Node(node_id=NodeId(f"node-{number}"), map_slots=2, reduce_slots=1) for number in (1, 2)
    ]
    workload = replace(
        trace.workload, cluster=Cluster(nodes=tuple(nodes)), settings={"jitter": 0.15}
    )
    sluice.write_workload(files.facebook, workload)
    say(
        f"The trace tells {len(workload.jobs)} jobs by submission and bytes."
        f" Chosen by us: 2 nodes of 2 map slots and 1 reduce slot, so few that jobs must wait;"
        " tasks vary by 15 %; and"
    )
    show(notes_grid(trace.notes))
    command(f"compare {files.told(files.facebook)} --schedulers {','.join(SCHEDULERS)}")
    show(comparison_table(sluice.compare(files.facebook, SCHEDULERS, seeds=SEEDS)))
    say(told_of_halves(files))


def notes_grid(notes: Sequence[str]) -> Table:
    """What was chosen, one value a row."""
    grid = Table.grid(padding=(0, 1))
    for note in notes:
        chosen, _, meaning = note.removesuffix(" (not in the trace)").partition(": ")
        grid.add_row("", chosen, meaning, style="dim")
    return grid


def told_of_halves(files: Files) -> str:
    """The median response, which no single long job can hide."""
    told = []
    for tasks in SCHEDULERS:
        result = sluice.simulate(files.facebook, tasks=tasks)
        half_s = median(job.response_s for job in result.jobs if job.response_s is not None)
        told.append(f"{duration(half_s)} ({tasks})")
    return (
        "One job writes 86 GB from a single map and rules the makespan, whoever schedules. The"
        f" others feel the difference: half of all jobs have their answer within {', '.join(told)}."
    )


# --- the end --------------------------------------------------------------------------------------


def try_next(files: Files) -> None:
    """Commands that work now, in this checkout."""
    heading("What to try next")
    typed(f'export SLUICE_HOME="$PWD/{files.told(files.state)}" PATH="$PWD/.venv/bin:$PATH"')
    for purpose, words in next_commands(files):
        say(f"\n# {purpose}")
        typed(f"sluice {words}")


def next_commands(files: Files) -> Sequence[tuple[str, str]]:
    """(what for, words after `sluice`)."""
    jobs, measured, facebook = map(files.told, (files.jobs, files.measured, files.facebook))
    chart = files.told(files.folder / "facebook.html")
    return (
        ("a third scheduler for real, predicted too", f"run {jobs} --tasks yarn-like"),
        ("what happened to a job in that run", f"story {SHORTEST}"),
        ("why it waits under fifo", f"why {SHORTEST} --file {measured} --at-s 1"),
        ("what if one task in ten were slow?", f"simulate {measured} --set p_slow=0.1"),
        ("Facebook's jobs under fifo, as a chart", f"simulate {facebook} --plot {chart}"),
    )


# --- on paper -------------------------------------------------------------------------------------


def heading(text: str) -> None:
    """A new part of the story."""
    console.print()
    console.rule(text, align="left", style="dim")


def say(text: str) -> None:
    """Prose, in lines that fit."""
    typed(textwrap.fill(text, WIDTH, break_on_hyphens=False, replace_whitespace=False))


def typed(line: str, style: str = "") -> None:
    """As it stands, however long: it may be copied."""
    console.print(line, style=style, soft_wrap=True)


def command(words: str) -> None:
    """What does the same at a terminal."""
    typed(f"\n$ sluice {words}", style="bold")


def show(table: RenderableType) -> None:
    """A table."""
    console.print(table)


if __name__ == "__main__":
    try:
        demo(EXAMPLES.parent / "build" / "demo")
    except sluice.SluiceError as error:
        sys.exit(f"The demo stopped: {error}")
