"""Run a workload's jobs for real, or resume a run that was interrupted.

A run is new, or goes on with one of the same file that did not finish, if the user asks for it.
`live_run` does the work; here the arguments are checked together, outputs of earlier runs are
replaced (`ReplacedOutputs`) once their jobs succeed again, and the state of the scheduler at the
end becomes a result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, Self

from sluice.api.function_job import JobFunctions, function_job
from sluice.api.options.calls import called_with
from sluice.api.options.live import LiveOptions, ServeOptions
from sluice.api.options.parts import PartOptions
from sluice.api.sources import document_text, workload_in
from sluice.bootstrap.live import live_run
from sluice.bootstrap.live.output_names import with_run_id
from sluice.bootstrap.live.run_options import RunOptions
from sluice.bootstrap.presets import completed_by
from sluice.bootstrap.settings import setting_texts
from sluice.core.transitions import JobState
from sluice.engines.data_plane.stores import StoreFolder, is_url
from sluice.engines.driver import LiveRun
from sluice.engines.mapreduce.commit import SUCCESS
from sluice.engines.mapreduce.layout import output_of
from sluice.engines.progress import Unwatched, Watcher
from sluice.ingest.reading import SourceText, read_text, source_folder
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import RunSpec
from sluice.model.workload import Workload
from sluice.reporting.run.buffers import buffer_uses
from sluice.reporting.run.links import links, moved_bytes
from sluice.reporting.run.result import RunResult
from sluice.store.old_outputs import HeldOutputs, settle_left
from sluice.store.run_info import RunInfo
from sluice.store.run_record import RunIdentity


@dataclass(frozen=True)
class RunCall(PartOptions, LiveOptions):
    """Arguments of `run`."""

    source: str | Path | SourceText | Mapping[str, Any] | Callable[..., Any]
    reducer: Callable[..., Any] | None = None
    input: str | Path | Sequence[str | Path] | None = None
    _: KW_ONLY
    combiner: Callable[..., Any] | None = None
    watcher: Watcher | None = None


@called_with(RunCall)
def run(given: RunCall) -> RunResult:
    """Run the workload's jobs for real, and measure them.

    source: a workload file, its document as a dict, a text that was read, or a function: the
    mapper of a job, as in `sluice.run(mapper, reducer, "data/*")`. The mapper takes a line,
    reducer and combiner take a key and its values; each returns or yields pairs.
    input: files, folders or patterns.  output: a new folder, by default a temporary one, removed
    at exit; `lines()` of the result reads it.  part_files: how many files it has, by default one.
    engine: local, ray or yarn.  address: of YARN's ResourceManager, such as http://rm:8088, or of a
    Ray cluster, HOST:PORT or auto; without it engine ray starts one here, and removes it.
    tasks, release, admission: by default what the file says under `scheduler`, else fifo, input
    and all.  preset, order, goals, slots, copies, data, machines: parts by name, as in `simulate`.
    nodes, map_slots, reduce_slots: nodes on this machine instead of the file's cluster.
    resume: continue the file's newest unfinished run, with the options that started it. If all
    runs of the file finished, or a later one succeeded, report the newest finished one again; if
    there is none, start one.
    overwrite: replace outputs of earlier runs, once their jobs succeed again. A resumed run
    goes on to replace what the interrupted one would have replaced.
    watcher: called with progress and messages.
    The result's `extra` has run_id, was_finished, predicted_makespan_s, measured, outputs,
    missing_outputs and uncommitted; the last three are by job. `links` has the bytes that nodes
    without a shared disk moved, and `moved_bytes` their sums by locality. `buffers` has the spills
    of each job with a `buffer`, measured and predicted. An output of a finished
    run is missing if its folder, or `_SUCCESS` in it, is gone.
    Raises InvalidInput, EngineUnavailable, StoreCorrupt, and RunInterrupted at Ctrl-C.
    """
    source, watcher = given.source, given.watcher
    named = ("reducer", "input", "output", "combiner", "part_files")
    of_functions = [name for name in named if getattr(given, name) is not None]
    _check_combination(
        of_functions, has_functions=callable(source), resume=given.resume, overwrite=given.overwrite
    )
    with ExitStack() as stack:
        if isinstance(source, str | Path | SourceText | Mapping):
            text = _text_of(source)
        else:
            functions = JobFunctions(source, given.combiner, given.reducer)
            job = function_job(functions, given.input, given.output, part_files=given.part_files)
            text = stack.enter_context(job)
        workload = workload_in(text)
        options = replace(
            run_options(workload, given.chosen(given), given.seed), advice=given.advice
        )
        identity = live_run.identity_of(text)
        left = live_run.resumable(identity, watcher) if given.resume else None
        if left is None:
            return _started(workload, identity, options, watcher, overwrite=given.overwrite)
        return _resumed(workload, left, options, watcher)


def run_options(workload: Workload, given: LiveOptions | ServeOptions, seed: int) -> RunOptions:
    """How the jobs of a workload, or of a service, are run. Raises InvalidInput."""
    tasks, release, admission, said = completed_by(
        workload, given.tasks, given.release, given.admission
    )
    return RunOptions(
        tasks=str(tasks), release=str(release), admission=str(admission),
        engine=given.engine, address=given.address, nodes=given.nodes,
        map_slots=given.map_slots, reduce_slots=given.reduce_slots,
        settings=(*said, *setting_texts(given.settings)), seed=seed,
    )  # fmt: skip


def _check_combination(
    of_functions: Sequence[str], *, has_functions: bool, resume: bool, overwrite: bool
) -> None:
    """Raise InvalidInput for arguments that do not go together.

    of_functions: the arguments that were given and only a job of functions has.
    """
    if resume and overwrite:
        raise InvalidInput(
            "it has no effect with --resume, which continues a run",
            where="--overwrite",
            hint="give one of the two",
        )
    if has_functions and resume:
        raise InvalidInput(
            "functions have no name by which an earlier run could be found",
            where="--resume",
            hint="put them into a file, and resume `sluice run FILE.py INPUT`",
        )
    if of_functions and not has_functions:
        raise InvalidInput(
            "it is for a job of functions, and a workload has its own",
            where=of_functions[0],
            hint="write it into the workload, under `run` of the job",
        )


def _text_of(source: str | Path | SourceText | Mapping[str, Any]) -> SourceText:
    """The text of a workload, whichever way it was given."""
    if isinstance(source, SourceText):
        return source
    if isinstance(source, Mapping):
        folder = source_folder("-")
        content = document_text(source).encode()
        return SourceText(content=content, name="the given workload", file="-", folder=folder)
    return read_text(str(source))


def _started(
    workload: Workload,
    identity: RunIdentity,
    options: RunOptions,
    watcher: Watcher | None,
    *,
    overwrite: bool,
) -> RunResult:
    """The result of a new run."""
    settle_outputs(workload)
    with ReplacedOutputs(workload if overwrite else None) as replaced:
        assembly = live_run.begin(workload, identity, options, watcher, overwrite=overwrite)
        replaced.has_begun = True
        done = assembly.run()
    return _result_of(workload, assembly, done, options)


def _resumed(
    workload: Workload, left: RunInfo, options: RunOptions, watcher: Watcher | None
) -> RunResult:
    """The result of a run that was interrupted, or had finished. options: those of this call."""
    began_with = RunOptions.of(left.header)
    for option in options.without_effect_on(began_with):
        (watcher or Unwatched()).on_message(
            f"note: {option} has no effect: a resumed run keeps the options that started it."
        )
    with live_run.explained_damage(left):
        assembly = live_run.resume(workload, left, watcher)
        done = assembly.run()
    settle_outputs(workload)
    return _result_of(workload, assembly, done, began_with)


def _result_of(
    workload: Workload, assembly: live_run.LiveSetup, done: LiveRun, options: RunOptions
) -> RunResult:
    workload = with_run_id(workload, assembly.run_id)
    result = RunResult.of(
        done.result,
        assembly.cluster,
        seed=options.seed,
        events=assembly.scheduler.events,
        uncommitted=done.uncommitted,
    ).forecasted(assembly.forecasts)
    committed = _committed(workload, done)
    missing = {job: path for job, path in committed.items() if not _is_there(path)}
    extra = {
        "run_id": assembly.run_id,
        "was_finished": done.was_finished,
        "predicted_makespan_s": assembly.predicted_makespan_s,
        "measured": result.measured(assembly.predicted),
        "outputs": {job: path for job, path in committed.items() if job not in missing},
        "missing_outputs": missing,
        "uncommitted": dict(done.uncommitted),
        **assembly.reports(),
        **({} if options.advice is None else {"advice": options.advice}),
    }
    moved = links(result.attempts, assembly.cluster)
    if moved:
        extra["links"] = [link.document() for link in moved]
        extra["moved_bytes"] = moved_bytes(moved)
    uses = buffer_uses(workload.jobs, result.attempts, workload.prices)
    if uses:
        extra["buffers"] = {use.job_id: use.document() for use in uses}
    return replace(result, extra=extra)


def _committed(workload: Workload, done: LiveRun) -> dict[JobId, str]:
    """Where the output of each job is that succeeded and was committed, by job."""
    return {
        job.job_id: _shown_output(job.run)
        for job in workload.jobs
        if job.run is not None
        and done.result.jobs[job.job_id].state is JobState.DONE
        and job.job_id not in done.uncommitted
    }


def _shown_output(run: RunSpec) -> str:
    output = output_of(run)
    return (
        output
        if is_url(output)
        else os.path.normpath(Path(run.folder, run.output.removeprefix("file://")))
    )


def _is_there(output: str) -> bool:
    """Whether an output is complete. The user may have moved or removed it since."""
    if not is_url(output):
        return Path(output, SUCCESS).is_file()
    with suppress(OSError):
        return bool(StoreFolder(output).version(SUCCESS))
    return False


# --- outputs that are replaced --------------------------------------------------------------------

# An old output steps aside before the run begins, and is removed once the new one is in its place.
# If its job fails, or the run is refused, the old output comes back. If the run is interrupted,
# the old output stays aside until the run is resumed, removed, or started again. Only an output
# that a job wrote is replaced: a folder without `_SUCCESS` is not touched.


class ReplacedOutputs:
    """A context for a run. Inside, the outputs of the workload's jobs are free to be written.

    workload: None replaces nothing.  has_begun: set it once the run can be resumed.
    """

    def __init__(self, workload: Workload | None) -> None:
        self._outputs = [] if workload is None else outputs_of(workload)
        self._held = HeldOutputs()
        self.has_begun = False

    def __enter__(self) -> Self:
        """Raises InvalidInput for an output that no job wrote, before anything is moved."""
        old = [output for output in self._outputs if output.exists() or output.is_symlink()]
        for output in old:
            if output.is_symlink() or not (output / SUCCESS).is_file():
                raise InvalidInput(
                    f"{str(output)!r} is not the output of a job: it has no {SUCCESS}",
                    where="--overwrite",
                    hint="remove it yourself, or name another output",
                )
        try:
            for output in old:
                self._held.step_aside(output)
        except BaseException:
            self._held.settle()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self.has_begun:
            self._held.let_go()  # in its place, the old output would stop the resumed run
        else:
            self._held.settle()


def settle_outputs(workload: Workload) -> None:
    """Remove or put back what interrupted runs left of earlier outputs of these jobs."""
    for output in outputs_of(workload):
        settle_left(output)


def outputs_of(workload: Workload) -> list[Path]:
    """The output folders of the workload's jobs; those at URLs are replaced by their commit."""
    places = (output_of(job.run) for job in workload.jobs if job.run is not None)
    return [Path(place) for place in dict.fromkeys(places) if not is_url(place)]
