"""The options of commands that take a table in place of a workload file: `--map`, `--containers`.

They are declared once, here, and kept for the command that reads its FILE next.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from sluice.cli.options import count, option
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from sluice.api.tables import TableOptions

_PANEL = "Tables"
_OPTIONS: dict[str, Any] = {
    "map": Annotated[
        list[str] | None,
        option(
            "The column of a table that holds a key: tasks=n_tasks.",
            "--map",
            metavar="KEY=COLUMN",
            panel=_PANEL,
        ),
    ],
    "containers": Annotated[
        int | None,
        count("Slots of the cluster for a table.", "--containers", low=1, high=10**7, panel=_PANEL),
    ],
}
_given: ContextVar[tuple[list[str], int | None]] = ContextVar("_given", default=([], None))


def takes_tables(command: Callable[..., int]) -> Callable[..., int]:
    """A command whose FILE may be a table, with the options that say what is in it."""

    @wraps(command)
    def with_tables(*words: Any, **given: Any) -> int:  # noqa: ANN401  # of any command
        token = _given.set((given.pop("map") or [], given.pop("containers")))
        try:
            return command(*words, **given)
        finally:
            _given.reset(token)

    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    known = [one.replace(annotation=hints[name]) for name, one in signature.parameters.items()]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]
    parameters = [*known, *more]
    vars(with_tables)["__signature__"] = inspect.Signature(parameters, return_annotation=int)
    with_tables.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_tables


def table_options() -> TableOptions:
    """Return what the options say. Raises InvalidInput for one that is not KEY=COLUMN."""
    from sluice.api.tables import TableOptions

    texts, containers = _given.get()
    columns: dict[str, str] = {}
    for text in texts:
        key, equals, header = text.partition("=")
        if not equals or not key.strip() or not header.strip():
            raise InvalidInput(
                f"{text[:60]!r} is not KEY=COLUMN", where="--map", hint="write --map tasks=n_tasks"
            )
        columns[key.strip()] = header.strip()
    return TableOptions(columns=columns, containers=containers)


def maps_taken() -> list[str]:
    """Return what `--map` says, for a command that means queues by it.

    Tables then get none of it.
    """
    texts, containers = _given.get()
    _given.set(([], containers))
    return texts


def check_unused() -> None:
    """Refuse the options where FILE is not a table. Raises InvalidInput."""
    texts, containers = _given.get()
    for name, value in (("--map", texts), ("--containers", containers)):
        if value:
            raise InvalidInput(
                "it is for tables, and FILE is none", where=name, hint="leave it out"
            )
