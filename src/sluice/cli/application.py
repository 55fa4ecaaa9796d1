"""The verbs of the command line: what each takes, and the order in which it does its work.

A verb reads and computes first, writes its files next, and prints last.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sluice.cli import options as given
from sluice.cli.answers import console, print_document, print_views, talk
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.hints import talk_about
from sluice.ingest.nearest import suggestion
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from sluice.reporting.result import RunResult


class _Verbs(TyperGroup):
    """The group of all verbs; it names the nearest one to a word that is none."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  # click's types, or Typer's copies of them, by Typer's version
        if self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            raise InvalidInput(
                f"there is no verb {args[0]!r}", where="sluice", mend=suggestion(args[0], known)
            )
        return super().resolve_command(ctx, args)


class _WithSettings(TyperCommand):
    """A verb whose help ends in the names of all policies and settings."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  # as above
        from sluice.cli.settings_view import settings_epilog

        self.epilog = settings_epilog()
        super().format_help(ctx, formatter)


app = typer.Typer(
    cls=_Verbs,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="One workload file goes to every verb. Begin with: sluice validate FILE",
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        version()
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _begin(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Decide which data-processing jobs to admit, in which order to release them, where each task
    runs, and what it all costs: in virtual time or for real, on one workload file.
    """
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")
        raise typer.Exit


@app.command(cls=_WithSettings)
def simulate(
    file: given.File,
    *,
    tasks: given.Tasks = "fifo",
    release: given.Release = "input",
    admission: given.Admission = "all",
    settings: given.Set = None,
    seed: given.Seed = 0,
    lengths_from: given.LengthsFrom = None,
    trace: given.Trace = None,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Run a workload in virtual time: when each job would start and end, and how busy slots are.

    Example: sluice simulate jobs.yaml --tasks fair --set jitter=0.15 --plot out.html
    """
    from sluice import verbs
    from sluice.cli.progress import simulation_bar

    files = Files.checked(file, trace=trace, plot=plot)
    with simulation_bar() as observer:
        result = verbs.simulate(
            file,
            tasks=tasks,
            release=release,
            admission=admission,
            settings=settings or [],
            seed=seed,
            lengths_from=lengths_from,
            observer=observer,
        )
    files.write(result)
    if as_json:
        print_document(result.document())
        return DONE
    _print_result(result)
    flags = {"tasks": tasks, "release": release, "admission": admission, "seed": seed}
    talk_about(result, file, flags, settings or [])
    return DONE


@app.command(cls=_WithSettings)
def compare(
    file: given.File,
    *,
    schedulers: Annotated[
        str,
        typer.Option(metavar="A,B,...", help="Task policies, or RELEASE+TASKS."),
    ] = "fifo,fair",
    seeds: given.Seeds = 10,
    settings: given.Set = None,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Simulate a workload under several schedulers, and set them side by side.

    Example: sluice compare jobs.yaml --schedulers fifo,fair,yarn-like --set jitter=0.15
    """
    from sluice import verbs
    from sluice.cli.progress import comparison_bar
    from sluice.reporting.tables import comparison_table

    files = Files.checked(file, plot=plot)
    names = [name.strip() for name in schedulers.split(",") if name.strip()]
    with comparison_bar(f"simulating {len(names)} schedulers, {seeds} seeds each") as observer:
        comparison = verbs.compare(
            file, names, seeds=seeds, settings=settings or [], observer=observer
        )
    if plot is not None:
        from sluice.reporting.charts.schedulers import schedulers_chart

        files.save(schedulers_chart(comparison))
    if as_json:
        print_document(comparison.document())
    else:
        print_views(comparison_table(comparison))
    return DONE


@app.command(cls=_WithSettings)
def run(
    file: given.File,
    *,
    engine: Annotated[str, typer.Option(metavar="NAME", help="What runs the tasks.")] = "local",
    nodes: given.Nodes = None,
    map_slots: given.MapSlots = None,
    reduce_slots: given.ReduceSlots = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue FILE's last run, if it did not finish.")
    ] = False,
    tasks: given.Tasks = "fifo",
    release: given.Release = "input",
    admission: given.Admission = "all",
    settings: given.Set = None,
    seed: given.Seed = 0,
    trace: given.Trace = None,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Run a workload's jobs for real, under the policies that simulate knows.

    Example: sluice run wordcount.yaml --nodes 2
    """
    from sluice import verbs
    from sluice.cli.live import live_watcher

    files = Files.checked(file, trace=trace, plot=plot)
    with live_watcher() as watcher:
        result = verbs.run(
            file,
            engine=engine,
            nodes=nodes,
            map_slots=map_slots,
            reduce_slots=reduce_slots,
            tasks=tasks,
            release=release,
            admission=admission,
            settings=settings or [],
            seed=seed,
            resume=resume,
            watcher=watcher,
        )
    files.write(result)
    if as_json:
        print_document(result.document())
    else:
        _print_run(result)
    if result.extra["was_finished"]:
        talk("This run had finished before; nothing was done now.")
        return DONE
    is_whole = set(result.states) <= {"done"} and not result.extra["uncommitted"]
    return DONE if is_whole else NO


@app.command()
def why(
    job: Annotated[str, typer.Argument(metavar="JOB", show_default=False, help="Id of the job.")],
    *,
    run: given.Run = None,
    file: given.OfFile = None,
    at_s: given.AtS = None,
    tasks: given.TasksOrNone = None,
    release: given.ReleaseOrNone = None,
    admission: given.AdmissionOrNone = None,
    settings: given.SetOrNone = None,
    seed: given.SeedOrNone = None,
    as_json: given.AsJson = False,
) -> int:
    """Tell why a job waits, or what became of it: in the newest run, or in a simulation.

    Example: sluice why etl-7 --file jobs.yaml --tasks fair --at-s 120
    """
    from sluice import verbs
    from sluice.reporting.explanation import why_text

    simulation = {
        "tasks": tasks, "release": release, "admission": admission, "set": settings, "seed": seed,
    }  # fmt: skip
    subject = given.subject_of(run=run, file=file, at_s=at_s, simulation=simulation)
    answer = verbs.why(job, **subject)
    if as_json:
        print_document(answer.document())
    else:
        console().print(why_text(answer), end="")
    return DONE


@app.command()
def story(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="ID", show_default=False, help="Id of a job or a node, or JOB/PHASE/TASK."
        ),
    ],
    *,
    run: given.Run = None,
    file: given.OfFile = None,
    at_s: given.AtS = None,
    tasks: given.TasksOrNone = None,
    release: given.ReleaseOrNone = None,
    admission: given.AdmissionOrNone = None,
    settings: given.SetOrNone = None,
    seed: given.SeedOrNone = None,
    as_json: given.AsJson = False,
) -> int:
    """Tell what happened to a job, a task or a node, in order of time.

    Example: sluice story etl-7/map/3 --file jobs.yaml
    """
    from sluice import verbs
    from sluice.reporting.explanation import story_view

    simulation = {
        "tasks": tasks, "release": release, "admission": admission, "set": settings, "seed": seed,
    }  # fmt: skip
    about = given.subject_of(run=run, file=file, at_s=at_s, simulation=simulation)
    answer = verbs.story(subject, **about)
    if as_json:
        print_document(answer.document())
    else:
        print_views(story_view(answer))
    return DONE


@app.command()
def validate(file: given.File, *, as_json: given.AsJson = False) -> int:
    """Check a workload file, and tell what it was understood to say.

    Example: sluice validate jobs.yaml
    """
    from sluice import verbs
    from sluice.cli.overview import overview_of

    overview = overview_of(verbs.validate(file))
    if as_json:
        print_document(overview.document())
        return DONE
    from sluice.cli.overview_view import overview_views

    print_views(*overview_views(overview))
    if overview.can_simulate and file != "-":
        talk(f"Next: sluice simulate {shlex.quote(file)}")
    return DONE


@app.command()
def settings(*, as_json: given.AsJson = False) -> int:
    """List what --set and `settings:` of a workload file can change.

    Example: sluice settings
    """
    from sluice.cli.settings_view import settings_document, settings_table

    if as_json:
        print_document(settings_document())
    else:
        print_views(settings_table())
    return DONE


@app.command()
def schema(*, _as_json: given.AsJson = False) -> int:
    """Print the JSON Schema of the workload file, for editors and other programs.

    Example: sluice schema > workload.schema.json
    """
    from sluice import verbs

    print_document(verbs.schema(), indent=2)
    return DONE


@app.command()
def version(*, as_json: given.AsJson = False) -> int:
    """Print the version."""
    import sluice

    if as_json:
        print_document({"version": sluice.__version__, "python": sys.version.split()[0]})
    else:
        sys.stdout.write(f"sluice {sluice.__version__}\n")
    return DONE


def _print_result(result: RunResult) -> None:
    from sluice.reporting.tables import job_table, summary_panel

    print_views(job_table(result, width=console().width), summary_panel(result))


def _print_run(result: RunResult) -> None:
    from sluice.cli.live import run_views

    _print_result(result)
    print_views(*run_views(result))
