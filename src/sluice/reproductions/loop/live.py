"""The loop closed: real runs, predicted from the round before them.

In the first round every cell runs the jobs with nothing known but their task counts. What it
measured is history: for the scheduler, whose predictions use it, and for the simulator, which
predicts each cell of the second round from the lengths that tasks of the first round had under
*none*. The page shows prediction, result and error. The jobs run on nodes of this machine, on a Ray
cluster, and on pools of VMs of two types. Source: loop spec, section 6.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sluice.bootstrap.advising.day_runs import simulated
from sluice.bootstrap.settings import declarations
from sluice.ingest.workload import parse_workload
from sluice.model.errors import EngineUnavailable
from sluice.model.workload import Workload
from sluice.reproductions.loop.cells import FACTORS, NONE, Cell
from sluice.reproductions.loop.live_workload import NODES, VMS, write_live_workload

MEASURES: Final = ("makespan_s", "response_s", "deadlines_met")
_ALL: Final = frozenset(one.letter for one in FACTORS)
_PATIENCE_S: Final = 600.0  # for one run
_LEAST_S: Final = 0.01  # of a task that the clock did not see
_TRIES: Final = 3  # of a run whose engine does not start
_OUTSIDE_FAILED: Final = 3  # the exit code of such a run
_START_MARGIN: Final = 1.5  # times as long as machines took to start before, because it varies
OnFraction = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCell:
    """A scheduler that runs for real. text: as `compare` takes it.  words: of the command line."""

    name: str
    text: str
    words: tuple[str, ...]


def live_cells() -> tuple[LiveCell, ...]:
    """*None*, *full*, *full* without each part, and RAS."""
    found = [_cell("none", Cell(on=frozenset())), _cell("full", Cell(on=_ALL))]
    for factor in FACTORS:
        # Typed slots cannot keep a promise of containers, so that admission goes with lent ones.
        left_out = frozenset("AL") if factor.letter == "L" else frozenset(factor.letter)
        letters = "".join(sorted(left_out))
        found.append(_cell(f"full without {letters}", Cell(on=_ALL - left_out)))
    return (*found, LiveCell(name="ras", text="ras", words=("--tasks", "ras")))


def _pool_cells() -> tuple[LiveCell, ...]:
    """*None* and *full* on all VMs, and VMs of its own for each job, with and without refusals."""
    words = ("--tasks", "vm-pools")
    text = "admission=vm-pools+tasks=vm-pools"
    return (
        *live_cells()[:2],
        LiveCell(name="vm-pools", text="vm-pools", words=words),
        LiveCell(
            name="vm-pools with refusals", text=text, words=(*words, "--admission", "vm-pools")
        ),
    )


def _cell(name: str, cell: Cell) -> LiveCell:
    chosen = [one for one in FACTORS if one.letter in cell.on]
    words = [word for one in chosen for word in _option(one.on)]
    if "--order" not in words:
        words += _option(NONE)
    words += [word for one in chosen for pair in one.settings for word in ("--set", pair)]
    return LiveCell(name=name, text=cell.text, words=tuple(words))


def _option(part: str) -> list[str]:
    axis, _, member = part.partition("=")
    return [f"--{axis}", member]


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePlace:
    """Where jobs run. machines: keys of the workload file.  words: of the command line."""

    title: str
    machines: Mapping[str, Any]
    cells: Sequence[LiveCell]
    words: tuple[str, ...] = ()


PLACES: Final[Mapping[str, LivePlace]] = {
    "live": LivePlace(title="2 nodes of 2 + 1 slots", machines=NODES, cells=live_cells()),
    "live-ray": LivePlace(
        title="2 Ray nodes of 2 + 1 slots", machines=NODES, cells=live_cells(),
        words=("--engine", "ray"),
    ),
    "live-pools": LivePlace(
        title="2 small VMs of 1 + 1 slots and 2 large ones of 2 + 1", machines=VMS,
        cells=_pool_cells(),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveResult:
    """A cell of one seed. predicted, measured: of the second round, by measure.

    place: a key of `PLACES`.  first: what the first round measured.
    outputs: a digest of all output files.
    """

    place: str = "live"
    seed: int
    cell: LiveCell
    first: Mapping[str, float | None]
    predicted: Mapping[str, float | None]
    measured: Mapping[str, float | None]
    outputs: str

    def error(self, measure: str) -> float | None:
        """Predicted over measured, minus 1; None where either is not known or 0."""
        predicted, measured = self.predicted[measure], self.measured[measure]
        return None if predicted is None or not measured else predicted / measured - 1

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "place": self.place, "seed": self.seed, "cell": self.cell.name,
            "scheduler": self.cell.text,
            "first": dict(self.first), "predicted": dict(self.predicted),
            "measured": dict(self.measured),
            "error": {name: self.error(name) for name in MEASURES}, "outputs": self.outputs,
        }  # fmt: skip


def live_results(
    seeds: int,
    *,
    place: str = "live",
    cells: Sequence[LiveCell] | None = None,
    on_fraction: OnFraction = lambda _: None,
) -> list[LiveResult]:
    """Two rounds of all cells of a place for each seed. Raises EngineUnavailable."""
    where = PLACES[place]
    cells = where.cells if cells is None else cells
    found: list[LiveResult] = []
    total, done = seeds * (2 * len(cells)), 0
    for seed in range(seeds):
        with tempfile.TemporaryDirectory(prefix="sluice-loop-") as name:
            jobs = _LiveJobs(Path(name), seed, where)
            first = []
            for cell in cells:
                first.append(jobs.run(cell))
                done += 1
                on_fraction(done / total)
            history = jobs.history()
            for cell, before in zip(cells, first, strict=True):
                predicted = jobs.predicted(history, cell)
                measured = jobs.run(cell)
                done += 1
                on_fraction(done / total)
                found.append(
                    LiveResult(
                        place=place, seed=seed, cell=cell, first=before, predicted=predicted,
                        measured=measured, outputs=jobs.outputs(),
                    )
                )  # fmt: skip
    return found


class _LiveJobs:
    """A folder with the jobs of a seed, their outputs, and a state folder of its own."""

    def __init__(self, folder: Path, seed: int, place: LivePlace) -> None:
        self._folder = folder
        self._seed = seed
        self._words = place.words
        self._file = write_live_workload(folder, seed, place.machines)
        self._first_trace: Path | None = None

    def run(self, cell: LiveCell) -> dict[str, float | None]:
        """Run the jobs for real, and measure them. The trace of the first run is the history."""
        trace = self._folder / f"{cell.name}.jsonl"
        # On a busy machine Ray gives up a node that takes over 30 s to start.
        tries = (self._once(cell, trace) for _ in range(_TRIES))
        done = next((one for one in tries if one.returncode != _OUTSIDE_FAILED), None)
        if done is None or not done.stdout:
            why = f"{_TRIES} times" if done is None else done.stderr[-500:]
            raise EngineUnavailable(f"the run of {cell.name} failed: {why}")
        document = json.loads(done.stdout)
        if self._first_trace is None:
            self._first_trace = trace
            self._submit_later(document)
        return _measures(document)

    def _once(self, cell: LiveCell, trace: Path) -> subprocess.CompletedProcess[str]:
        """One try, without what an earlier run has left."""
        shutil.rmtree(self._folder / "out", ignore_errors=True)
        for mark in self._folder.glob("hung-*"):
            mark.rmdir()
        return subprocess.run(
            [
                sys.executable, "-P", "-m", "sluice", "run", str(self._file), "--json",
                "--trace", str(trace), *self._words, *cell.words,
            ],
            env=os.environ | {"SLUICE_HOME": str(self._folder / "state")},
            capture_output=True, text=True, timeout=_PATIENCE_S, check=False,
        )  # fmt: skip

    def _submit_later(self, document: Mapping[str, Any]) -> None:
        """Let jobs come once the machines are up, which took this long: Ray starts for seconds.

        Otherwise the jobs that came meanwhile are one batch, whatever the scheduler does.
        """
        jobs = document["jobs"].values()
        begun_s = min(job["started_at_s"] for job in jobs if job["started_at_s"] is not None)
        begun_s -= min(job["submitted_at_s"] for job in jobs)
        workload = json.loads(self._file.read_text())
        for job in workload["jobs"]:
            job["submitted_at_s"] = round(job["submitted_at_s"] + _START_MARGIN * begun_s, 1)
        self._file.write_text(json.dumps(workload, indent=1))

    def history(self) -> Workload:
        """The jobs with the lengths that their tasks had in the first run."""
        assert self._first_trace is not None
        lengths: dict[tuple[str, str], dict[int, float]] = {}
        for line in self._first_trace.read_text().splitlines():
            attempt = json.loads(line)
            if attempt["outcome"] == "done":
                begun_s = attempt["shuffled_at_s"] or attempt["started_at_s"]
                length_s = max(_LEAST_S, attempt["finished_at_s"] - begun_s)
                of_phase = lengths.setdefault((attempt["job"], attempt["phase"]), {})
                of_phase.setdefault(attempt["task"], length_s)
        document = json.loads(self._file.read_text())
        for job in document["jobs"]:
            del job["run"]
            for key, phase in (("maps", "map"), ("reduces", "reduce")):
                if key in job:
                    found = lengths[job["id"], phase]
                    job[key]["durations_s"] = [found[task] for task in sorted(found)]
        return parse_workload(
            json.dumps(document), source="first round", declarations=declarations()
        )

    def predicted(self, history: Workload, cell: LiveCell) -> dict[str, float | None]:
        """Simulate the second round of a cell."""
        run = simulated(history, cell.text, self._seed)
        responses = [response_s for response_s, _ in run.responses.values()]
        return {
            "makespan_s": run.measures["makespan_s"],
            "response_s": math.fsum(responses) / len(responses) if responses else None,
            "deadlines_met": run.measures["deadlines_met"],
        }

    def outputs(self) -> str:
        """A digest of all output files, by their names."""
        from hashlib import sha256

        found = sha256()
        for path in sorted((self._folder / "out").glob("*/part-*")):
            found.update(f"{path.relative_to(self._folder)}\n".encode() + path.read_bytes())
        return found.hexdigest()[:12]


def _measures(document: Mapping[str, Any]) -> dict[str, float | None]:
    """Makespan, mean response and share of deadlines met, of the document of a run."""
    jobs = document["jobs"].values()
    responses = [
        job["finished_at_s"] - job["submitted_at_s"] for job in jobs if job["state"] == "done"
    ]
    due = [job for job in jobs if job["deadline_at_s"] is not None]
    return {
        "makespan_s": document["makespan_s"],
        "response_s": math.fsum(responses) / len(responses) if responses else None,
        "deadlines_met": sum(bool(job["deadline_met"]) for job in due) / len(due),
    }


# --- what the page says ---------------------------------------------------------------------------

LARGE: Final = 0.15  # of an effect whose sign must agree


def effects(found: Sequence[LiveResult]) -> Iterator[tuple[str, str, list[tuple[float, float]]]]:
    """Yield the effect of each other cell over *none*: name, measure, and (predicted, measured).

    An effect is a share of *none*; a pair for each seed.
    """
    seeds = sorted({one.seed for one in found})
    base = {one.seed: one for one in found if one.cell.name == "none"}
    for name in dict.fromkeys(one.cell.name for one in found if one.cell.name != "none"):
        of_cell = {one.seed: one for one in found if one.cell.name == name}
        for measure in ("makespan_s", "response_s"):
            pairs = []
            for seed in seeds:
                pair = [
                    _share(
                        getattr(base[seed], kind)[measure], getattr(of_cell[seed], kind)[measure]
                    )
                    for kind in ("predicted", "measured")
                ]
                if None not in pair:
                    pairs.append((pair[0] or 0.0, pair[1] or 0.0))
            if pairs:
                yield name, measure, pairs


def _share(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else after / before - 1


def live_sentences(found: Sequence[LiveResult]) -> Iterator[str]:
    """Yield how good the predictions were, and whether large effects have the right sign."""
    errors = [abs(error) for one in found if (error := one.error("makespan_s")) is not None]
    if errors:
        yield (
            f"The predicted makespan is {math.fsum(errors) / len(errors):.0%} off on average, and"
            f" {max(errors):.0%} at most; {sum(error <= 0.2 for error in errors)} of"  # noqa: PLR2004  # 20 %
            f" {len(errors)} runs are within 20 %."
        )
    large = agree = 0
    for _, _, pairs in effects(found):
        mean = math.fsum(predicted for predicted, _ in pairs) / len(pairs)
        if abs(mean) > LARGE:
            large += 1
            agree += all((predicted > 0) == (measured > 0) for predicted, measured in pairs)
    yield (
        f"{large} effects on makespan and response are predicted to be above 15 % of none;"
        f" {agree} of them have the predicted sign for every seed."
    )
    by_seed = {one.seed for one in found}
    same = all(
        len({one.outputs for one in found if one.seed == seed and not _refuses(one)}) <= 1
        for seed in by_seed
    )
    yield (
        "All runs that refuse no job have the same outputs, byte for byte."
        if same
        else "Outputs differ between runs of a seed."
    )


def _refuses(one: LiveResult) -> bool:
    return "admission=" in one.cell.text
