"""How good are predictions of real runs, at settings that were never run?

Four jobs (word count, inverted index, sort and grep) run for real on this machine, at 1 to 4 slots
and on two input sizes, a few rounds of it all. Then every run is predicted from the runs at all
other settings, with a 90 % interval, and held against what it took. Budget: a median error of 15 %,
and at least 80 % of at least 40 left-out runs inside their interval.

What a stranger does to a job is not what the prediction is about. So a run waits for a quiet
moment, and one during which others took more than a tenth of the processors is made again, until
the patience for all runs together is used up. The criterion does not look at how long the run took,
and how busy others were stands in the table. On a machine of its own none of this ever happens.

    python -m bench.predictions --rounds 3 --patience-s 600 --write
    python -m bench.predictions --reuse          # the same figures, from the runs that are stored

With --write the table goes into docs/predictions.md, from where it is published.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench._figures import verdict

import sluice
from sluice.api.calibrate import calibrate_runs
from sluice.cli.demonstration.volumes import write_volumes
from sluice.estimate.calibration import Accuracy, RunComparison
from sluice.estimate.uncertainty import PredictionInterval
from sluice.model.history import PastRun
from sluice.reporting.calibration.result import CalibrationReport
from sluice.reporting.formatting import share, signed
from sluice.store.profiles import Profiles

HOUSE = Path(__file__).resolve().parent.parent
PLACE = HOUSE / "build" / "bench" / "predictions"
PAGE = HOUSE / "docs" / "predictions.md"
BEGIN, END = "<!-- bench.predictions begins -->", "<!-- bench.predictions ends -->"

ERROR_MEDIAN_MAX = 0.15
COVERAGE_MIN = 0.8
RUNS_MIN = 40

SLOTS = (1, 2, 3, 4)
COPIES = {"small": 1, "large": 2}  # how often the input holds the standard library
ROUNDS = 3
STRANGERS_MAX = 0.1
PATIENCE_S = 300.0
PROCESSORS = os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Shape:
    """How many reduces a job has, and what it runs."""

    reduces: int
    run: Mapping[str, object]


JOBS: Mapping[str, Shape] = {
    "inverted-index": Shape(2, {"python": "jobs/inverted_index.py"}),
    "word-count": Shape(2, {"python": "jobs/word_count.py"}),
    "sort": Shape(1, {"mapper": "expand", "reducer": "uniq -c", "env": {"LC_ALL": "C"}}),
    "grep": Shape(0, {"mapper": "awk '/^ *(import|from) /'"}),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One job at one setting."""

    job: str
    text: str
    slots: int

    def document(self) -> dict[str, object]:
        """Its workload file."""
        shape = JOBS[self.job]
        run = {"input": [f"{self.text}/*.txt"], "output": "out", **shape.run}
        reduces = {"reduces": {"tasks": shape.reduces}} if shape.reduces else {}
        return {
            "version": 1,
            "cluster": {"map_slots": self.slots, "reduce_slots": self.slots},
            "jobs": [{"id": self.job, **reduces, "run": run}],
        }


CASES = tuple(
    Case(job, text, slots) for text in COPIES for slots in SLOTS for job in JOBS
)  # neighbours in time differ in job, so that a busy minute meets them all


# --- running --------------------------------------------------------------------------------------


def lay_out() -> None:
    """Text of two sizes and the code of the jobs, in a folder that holds nothing else."""
    shutil.rmtree(PLACE, ignore_errors=True)
    for text, copies in COPIES.items():
        for copy in range(copies):
            folder = PLACE / "made"
            folder.mkdir(parents=True)
            write_volumes(folder)
            (PLACE / text).mkdir(exist_ok=True)
            for volume in folder.iterdir():
                volume.rename(PLACE / text / f"{volume.stem}_{copy}.txt")
            folder.rmdir()
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HOUSE / "examples" / "jobs", PLACE / "jobs", ignore=ignored)


class Patience:
    """Seconds that may yet be spent on waiting for others, and on runs that they spoiled."""

    def __init__(self, left_s: float) -> None:
        self.left_s = left_s

    def await_quiet(self) -> None:
        """Return in a second in which others take little, or when there is no patience left."""
        while self.left_s > 0:
            busy_s, began_s = processors_busy_s(), time.monotonic()
            time.sleep(1.0)
            wall_s = time.monotonic() - began_s
            if (processors_busy_s() - busy_s) / wall_s / PROCESSORS <= STRANGERS_MAX:
                return
            self.left_s -= wall_s


def run_all(rounds: int, patience: Patience) -> None:
    """Every case, so many times; all outputs of a job over one text must be the same."""
    lay_out()
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for number in range(rounds):
        for case in CASES:
            strangers, digest = quiet_run(case, patience)
            found[case.job, case.text].add(digest)
            print(
                f"round {number + 1} of {rounds}: {case.job:15} {case.text} {case.slots} slots,"
                f" others took {share(strangers)}, patience left {patience.left_s:.0f} s",
                flush=True,
            )
    assert all(len(digests) == 1 for digests in found.values()), "outputs differ"


def quiet_run(case: Case, patience: Patience) -> tuple[float, str]:
    """Run until others took little meanwhile; of several tries the least disturbed one is kept.

    Returns what share of the processors others took, and the digest of the output.
    """
    patience.await_quiet()
    strangers, kept, digest = run_once(case)
    while strangers > STRANGERS_MAX and patience.left_s > 0:
        began_s = time.monotonic()
        patience.await_quiet()
        again, run_id, digest = run_once(case)
        patience.left_s -= time.monotonic() - began_s
        forget(case.job, max((strangers, kept), (again, run_id))[1])
        strangers, kept = min((strangers, kept), (again, run_id))
    note(kept, strangers)
    return strangers, digest


def run_once(case: Case) -> tuple[float, str, str]:
    """The share of the processors that others took, the id of the past run, and the output's."""
    file = PLACE / "workload.json"
    file.write_text(json.dumps(case.document()))
    busy_s, own_s, began_s = processors_busy_s(), own_cpu_s(), time.monotonic()
    result = sluice.run(file)
    wall_s = time.monotonic() - began_s
    others_s = processors_busy_s() - busy_s - (own_cpu_s() - own_s)
    assert result.states == {"done": 1}, result.states
    digest = hashlib.sha256()
    for part in sorted((PLACE / "out").glob("part-*")):
        digest.update(part.read_bytes())
    shutil.rmtree(PLACE / "out")
    run_id = f"{result.extra['run_id']}/{case.job}"
    return max(0.0, others_s) / wall_s / PROCESSORS, run_id, digest.hexdigest()


def processors_busy_s() -> float:
    """Seconds that the processors of this machine worked, for whomever."""
    told = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    user, nice, system, _, _, irq, soft, steal = map(int, told[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def own_cpu_s() -> float:
    """What this process and all that it started and waited for took."""
    return sum(os.times()[:4])


# --- what is kept ---------------------------------------------------------------------------------


def forget(job: str, run_id: str) -> None:
    """Take a disturbed run out of the store."""
    with Profiles.open() as profiles:
        profiles.forget(job, [run_id])


def note(run_id: str, strangers: float) -> None:
    """Write down how disturbed a kept run was."""
    with (PLACE / "strangers.jsonl").open("a") as file:
        file.write(json.dumps({"run": run_id, "strangers": strangers}) + "\n")


def strangers_by_run() -> dict[str, float]:
    """How disturbed each kept run was."""
    lines = (PLACE / "strangers.jsonl").read_text().splitlines()
    return {told["run"]: told["strangers"] for told in map(json.loads, lines)}


def kept_runs() -> dict[str, list[PastRun]]:
    """All runs, by job."""
    with Profiles.open() as profiles:
        return {job: profiles.runs(job) for job in JOBS}


# --- telling --------------------------------------------------------------------------------------


def table(report: CalibrationReport, strangers: Mapping[str, float]) -> Iterator[str]:
    """Markdown: a row for each left-out setting, then the sum of it all."""
    yield "| job | input | slots | predicted | 90 % interval | runs took | error | others |"
    yield "|---|---|---|---|---|---|---|---|"
    for (job, size, slots), runs in by_setting(report).items():
        first = runs[0]
        told = first.interval
        span = (
            f"{told.low_s:.2f}–{told.high_s:.2f} s"
            if isinstance(told, PredictionInterval)
            else str(told)
        )
        took = ", ".join(f"{one.actual_s:.2f}" + ("" if one.is_inside else "*") for one in runs)
        assert first.predicted_s is not None, "it was never run at another setting"
        error = first.predicted_s / median(one.actual_s for one in runs) - 1
        busy = median(strangers[one.run_id] for one in runs)
        yield (
            f"| {job} | {size / 1e6:.0f} MB | {slots} | {first.predicted_s:.2f} s | {span}"
            f" | {took} s | {signed(error)} | {share(busy)} |"
        )


def by_setting(report: CalibrationReport) -> dict[tuple[str, int, int], list[RunComparison]]:
    """The runs of each left-out setting, jobs in their order, small before large."""
    found: dict[tuple[str, int, int], list[RunComparison]] = defaultdict(list)
    for one in report.calibration.comparisons:
        slots = one.setting.phases[0].slots
        found[one.profile, one.setting.input_bytes, slots].append(one)
    order = list(JOBS)
    return dict(sorted(found.items(), key=lambda item: (order.index(item[0][0]), *item[0][1:])))


def summary(name: str, figures: Accuracy) -> str:
    """One line of figures."""
    return (
        f"{name}: {figures.predicted} runs, median error {share(figures.error_median)},"
        f" mean {share(figures.error_mean)}, bias {signed(figures.bias)},"
        f" {share(figures.coverage)} of {figures.intervals} inside their interval"
    )


def is_good(figures: Accuracy) -> bool:
    """Whether the budget is kept."""
    return (
        figures.predicted >= RUNS_MIN
        and figures.error_median is not None
        and figures.error_median <= ERROR_MEDIAN_MAX
        and figures.coverage is not None
        and figures.coverage >= COVERAGE_MIN
    )


def floor(histories: Mapping[str, Sequence[PastRun]]) -> float:
    """Median error of predicting a run by the median of its own repetitions: mere noise."""
    took_s: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for job, runs in histories.items():
        for run in runs:
            took_s[job, run.input_bytes, run.slots["map"]].append(run.elapsed_s)
    errors = [
        abs(median(times[:index] + times[index + 1 :]) / here - 1)
        for times in took_s.values()
        if len(times) > 1
        for index, here in enumerate(times)
    ]
    return median(errors) if errors else 0.0


def published(lines: Sequence[str]) -> None:
    """Put the lines between the marks of the page."""
    text = PAGE.read_text()
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    PAGE.write_text("\n".join([head + BEGIN, "", *lines, "", END + tail]))


def main() -> int:
    """Exit code: 0 if all is within the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--patience-s", type=float, default=PATIENCE_S)
    parser.add_argument("--reuse", action="store_true", help="run nothing; use what is stored")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    arguments = parser.parse_args()
    os.environ["SLUICE_HOME"] = str(PLACE / "state")
    os.environ.pop("SLUICE_STORE", None)
    if not arguments.reuse:
        run_all(arguments.rounds, Patience(arguments.patience_s))
    histories = kept_runs()
    report = calibrate_runs(histories, leave_out="setting")
    lines = list(table(report, strangers_by_run()))
    lines += ["", *(f"- {line}" for line in told(report, histories))]
    print("\n".join(lines))
    if arguments.write:
        published(lines)
    good = is_good(report.accuracy)
    print(verdict(fits=good).strip() or "within the budget")
    return 0 if good else 1


def told(report: CalibrationReport, histories: Mapping[str, Sequence[PastRun]]) -> Iterator[str]:
    """The figures of each job and of all, and what noise alone makes."""
    for profile in report.calibration.profiles:
        yield summary(profile.name, profile.accuracy)
    yield summary("all", report.accuracy)
    noise = share(floor(histories))
    yield f"a run predicted by the median of its own repetitions: median error {noise}"


if __name__ == "__main__":
    sys.exit(main())
