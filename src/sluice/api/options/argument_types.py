"""The types of arguments of public functions, for the type checker and for the check of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sluice.model.machines import PriceList
from sluice.model.workload import Workload


@runtime_checkable
class DataFrame(Protocol):
    """A data frame of any library, as a table of jobs."""

    @property
    def columns(self) -> Any:  # noqa: ANN401  # each library has its own type
        """Its columns, or their names."""


# A path, a workload, a document of one, or a table: a data frame, a list of dicts, a dict.
Source = str | Path | Workload | DataFrame | Mapping[Any, Any] | Sequence[Mapping[Any, Any]]

PriceSource = str | Path | PriceList | DataFrame | Mapping[Any, Any] | Sequence[Mapping[Any, Any]]

GivenSettings = Mapping[str, object] | Sequence[str]

OnMessage = Callable[[str], None]
