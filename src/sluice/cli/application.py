"""The command line as a whole: its group of commands, and what it does without a command."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sluice.cli.overview_help import print_overview, print_version
from sluice.cli.panels import DESCRIPTION, EPILOG, PANEL_OF
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput

_NAME_CHARACTERS_MAX = 40  # of an unknown name in a message


class CommandGroup(TyperGroup):
    """The group of all commands. An unknown command is answered with the nearest name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  # click's types, or Typer's copies of them, by Typer's version
        if self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            hint = suggestion(args[0], known, f"`{ctx.command_path} --help` lists the commands")
            takes_file = any("--config" in one.opts for one in ctx.command.params)
            if takes_file and "." in args[0]:
                hint = f"give a file as --config {args[0]}"
            what = f"unknown command {args[0][:_NAME_CHARACTERS_MAX]!r}"
            raise InvalidInput(what, where=ctx.command_path, hint=hint)
        name, command, rest = super().resolve_command(ctx, args)
        from sluice.cli.provenance import RunningCommand, note_command

        note_command(RunningCommand(command, str(name), tuple(rest), ctx))
        return name, command, rest

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401  # as above
        command = super().get_command(ctx, cmd_name)
        if command is None:
            return None
        if command.help:
            # Typer keeps the line ends of a docstring in all paragraphs but the first.
            paragraphs = command.help.split("\n\n")
            command.help = "\n\n".join(" ".join(one.split()) for one in paragraphs)
        if ctx.parent is None:
            # Typer's attribute: its own commands have it, and click's type does not.
            command.rich_help_panel = PANEL_OF.get(cmd_name)  # type: ignore[attr-defined]  # as above
        _name_no_values(command, ctx)
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  # as above
        _name_no_values(self, ctx)
        if ctx.parent is not None:
            super().format_help(ctx, formatter)
            return
        print_overview()


def _name_no_values(command: Any, ctx: Any) -> None:  # noqa: ANN401  # as above
    """Let the help show no type of an argument, and none of an option that takes no value."""
    for one in (*command.params, command.get_help_option(ctx)):
        if getattr(one, "is_flag", False):
            one.metavar = ""
        elif one.param_type_name == "argument":
            one.display_type_rich = _no_type


def _no_type(ctx: Any) -> None:  # noqa: ANN401  # as above
    """The type of an argument: none, as its name and its text say more."""


class WithSettings(TyperCommand):
    """A command whose help ends with the names of the policies that it takes."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  # as above
        from sluice.cli.settings_view import policies_epilog

        self.epilog = policies_epilog({name for one in self.params for name in one.opts})
        super().format_help(ctx, formatter)


app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=DESCRIPTION,
    epilog=EPILOG,
)


def _stop_at_version(is_wanted: bool) -> None:
    if is_wanted:
        print_version()
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _begin(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_stop_at_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Answer without a command."""
    if context.invoked_subcommand is None:
        print_overview()
        raise typer.Exit
