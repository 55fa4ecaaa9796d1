"""The steps from a workload to what a command works on, in the order in which they run.

To add a step, write its function in `work.py`, list it here where its facts are there, and name its
goals. A test finds a step that is listed before what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sluice.bootstrap.preparation import notes, work
from sluice.bootstrap.preparation.facts import (
    CHOSEN,
    CLUSTER,
    DEADLINES,
    DECIDING,
    ENGINE,
    FORECASTS,
    GIVEN,
    GRIDS,
    HAS_ACCOUNTS,
    IS_LIVE,
    KINDS,
    LAID_OUT_FROM,
    LENGTHS,
    LENGTHS_FROM,
    NAMES,
    NODES,
    ON_MESSAGE,
    ON_NOTE,
    OPTIONS,
    OVERRIDES,
    OVERWRITE,
    PLANS_VMS,
    PREPARED,
    PROFILES,
    QUEUED,
    QUEUES,
    RUN,
    RUN_ID,
    RUNS,
    SCHEDULER,
    SETTINGS,
    TASKS,
    TIMES,
    USERS,
    WORKLOAD,
)
from sluice.bootstrap.preparation.pipeline import Fact, Facts, Given, Goal, Step, carried_out


def prepared(goal: Goal, given: Given) -> Facts:
    """The facts after all steps of a goal.

    given: what the goal starts with, see `facts.STARTS`; `GIVEN` is the workload itself if it is
    left out. Raises InvalidInput for a workload that the command cannot take.
    """
    return carried_out(STEPS, goal, {GIVEN: given.get(WORKLOAD), **given})


def _note(says: Callable[[Facts], Iterable[str]]) -> Callable[[Facts], Given]:
    """A step that only says something, and does nothing where no user reads it."""

    def said(facts: Facts) -> Given:
        on_note = facts[ON_NOTE]
        if on_note is not None:
            for note in says(facts):
                on_note(note)
        return {}

    return said


def _step(name: str, do: Callable[[Facts], Given], goals: Iterable[Goal],
          needs: Iterable[Fact[Any]], gives: Iterable[Fact[Any]] = (),
          after: Iterable[Fact[Any]] = ()) -> Step:  # fmt: skip
    return Step(
        name=name, do=do, goals=tuple(goals), needs=tuple(needs), gives=tuple(gives),
        after=tuple(after),
    )  # fmt: skip


def _said(name: str, says: Callable[[Facts], Iterable[str]], goals: Iterable[Goal],
          needs: Iterable[Fact[Any]], after: Iterable[Fact[Any]] = ()) -> Step:  # fmt: skip
    return _step(name, _note(says), goals, (*needs, ON_NOTE), (), after)


_G = Goal
_SIMULATED = (_G.SIMULATE, _G.RECORDED)
_SCHEDULED = (*_SIMULATED, _G.COMPARE, _G.TRIAL)
_LIVE = (_G.RUN, _G.RESUME)
_ONE = (_G.DECIDE, _G.NIGHT)
_LENGTHS = (*_SIMULATED, _G.COMPARE, _G.PLAN, _G.ORDER, _G.LENGTHS)
_NOTED = (*_SIMULATED, _G.COMPARE, _G.RUN)

STEPS = (
    # Of a run that is resumed: its journal has the queues, the policies and its id.
    _step("recorded queues", work.recorded_queues, [_G.RESUME], [WORKLOAD, RUN], [WORKLOAD]),
    _step("run id", work.same_run_id, [_G.RESUME], [WORKLOAD, RUN], [WORKLOAD]),
    _step("policy files", work.policy_files, [_G.RESUME], [RUN, OPTIONS]),
    # Nodes come first: what profiles give depends on them, and predictions are for them.
    _step("weights in the file", work.weights_in_file, [_G.RUN], [WORKLOAD, OPTIONS, ON_MESSAGE]),
    _step("nodes of the engine", work.engine_nodes, _LIVE, [WORKLOAD, ENGINE, OPTIONS], [WORKLOAD]),
    _step("VMs as nodes", work.vm_nodes, (*_SCHEDULED, *_LIVE), [WORKLOAD, CHOSEN, OVERRIDES],
          [WORKLOAD, PLANS_VMS, NODES]),
    _step("predictions on VMs", work.vm_grids, (*_SCHEDULED, *_LIVE), [WORKLOAD, PLANS_VMS, NODES],
          [WORKLOAD]),
    _step("predictions", work.grids, [_G.POOLS], [WORKLOAD], [WORKLOAD, GRIDS]),
    _step("nodes of the run", work.run_cluster, _LIVE, [WORKLOAD, OPTIONS, NODES],
          [CLUSTER, IS_LIVE]),
    # Lengths: of profiles that the file names, then of tasks that are only cut now.
    _step("profiles", work.profiles, _LENGTHS, [WORKLOAD], [WORKLOAD, LENGTHS], [NODES]),
    _step("tasks", work.tasks, [_G.PLAN, _G.ORDER], [WORKLOAD, LENGTHS, ON_MESSAGE],
          [WORKLOAD, TASKS]),
    _step("open tasks", work.open_tasks, [_G.SIMULATE, _G.COMPARE, _G.LENGTHS],
          [WORKLOAD, LENGTHS, ON_MESSAGE], [WORKLOAD, TASKS]),
    _step("forecasts", work.forecasts, [_G.SIMULATE, _G.COMPARE],
          [WORKLOAD, GIVEN, ON_MESSAGE, NODES, TASKS], [FORECASTS]),
    _step("predicted times", work.times, [_G.SIMULATE, _G.COMPARE],
          [WORKLOAD, GIVEN, FORECASTS, TASKS], [WORKLOAD, TIMES]),
    _step("overheads", work.overheads, [_G.PLAN], [WORKLOAD, GIVEN, ON_MESSAGE, TASKS],
          [WORKLOAD, PROFILES, TIMES]),
    # A job's time is predicted with its own slots; only then do all become containers of queues.
    _step("queues", work.queues, _SIMULATED, [WORKLOAD, QUEUES],
          [WORKLOAD, QUEUED], [LENGTHS, TIMES]),
    _step("nodes of the file", work.cluster, (*_SIMULATED, _G.COMPARE), [WORKLOAD, NODES],
          [CLUSTER, IS_LIVE], [QUEUED]),
    _step("settings", work.settings, (*_SCHEDULED, *_LIVE), [WORKLOAD, CHOSEN, OVERRIDES, NODES],
          [SETTINGS]),
    _step("jobs that start whole", work.whole_jobs, (*_SIMULATED, _G.RUN, *_ONE),
          [WORKLOAD, CHOSEN, SETTINGS], [DECIDING]),
    _step("rows", work.all_decide, [_G.COMPARE], [CHOSEN], [DECIDING]),
    _step("options of whole jobs", work.live_options, [_G.RUN], [OPTIONS, CHOSEN, DECIDING],
          [OPTIONS]),
    # Notes are about the policies that decide in the end, on the nodes that are there in the end.
    _said("note on whole jobs", notes.of_whole_jobs, (*_SIMULATED, _G.RUN),
          [WORKLOAD, CHOSEN, DECIDING]),
    _said("notes on settings", notes.of_settings, _NOTED, [SETTINGS, DECIDING, IS_LIVE]),
    _said("notes on recorded lengths", notes.of_recorded_lengths, [_G.RECORDED],
          [SETTINGS, CHOSEN]),
    _said("note on VMs", notes.of_vm_parts, (*_SIMULATED, *_LIVE), [CLUSTER, CHOSEN]),
    _said("note on gaps", notes.of_gaps, _SIMULATED, [WORKLOAD]),
    _said("notes on the workload", notes.of_workload, _NOTED,
          [WORKLOAD, CLUSTER, SETTINGS, DECIDING], [TIMES, QUEUED]),
    _step("warnings of the engine", work.engine_warnings, [_G.RUN], [ENGINE, OPTIONS, ON_MESSAGE]),
    _step("files of the engine", work.engine_files, [_G.RUN], [ENGINE, SETTINGS, RUNS]),
    # Real jobs: outputs are named and inputs are cut before past runs give them lengths.
    _step("new run id", work.run_id, [_G.RUN], [WORKLOAD, RUNS], [WORKLOAD, RUN_ID]),
    _step("real jobs", work.real_jobs, [_G.RUN],
          [WORKLOAD, OVERWRITE, RUNS, RUN_ID, SETTINGS, ENGINE],
          [WORKLOAD, PREPARED, LAID_OUT_FROM, TASKS]),
    _said("notes on reduces", notes.of_reduces, [_G.RUN], [WORKLOAD, LAID_OUT_FROM]),
    _step("scheduler of the run", work.live_scheduler, _LIVE, [WORKLOAD, SETTINGS, OPTIONS],
          [SCHEDULER]),
    _step("accounts", work.accounts, [_G.RUN], [WORKLOAD, SCHEDULER, RUNS, ON_MESSAGE],
          [WORKLOAD, HAS_ACCOUNTS]),
    _step("scheduler with accounts", work.scheduler_of_accounts, [_G.RUN],
          [WORKLOAD, SETTINGS, OPTIONS, HAS_ACCOUNTS], [SCHEDULER]),
    _step("past lengths", work.past_lengths, [_G.RUN], [WORKLOAD, CLUSTER, ON_MESSAGE, TASKS],
          [WORKLOAD, LENGTHS]),
    # The service has named outputs and found whose jobs they are.
    _step("received jobs", work.received_jobs, [_G.RECEIVE], [WORKLOAD, USERS],
          [WORKLOAD, PREPARED, TASKS]),
    _step("past lengths by name", work.lengths_by_name, [_G.RECEIVE],
          [WORKLOAD, NAMES, CLUSTER, TASKS], [WORKLOAD, LENGTHS]),
    # Under one scheduler: which slots its tasks take decides how long paths of jobs are.
    _step("cluster", work.required_cluster, _ONE, [WORKLOAD, DECIDING], [CLUSTER]),
    _step("scheduler", work.scheduler, _ONE, [WORKLOAD, SETTINGS, DECIDING], [SCHEDULER]),
    _step("kinds of slots", work.slot_kinds, (*_ONE, _G.RUN, _G.RECEIVE),
          [WORKLOAD, CLUSTER, SCHEDULER], [WORKLOAD, KINDS], [LENGTHS]),
    _step("deadlines", work.deadlines, [_G.DECIDE, _G.RUN, _G.RECEIVE], [WORKLOAD, CLUSTER, KINDS],
          [WORKLOAD, DEADLINES], [LENGTHS]),
    _step("check of starts", work.check_startable, [_G.NIGHT, _G.RUN, _G.RECEIVE],
          [WORKLOAD, CLUSTER, SCHEDULER, KINDS], after=[DEADLINES]),
    _step("check of renting", work.check_rentable, [_G.RUN], [CLUSTER, SCHEDULER, ENGINE]),
    _step("check of a simulation", work.check_simulable, [_G.DECIDE],
          [WORKLOAD, CLUSTER, SCHEDULER, SETTINGS, DECIDING, LENGTHS_FROM, KINDS, DEADLINES]),
)  # fmt: skip
