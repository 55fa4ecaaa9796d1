"""The work of each step: a function from the facts that it needs to those that it gives.

Each imports what it calls when it runs, so that a command loads no more than its goal needs.
"""

from __future__ import annotations

from dataclasses import replace

from sluice.bootstrap.preparation.facts import (
    CHOSEN,
    CLUSTER,
    DECIDING,
    ENGINE,
    FORECASTS,
    GIVEN,
    GRIDS,
    HAS_ACCOUNTS,
    IS_LIVE,
    LAID_OUT_FROM,
    LENGTHS_FROM,
    NAMES,
    ON_MESSAGE,
    OPTIONS,
    OVERRIDES,
    OVERWRITE,
    PLANS_VMS,
    PREPARED,
    PROFILES,
    QUEUES,
    RUN,
    RUN_ID,
    RUNS,
    SCHEDULER,
    SETTINGS,
    USERS,
    WORKLOAD,
)
from sluice.bootstrap.preparation.pipeline import Facts, Given
from sluice.model.errors import sentence
from sluice.model.ids import JobId

# --- nodes and policies ---------------------------------------------------------------------------


def recorded_queues(facts: Facts) -> Given:
    """Queues as the journal of the run has them."""
    from sluice.bootstrap.live.accounts import recorded_queues

    return {WORKLOAD: recorded_queues(facts[WORKLOAD], facts[RUN])}


def policy_files(facts: Facts) -> Given:
    """Refuse a policy file that is not what it was when the run started."""
    from sluice.bootstrap.live.run_options import check_policy_files

    run = facts[RUN]
    check_policy_files(run.header, facts[OPTIONS], run.run_id)
    return {}


def weights_in_file(facts: Facts) -> Given:
    """Warn of weights of nodes in the file where the nodes are those of a cluster."""
    cluster, address = facts[WORKLOAD].cluster, facts[OPTIONS].address
    if address and cluster and any(node.unit_weight != 1 for node in cluster.nodes):
        facts[ON_MESSAGE](
            f"warning: `unit_weight` under `cluster` has no effect on the nodes of {address}: give"
            " run.unit_weights."
        )
    return {}


def engine_nodes(facts: Facts) -> Given:
    """The nodes of an engine that has its own."""
    return {WORKLOAD: facts[ENGINE].with_nodes(facts[WORKLOAD], facts[OPTIONS])}


def vm_nodes(facts: Facts) -> Given:
    """VMs of pools as nodes, and the settings of the pools."""
    from sluice.bootstrap.preparation.vm_nodes import has_vm_nodes

    if not has_vm_nodes(facts[WORKLOAD]):
        return {PLANS_VMS: False}
    from sluice.bootstrap.vm_pools import on_vm_nodes

    workload, plans_vms = on_vm_nodes(facts[WORKLOAD], facts[CHOSEN], facts[OVERRIDES])
    return {WORKLOAD: workload, PLANS_VMS: plans_vms}


def vm_grids(facts: Facts) -> Given:
    """Predictions on VM types, with their margins, for a policy that gives jobs VMs."""
    if not facts[PLANS_VMS]:
        return {}
    from sluice.bootstrap.forecasts.predicted_jobs import time_alone_s
    from sluice.bootstrap.preparation.vm_grids import with_grids, with_margins

    return {WORKLOAD: with_margins(with_grids(facts[WORKLOAD], time_alone_s).workload)}


def grids(facts: Facts) -> Given:
    """Predictions on VM types for each job that lists none."""
    from sluice.bootstrap.forecasts.predicted_jobs import time_alone_s
    from sluice.bootstrap.preparation.vm_grids import with_grids

    made = with_grids(facts[WORKLOAD], time_alone_s)
    return {WORKLOAD: made.workload, GRIDS: made.forecasts}


def run_cluster(facts: Facts) -> Given:
    """The nodes of the options, or else of the file."""
    return {CLUSTER: facts[OPTIONS].cluster(facts[WORKLOAD]), IS_LIVE: True}


# --- lengths of the tasks -------------------------------------------------------------------------


def profiles(facts: Facts) -> Given:
    """The lengths of stored profiles that jobs name."""
    from sluice.bootstrap.history.profiles import with_profiles

    return {WORKLOAD: with_profiles(facts[WORKLOAD])}


def tasks(facts: Facts) -> Given:
    """All tasks of real jobs, and the lengths that past runs measured."""
    if not _really_run(facts):
        return {}
    from sluice.bootstrap.forecasts.plan_inputs import laid_out

    return {WORKLOAD: laid_out(facts[WORKLOAD], facts[ON_MESSAGE])}


def open_tasks(facts: Facts) -> Given:
    """The tasks of real jobs whose lengths the file leaves open."""
    if not _really_run(facts):
        return {}
    from sluice.bootstrap.forecasts.plan_inputs import laid_out_where_open

    return {WORKLOAD: laid_out_where_open(facts[WORKLOAD], facts[ON_MESSAGE])}


def _really_run(facts: Facts) -> bool:
    return any(job.run is not None for job in facts[WORKLOAD].jobs)


def forecasts(facts: Facts) -> Given:
    """A forecast of each job that has past runs."""
    from sluice.bootstrap.forecasts.predicted_jobs import forecasts_of

    jobs = facts[GIVEN].jobs
    return {FORECASTS: forecasts_of(jobs, facts[WORKLOAD].cluster, facts[ON_MESSAGE])}


def times(facts: Facts) -> Given:
    """Jobs that take as long as their forecasts say."""
    from sluice.bootstrap.forecasts.predicted_jobs import as_predicted

    return {WORKLOAD: as_predicted(facts[WORKLOAD], facts[GIVEN].jobs, facts[FORECASTS])}


def overheads(facts: Facts) -> Given:
    """The overhead of each profile, as a plan adds it."""
    from sluice.bootstrap.forecasts.job_forecasts import ProfileForecasts
    from sluice.bootstrap.forecasts.plan_inputs import with_overheads

    given, forecasts = facts[GIVEN], ProfileForecasts(facts[GIVEN])
    for note in forecasts.change_notes():
        facts[ON_MESSAGE](f"note: {note}")
    return {WORKLOAD: with_overheads(facts[WORKLOAD], given, forecasts), PROFILES: forecasts}


# --- who decides ----------------------------------------------------------------------------------


def queues(facts: Facts) -> Given:
    """Jobs in the queues of a scheduler's configuration."""
    queues = facts[QUEUES]
    if queues is None:
        return {}
    from sluice.bootstrap.preparation.queues import under_queues

    return {WORKLOAD: under_queues(facts[WORKLOAD], *queues)}


def settings(facts: Facts) -> Given:
    """The settings of the file, with those of the command over them."""
    from sluice.bootstrap.settings import resolved_settings

    file_settings = facts[WORKLOAD].settings
    return {SETTINGS: resolved_settings(file_settings, facts[OVERRIDES], facts[CHOSEN])}


def whole_jobs(facts: Facts) -> Given:
    """The scheduler, made to start jobs as a whole if one asks for that."""
    from sluice.bootstrap.preparation.whole_jobs import starting_whole

    tasks, *others = facts[CHOSEN]
    return {DECIDING: (starting_whole(tasks, facts[WORKLOAD].jobs, facts[SETTINGS]), *others)}


def all_decide(facts: Facts) -> Given:
    """The schedulers of a comparison as they are: each simulation changes its own."""
    return {DECIDING: facts[CHOSEN]}


def cluster(facts: Facts) -> Given:
    """The nodes of the file, if it has any."""
    return {CLUSTER: facts[WORKLOAD].cluster, IS_LIVE: False}


def required_cluster(facts: Facts) -> Given:
    """The nodes of the file. Raises InvalidInput if it has none."""
    return {CLUSTER: facts[WORKLOAD].required_cluster()}


# --- real jobs ------------------------------------------------------------------------------------


def live_options(facts: Facts) -> Given:
    """The options of a run whose scheduler starts jobs as a whole."""
    asked, tasks = facts[CHOSEN][0], facts[DECIDING][0]
    return {} if tasks is asked else {OPTIONS: replace(facts[OPTIONS], tasks=tasks.name)}


def engine_warnings(facts: Facts) -> Given:
    """Warn of what a user of the engine should know before the run."""
    for warning in facts[ENGINE].warnings(facts[OPTIONS]):
        facts[ON_MESSAGE](f"warning: {sentence(warning)}")
    return {}


def engine_files(facts: Facts) -> Given:
    """Check files of the engine's settings, and end what former runs have left."""
    facts[ENGINE].prepare(facts[SETTINGS], facts[RUNS])
    return {}


def run_id(facts: Facts) -> Given:
    """A new id in the names of outputs that have it."""
    from sluice.bootstrap.live.output_names import names_run, with_run_id

    workload = facts[WORKLOAD]
    run_id = facts[RUNS].new_id() if names_run(workload) else None
    return {RUN_ID: run_id} | ({WORKLOAD: with_run_id(workload, run_id)} if run_id else {})


def same_run_id(facts: Facts) -> Given:
    """The id of the run in the names of outputs that have it."""
    from sluice.bootstrap.live.output_names import with_run_id

    return {WORKLOAD: with_run_id(facts[WORKLOAD], facts[RUN].run_id)}


def real_jobs(facts: Facts) -> Given:
    """Jobs that are ready to run: inputs, commands and outputs are checked."""
    from sluice.bootstrap.live.real_jobs import customers_apart, prepared_jobs_of
    from sluice.bootstrap.live.run_outputs import check_no_other_run

    workload = facts[WORKLOAD]
    users = customers_apart(facts[SETTINGS], facts[ENGINE], overwrite=facts[OVERWRITE])
    made = prepared_jobs_of(workload, overwrite=facts[OVERWRITE], users=users)
    check_no_other_run(facts[RUNS], made)
    jobs = tuple(each.job for each in made)
    return {PREPARED: made, LAID_OUT_FROM: workload.jobs, WORKLOAD: replace(workload, jobs=jobs)}


def live_scheduler(facts: Facts) -> Given:
    """A fresh scheduler for a live run."""
    from sluice.bootstrap.scheduler import live_scheduler

    return {SCHEDULER: live_scheduler(facts[WORKLOAD], facts[SETTINGS], facts[OPTIONS])}


def accounts(facts: Facts) -> Given:
    """Queues that start with what earlier runs have counted for them."""
    from sluice.bootstrap.history.past_runs import replayed
    from sluice.bootstrap.live.accounts import with_accounts

    before, runs = facts[WORKLOAD], facts[RUNS]
    tasks = facts[SCHEDULER].policies.tasks
    workload = with_accounts(before, tasks, runs, replayed, facts[ON_MESSAGE])
    runs.make_folder()  # one that cannot be made is reported before the store in it
    return {WORKLOAD: workload, HAS_ACCOUNTS: workload is not before}


def scheduler_of_accounts(facts: Facts) -> Given:
    """A scheduler that knows these accounts."""
    return live_scheduler(facts) if facts[HAS_ACCOUNTS] else {}


def past_lengths(facts: Facts) -> Given:
    """The measured lengths and demands of past runs of the same work."""
    from sluice.bootstrap.history.profiles import with_past_lengths

    workload, cluster = facts[WORKLOAD], facts[CLUSTER]
    jobs = with_past_lengths(workload.jobs, facts[ON_MESSAGE], cluster.nodes)
    return {WORKLOAD: replace(workload, jobs=tuple(jobs))}


def received_jobs(facts: Facts) -> Given:
    """Jobs of a user of the service that are ready to run; no output is replaced."""
    from sluice.bootstrap.live.real_jobs import prepared_jobs_of

    workload = facts[WORKLOAD]
    made = prepared_jobs_of(workload, overwrite=False, users=facts[USERS])
    return {PREPARED: made, WORKLOAD: replace(workload, jobs=tuple(each.job for each in made))}


def lengths_by_name(facts: Facts) -> Given:
    """The lengths of past runs, which are found by the names that the user gave.

    What the jobs will measure is kept under these names as well.
    """
    from sluice.bootstrap.history.profiles import with_past_lengths

    workload, names = facts[WORKLOAD], facts[NAMES]
    asked = [
        replace(job, job_id=JobId(name)) for job, name in zip(workload.jobs, names, strict=True)
    ]
    known = with_past_lengths(asked, lambda _: None, facts[CLUSTER].nodes)
    jobs = tuple(
        replace(one, job_id=job.job_id, profile=one.profile or name)
        for one, job, name in zip(known, workload.jobs, names, strict=True)
    )
    return {WORKLOAD: replace(workload, jobs=jobs)}


# --- under one scheduler --------------------------------------------------------------------------


def scheduler(facts: Facts) -> Given:
    """A fresh scheduler for a simulation."""
    from sluice.bootstrap.scheduler import scheduler_for

    by_kind = {one.kind: one for one in facts[DECIDING]}
    made = scheduler_for(
        settings=facts[SETTINGS],
        tasks=by_kind["tasks"],
        release=by_kind.get("release", "input"),
        admission=by_kind.get("admission", "all"),
        pools=facts[WORKLOAD].pools,
        demands=facts[WORKLOAD].has_demands,
    )
    return {SCHEDULER: made}


def slot_kinds(facts: Facts) -> Given:
    """The kind of slot that each phase takes under the scheduler."""
    from sluice.bootstrap.preparation.container_jobs import with_slot_kinds

    workload, tasks = facts[WORKLOAD], facts[SCHEDULER].policies.tasks
    jobs = with_slot_kinds(workload.jobs, facts[CLUSTER], tasks)
    return {WORKLOAD: replace(workload, jobs=jobs)}


def deadlines(facts: Facts) -> Given:
    """Deadlines of jobs that others with a deadline run after."""
    from sluice.estimate.workflow_deadlines import with_shared_deadlines

    workload = facts[WORKLOAD]
    jobs = with_shared_deadlines(workload.jobs, facts[CLUSTER])
    return {WORKLOAD: replace(workload, jobs=jobs)}


def check_startable(facts: Facts) -> Given:
    """Refuse work that could never start."""
    from sluice.bootstrap.preparation.checks import check_slots

    workload = facts[WORKLOAD]
    check_slots(workload.jobs, facts[CLUSTER], facts[SCHEDULER], workload.source)
    return {}


def check_simulable(facts: Facts) -> Given:
    """Refuse what cannot be simulated, or not within a machine's memory."""
    from sluice.bootstrap.preparation.checks import check_rentable, check_simulable
    from sluice.simulation.settings import SimulationSettings

    scheduler, has_lengths = facts[SCHEDULER], facts[LENGTHS_FROM] is not None
    world = facts[SETTINGS].of(SimulationSettings, facts[DECIDING][0].name)
    check_simulable(facts[WORKLOAD], scheduler, world, has_lengths=has_lengths)
    check_rentable(scheduler, facts[CLUSTER])
    return {}


def check_rentable(facts: Facts) -> Given:
    """Refuse to rent VMs that are not like the nodes, or that the engine cannot give back."""
    from sluice.bootstrap.preparation.checks import check_rentable

    check_rentable(facts[SCHEDULER], facts[CLUSTER], facts[ENGINE])
    return {}
