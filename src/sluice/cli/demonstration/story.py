"""The tour of `sluice demo`. It needs no network, and writes to its own folder only.

Four real jobs run at once on this machine under two schedulers. The first run is measured, so the
second is predicted before it starts. Then the first 50 jobs of a real cluster are replayed in
virtual time under three schedulers.
"""

from __future__ import annotations

import filecmp
import os
import platform
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import sluice
from sluice.cli.demonstration.findings import findings
from sluice.cli.demonstration.forecast import (
    PredictedEnd,
    ends_s,
    interval,
    measured,
    predict,
    prediction_table,
)
from sluice.cli.demonstration.gantt import gantt
from sluice.cli.demonstration.volumes import write_volumes
from sluice.cli.live import live_watcher
from sluice.ingest.logs.swim import SwimOptions, load_swim
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.ids import NodeId
from sluice.reporting.compare.tables import comparison_table
from sluice.reporting.extras import MissingExtra
from sluice.reporting.formatting import duration, size
from sluice.reporting.run.idleness import idleness
from sluice.reporting.run.result import RunResult
from sluice.reporting.run.slots_gantt import slots_of
from sluice.reporting.run.tables import idle_table, job_table
from sluice.reporting.table_style import plain_grid

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_PACKED = Path(__file__).resolve().parent / "files"  # in an installed package
_CHECKOUT = Path(__file__).resolve().parents[4] / "examples"
_TRACE = "swim/FB-2009_samples_24_times_1hr_0_first50jobs.tsv"
_CODE = ("inverted_index.py", "word_count.py")
_MARK = ".sluice-demo"
SCHEDULERS = ("fifo", "fair", "yarn-like")
SEEDS = 10
SHORTEST = "grep"
VOLUMES = 4
VOLUME_BYTES = 12 * 1024 * 1024  # a map takes about a second or more, many times its start
WIDTH = 80


def example(name: str) -> Path:
    """An example file: of the installed package, or of the checkout that is run."""
    return (_PACKED if _PACKED.is_dir() else _CHECKOUT) / name


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
        """The state folder of the demo, so that the user's own stays as it is."""
        return self.folder / "state"

    def typed(self, path: Path) -> str:
        """The path as a user in the working directory types it."""
        return shlex.quote(os.path.relpath(path))


def demo(folder: Path, *, volume_bytes: int = VOLUME_BYTES, library: Path | None = None) -> None:
    """Show the whole tour. folder: new, or of an earlier demo, which is removed.

    volume_bytes, library: size of the input files, and where their text comes from.
    Raises InvalidInput for a folder with other files in it.
    """
    began_s = time.monotonic()
    files = Files(folder)
    _check_folder(folder)
    with _state_folder(files.state.absolute()):
        lay_out(files, volume_bytes=volume_bytes, library=library)
        fifo = first_run(files)
        fair = second_run(files, fifo)
        draw({"fifo": fifo, "fair": fair}, files)
        replay(files)
        try_next(files)
    say(f"\nThe demo took {duration(time.monotonic() - began_s)}.")


def _check_folder(folder: Path) -> None:
    if folder.is_dir() and ((folder / _MARK).is_file() or not any(folder.iterdir())):
        return
    if os.path.lexists(folder):
        raise InvalidInput(
            f"{str(folder)!r} is not a folder of this demo",
            where="FOLDER",
            hint="name a new folder",
        )


@contextmanager
def _state_folder(state: Path) -> Iterator[None]:
    """Inside, Sluice keeps its state in the folder of the demo."""
    before = os.environ.get("SLUICE_HOME")
    os.environ["SLUICE_HOME"] = str(state)
    try:
        yield
    finally:
        del os.environ["SLUICE_HOME"]
        if before is not None:
            os.environ["SLUICE_HOME"] = before


# --- four real jobs -------------------------------------------------------------------------------


def lay_out(files: Files, *, volume_bytes: int, library: Path | None) -> None:
    """The text, the workload, and the code of its jobs, in a folder that holds nothing else."""
    shutil.rmtree(files.folder, ignore_errors=True)
    text = files.folder / "text"
    text.mkdir(parents=True)
    (files.folder / _MARK).touch()
    volumes = write_volumes(text, volume_bytes=volume_bytes, library=library, count=VOLUMES)
    (files.folder / "jobs").mkdir()
    for name in _CODE:
        shutil.copyfile(example(f"jobs/{name}"), files.folder / "jobs" / name)
    shutil.copyfile(example("standard_library.yaml"), files.jobs)
    heading("Real text")
    text_bytes = sum(volume.stat().st_size for volume in volumes)
    say(
        f"The sources of the standard library of Python {platform.python_version()}, repeated to"
        f" fill {len(volumes)} files of {size(text_bytes)} together: {files.typed(text)}"
    )


def first_run(files: Files) -> RunResult:
    """All four jobs under fifo, measured."""
    heading("Four real jobs at once: first come, first served")
    say(
        "Word count and inverted index are Python functions, grep and phrases are commands. They"
        " run as processes on two virtual nodes, each with one map slot and one reduce slot. A map"
        " reads one file."
    )
    command(f"run {files.typed(files.jobs)} --tasks fifo")
    result = run(files, "fifo")
    say(
        f"It took {duration(result.makespan_s)}. Nothing was predicted, because these jobs had"
        " not been measured before."
    )
    return result


def second_run(files: Files, fifo: RunResult) -> RunResult:
    """Return the same jobs under fair: predicted, then run, then compared."""
    heading("The same jobs, shared fairly: predicted, then run")
    known = measured(sluice.load_workload(str(files.jobs)), fifo)
    sluice.write_workload(files.measured, known.workload)
    predicted = predict(known, "fair")
    say(
        "The measurements of the first run predict the second: the same scheduler places the same"
        f" tasks in virtual time. Predicted: {about_end(predicted[-1])}."
    )
    command(f"run {files.typed(files.jobs)} --tasks fair")
    fair = run(files, "fair")
    say("Predicted before the run, and measured; the times are ends of jobs:")
    show(prediction_table(ends_s(fifo), predicted, ends_s(fair)))
    say(about_prediction(predicted, ends_s(fair)))
    say(f"{about_shortest(fifo, fair)} {about_outputs(files)}")
    say("\nWhat they found:")
    for job, found in findings(files.folder / "fair"):
        say(f"  {job:<15} {found}")
    return fair


def run(files: Files, tasks: str) -> RunResult:
    """Run the workload for real, show the result, and move its output to a folder of its own."""
    with live_watcher() as watcher:
        result = sluice.run(files.jobs, tasks=tasks, watcher=watcher)
    show(job_table(result))
    failed = [f"{job.job_id}: {job.reason}" for job in result.jobs if job.state != "done"]
    if failed:
        raise SluiceError("\n".join(failed))
    say("When slots were idle:")
    ends_at_s = result.finished_at_s or 0.0
    show(idle_table(idleness(result.attempts, slots_of(result), result.started_at_s, ends_at_s)))
    (files.folder / "out").rename(files.folder / tasks)
    return result


def about_end(end: PredictedEnd) -> str:
    """A predicted end with its interval."""
    return f"{duration(end.predicted_s)}, 90 % interval {interval(end)}"


def about_prediction(predicted: Sequence[PredictedEnd], ended_s: Sequence[float]) -> str:
    """How many ends are in their interval, and what the interval covers."""
    held = sum(end.holds(did_s) for end, did_s in zip(predicted, ended_s, strict=True))
    return (
        f"{held} of {len(predicted)} predictions held: the end is in the interval. The interval"
        " expects the load of this machine to vary as it did among the tasks of the first run. If"
        " other programs start or stop between the runs, an end can be outside."
    )


def about_shortest(fifo: RunResult, fair: RunResult) -> str:
    """Return what the choice of scheduler means for the shortest job."""
    before_s, now_s = (
        next(job.finished_at_s for job in result.jobs if job.job_id == SHORTEST)
        for result in (fifo, fair)
    )
    return f"{SHORTEST} ends after {duration(now_s)} instead of {duration(before_s)}."


def about_outputs(files: Files) -> str:
    """Whether both runs gave the same output."""
    first, second = files.folder / "fifo", files.folder / "fair"
    parts = [path.relative_to(first) for path in sorted(first.rglob("part-*"))]
    _, different, missing = filecmp.cmpfiles(first, second, map(str, parts), shallow=False)
    if different or missing:
        return f"The two runs differ in {', '.join(different + missing)}."
    return f"Both runs wrote the same {len(parts)} part files, byte for byte."


def draw(runs: dict[str, RunResult], files: Files) -> None:
    """The Gantt chart of both runs, for the browser and as a picture."""
    heading("Which job held which slot, over time")
    chart = gantt(runs)
    try:
        for name in ("gantt.html", "gantt.png"):
            chart.save(files.folder / name)
            say(f"  {files.typed(files.folder / name)}")
    except MissingExtra as error:
        say(f"  {error}")


# --- fifty jobs of a real cluster -----------------------------------------------------------------


def replay(files: Files) -> None:
    """The Facebook trace in virtual time under three schedulers."""
    heading("Fifty jobs of a Facebook cluster, replayed in virtual time")
    trace = load_swim(example(_TRACE), options=SwimOptions(block_bytes=64 * 1024 * 1024))
    nodes = [
        Node(node_id=NodeId(f"node-{number}"), map_slots=2, reduce_slots=1) for number in (1, 2)
    ]
    workload = replace(
        trace.workload, cluster=Cluster(nodes=tuple(nodes)), settings={"jitter": 0.15}
    )
    sluice.write_workload(files.facebook, workload)
    say(
        f"The trace has {len(workload.jobs)} jobs with their submissions and bytes. The rest is"
        " assumed: 2 nodes of 2 map slots and 1 reduce slot, so few that jobs must wait; tasks vary"
        " by 15 %; and"
    )
    show(notes_grid(trace.notes))
    command(f"compare {files.typed(files.facebook)} --schedulers {','.join(SCHEDULERS)}")
    show(comparison_table(sluice.compare(files.facebook, SCHEDULERS, seeds=SEEDS)))
    say(about_halves(files))


def notes_grid(notes: Sequence[str]) -> Table:
    """The assumptions, one value a row."""
    grid = plain_grid(1)
    for note in notes:
        chosen, _, meaning = note.removesuffix(" (not in the trace)").partition(": ")
        grid.add_row("", chosen, meaning, style="dim")
    return grid


def about_halves(files: Files) -> str:
    """The median response, which no single long job can hide."""
    halves = []
    for tasks in SCHEDULERS:
        result = sluice.simulate(files.facebook, tasks=tasks)
        half_s = median(job.response_s for job in result.jobs if job.response_s is not None)
        halves.append(f"{duration(half_s)} ({tasks})")
    return (
        "One job writes 86 GB from a single map and decides the makespan under any scheduler. The"
        f" others notice the difference: half of all jobs end within {', '.join(halves)}."
    )


# --- the end --------------------------------------------------------------------------------------


def try_next(files: Files) -> None:
    """Commands that work now, in this folder."""
    heading("What to try next")
    typed(f"export SLUICE_HOME={shlex.quote(str(files.state.absolute()))}")
    if shutil.which("sluice") is None:
        typed(f'export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"')
    for purpose, words in next_commands(files):
        say(f"\n# {purpose}")
        typed(f"sluice {words}")


def next_commands(files: Files) -> Sequence[tuple[str, str]]:
    """(purpose, words after `sluice`)."""
    jobs, measured, facebook = map(files.typed, (files.jobs, files.measured, files.facebook))
    chart = files.typed(files.folder / "facebook.html")
    return (
        ("a third scheduler for real, also predicted", f"run {jobs} --tasks yarn-like"),
        ("what happened to a job in that run", f"story {SHORTEST}"),
        ("why it waits under fifo", f"why {SHORTEST} --file {measured} --at-s 1"),
        ("what if one task in ten were slow?", f"simulate {measured} --set p_slow=0.1"),
        ("Facebook's jobs under fifo, as a chart", f"simulate {facebook} --plot {chart}"),
    )


# --- text -----------------------------------------------------------------------------------------


def heading(text: str) -> None:
    """A new part of the tour."""
    _console().print()
    _console().rule(text, align="left", style="dim")


def say(text: str) -> None:
    """Prose, in lines that fit."""
    typed(textwrap.fill(text, WIDTH, break_on_hyphens=False, replace_whitespace=False))


def typed(line: str, style: str = "") -> None:
    """A line as it is, however long: a user may copy it."""
    _console().print(line, style=style, soft_wrap=True)


def command(words: str) -> None:
    """The command that does the same at a terminal."""
    typed(f"\n$ sluice {words}", style="bold")


def show(table: RenderableType) -> None:
    """A table."""
    _console().print(table)


def _console() -> Console:
    """Stdout as it is now, in lines that fit a small terminal."""
    from rich.console import Console

    return Console(width=WIDTH, highlight=False, markup=False, emoji=False)
