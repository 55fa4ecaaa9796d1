"""Plans of jobs of stages against all combinations of container counts, written down here again."""

import itertools
import json
import math
import random

import pytest
from tests.cli.terminal import sluice
from tests.runs import map_reduce

import sluice as api
from sluice.estimate.bounds import SingleWave
from sluice.model.lengths import ConstantLengths
from sluice.model.limits import PlanLimits
from sluice.model.machines import Rent, VmOffer, VmShape
from sluice.model.prices import Prices
from sluice.planning.pareto.plan_search import PlanSearch, find_frontier
from sluice.planning.pareto.problem import ParetoProblem, PlannedJob, PlannedPhase, PlanOptions

SEEDS = range(150)


def made_problem(draw):
    jobs = []
    for number in range(draw.randint(1, 3)):
        stages = []
        for _ in range(draw.randint(1, 3)):
            avg_s = draw.choice([1.0, 7.0, 600.0])
            lengths = ConstantLengths(avg_s, avg_s * draw.choice([1.0, 1.4, 3.0]))
            tasks = draw.randint(1, 9)
            stages.append(PlannedPhase(tasks=tasks, tasks_max=tasks, parts=(lengths,)))
        driver_s = draw.choice([0.0, 12.5])
        jobs.append(PlannedJob(job_id=f"J{number}", stages=tuple(stages), driver_s=driver_s))
    offers = [
        VmOffer(
            vm_type=f"vm{number}",
            rent=Rent.ON_DEMAND,
            shape=VmShape(map_slots=0, reduce_slots=0, containers=draw.randint(1, 3)),
            hour_usd=draw.choice([0.5, 1.0, 3.0]),
            speed=draw.choice([1.0, 2.0]),
        )
        for number in range(draw.randint(1, 2))
    ]
    return ParetoProblem(
        jobs=tuple(jobs),
        offers=tuple(offers),
        prices=Prices(vm_hour_usd=1.0, billing_s=draw.choice([0.0, 60.0, 3600.0])),
        limits=PlanLimits(vms_max=draw.choice([None, None, 4])),
        options=PlanOptions(single_wave=draw.choice(list(SingleWave))),
    )


def stage_s(stage, slots, single_wave):
    """The least time of a stage on at most that many slots: ARIA's mean of low and high."""
    tasks, (lengths,) = stage.tasks, stage.parts
    avg_s, max_s = lengths.average_s, lengths.longest_s
    times_s = []
    for used in range(1, slots + 1):
        if single_wave is SingleWave.EXACT and tasks <= used:
            times_s.append(max_s)
        else:
            low_s = math.ceil(tasks / used) * avg_s
            up_s = math.ceil((tasks - 1) / used) * avg_s + max_s
            times_s.append((low_s + up_s) / 2)
    return min(times_s)


def options_of(job, problem):
    """(time, cost, VMs) for every number of VMs of every type that adds a useful container."""
    for offer in problem.offers:
        fit = offer.shape.containers
        for vms in range(1, math.ceil(max(stage.tasks for stage in job.stages) / fit) + 1):
            tasks_s = sum(
                stage_s(stage, vms * fit, problem.options.single_wave) for stage in job.stages
            )
            time_s = tasks_s / offer.speed + job.driver_s
            billed = problem.prices.billing_s
            hours = max(1, math.ceil(time_s / billed - 1e-9)) * billed / 3600 if billed else 0
            yield time_s, vms * (hours or time_s / 3600) * offer.hour_usd, vms


def enumerated(problem):
    found = []
    for plan in itertools.product(*(options_of(job, problem) for job in problem.jobs)):
        if problem.limits.vms_max and sum(one[2] for one in plan) > problem.limits.vms_max:
            continue
        found.append((max(one[0] for one in plan), math.fsum(one[1] for one in plan)))
    kept: list[tuple[float, float]] = []
    for time_s, usd in sorted(found):
        if not kept or usd < kept[-1][1] * (1 - 1e-9):
            if kept and math.isclose(time_s, kept[-1][0], rel_tol=1e-9):
                kept.pop()
            kept.append((time_s, usd))
    return kept


def test_the_frontier_is_that_of_full_enumeration():
    """All billing modes, both models of a single wave, several VM types and caps, by seed."""
    sizes = []
    for seed in SEEDS:
        problem = made_problem(random.Random(seed))
        found = list(find_frontier(problem, PlanSearch.EXACT).points())
        wanted = enumerated(problem)
        assert len(found) == len(wanted), seed
        for plan, other in zip(found, wanted, strict=True):
            assert plan == pytest.approx(other, rel=1e-9), seed
        sizes.append(len(found))
    assert sum(size > 3 for size in sizes) > 30


# --- through the command line ---------------------------------------------------------------------

FILE = """
version: 1
cluster: {containers_per_vm: 4}
prices: {vm_hour_usd: 1.0, billing_s: 60}
jobs:
  - id: etl
    driver_s: 12
    phases:
      - {name: join, tasks: 20, avg_s: 6, max_s: 8, after: [scan, dim]}
      - {name: scan, tasks: 40, avg_s: 9, max_s: 14, after: []}
      - {name: dim, tasks: 6, avg_s: 4, after: []}
  - {id: report, maps: {tasks: 10, avg_s: 10}, reduces: {tasks: 4, avg_s: 20}}
"""


def test_a_plan_lists_containers_and_counts_the_driver():
    answer = sluice("plan", "-", "--json", stdin=FILE.encode())
    (fastest, *_) = json.loads(answer.out)["plans"]

    assert fastest["jobs"]["etl"]["containers"] == 40
    assert fastest["jobs"]["etl"]["vms"] == 10
    # Waves of average tasks; the high estimate adds the excess of the longest task.
    assert fastest["jobs"]["etl"]["time_s"] == 12 + (9 + 9 + 14) / 2 + (4 + 8) / 2 + (6 + 14) / 2
    assert fastest["jobs"]["etl"]["map_slots"] is None


def test_a_chosen_plan_is_written_with_its_phases_and_simulated(tmp_path):
    file, out = tmp_path / "jobs.yaml", tmp_path / "chosen.yaml"
    file.write_text(FILE)
    assert sluice("plan", file, "--choose", "1", "--out", out).code == 0

    chosen = api.load_workload(str(out))
    assert [(pool.pool_id, pool.containers_max) for pool in chosen.pools] == [
        ("etl", 40), ("report", 10),
    ]  # fmt: skip
    found = api.plan(str(file))
    simulated = api.simulate(chosen, tasks="fair")
    for job in simulated.jobs:
        planned = found.document()["plans"][0]["jobs"][job.job_id]["time_s"]
        assert job.response_s <= planned * 1.3
    assert api.simulate(found.chosen(1), tasks="fair").digest == simulated.digest


def test_a_cap_on_containers_holds():
    capped = (
        FILE.replace("jobs:", "pools: [{id: etl, containers_max: 2}]\njobs:", 1)
        .replace("cluster: {containers_per_vm: 4}", "cluster: {containers: 40}")
        .replace("id: etl\n    driver", "id: etl\n    pool: etl\n    driver")
    )
    result = api.simulate(api.parse_workload(capped), tasks="fair")

    own = [one for one in result.attempts if one.key.job_id == "etl"]
    at_once = [
        sum(one.tasks for one in own if one.started_at_s <= now.started_at_s < one.finished_at_s)
        for now in own
    ]
    assert max(at_once) == 2


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["--search", "slots"], ["job 'etl'", "phases", "--search exact"]),
        (["--tune", "tasks"], ["job 'etl'", "phases", "--tune tasks"]),
    ],
)
def test_what_is_not_planned_for_phases_is_refused_with_what_is(words, fragments):
    answer = sluice("plan", "-", *words, stdin=FILE.encode())

    assert (answer.code, answer.out) == (2, "")
    assert all(fragment in answer.err for fragment in fragments)


def test_a_faster_vm_type_divides_lengths_and_not_the_driver_time(tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "version: 1\nlisted_on: '2025-01-31'\nvm_types:\n"
        "- {id: fast, map_slots_per_vm: 1, reduce_slots_per_vm: 1, containers_per_vm: 4,"
        " speed: 2, on_demand_hour_usd: 1}\n"
    )
    out = tmp_path / "chosen.yaml"
    file = tmp_path / "jobs.yaml"
    file.write_text(FILE)
    answer = sluice("plan", file, "--prices", prices, "--choose", "1", "--out", out)
    assert answer.code == 0, answer.err

    job = api.load_workload(str(out)).jobs[0]
    assert job.driver_s == 12
    assert [(one.name, one.lengths.avg_s(one.tasks), one.after) for one in job.phases] == [
        ("scan", 4.5, ()), ("dim", 2, ()), ("join", 3, (0, 1)),
    ]  # fmt: skip


def test_a_job_without_reduces_is_planned_as_one_stage(tmp_path):
    """Next to one with reduces, both are in one column of slots, which 80 columns have room for."""
    maps = "maps: {tasks: 30, avg_s: 40}"
    both = f"{{id: both, {maps}, reduces: {{tasks: 4, avg_s: 30}}}}"
    rent = "cluster: {map_slots_per_vm: 4, reduce_slots_per_vm: 4}\nprices: {vm_hour_usd: 3}\n"
    answers = {}
    for name, jobs in {
        "maps": f"{{id: one, {maps}}}",
        "stage": "{id: one, phases: [{name: map, tasks: 30, avg_s: 40}]}",
        "mixed": f"{both}, {{id: one, {maps}}}",
    }.items():
        file = tmp_path / f"{name}.yaml"
        file.write_text(f"version: 1\n{rent}jobs: [{jobs}]\n")
        answer = sluice("plan", file, "--json")
        assert answer.code == 0, answer
        answers[name] = json.loads(answer.out)["plans"]
    shown = sluice("plan", tmp_path / "mixed.yaml").out

    assert answers["maps"] == answers["stage"]
    assert len(answers["maps"]) > 1
    assert "slots: of maps + reduces, or containers" in " ".join(shown.split())
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    chosen = tmp_path / "chosen.yaml"
    assert sluice("plan", tmp_path / "mixed.yaml", "--choose", "1", "--out", chosen).code == 0
    assert sluice("simulate", chosen).code == 0


def test_maps_and_reduces_are_planned_as_such_unless_containers_are_asked_for():
    job = map_reduce("j", 4, 10.0, 2, 20.0)
    typed, stages = PlannedJob.of(job), PlannedJob.of(job, in_containers=True)

    assert (typed.maps.tasks, typed.reduces.tasks, typed.stages) == (4, 2, ())
    assert [stage.tasks for stage in stages.stages] == [4, 2]
