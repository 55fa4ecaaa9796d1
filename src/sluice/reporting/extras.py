"""Optional libraries, imported at their first use."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sluice.model.errors import SluiceError

if TYPE_CHECKING:
    import pandas as pd

DataFrame: TypeAlias = "pd.DataFrame"  # for annotations: pandas is an extra


class MissingExtra(SluiceError):
    """A feature needs a library that is not installed."""


def required(module: str, *, extra: str, what: str) -> Any:  # noqa: ANN401  # any library's module
    """The module, imported now. Raises MissingExtra, with the extra's name, if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{what} needs {module.split('.', maxsplit=1)[0]}, which is not installed."
            f' Run: pip install "sluice[{extra}]"'
        ) from error


def data_frame(
    rows: Iterable[Mapping[str, object]], columns: Sequence[str] | None = None
) -> DataFrame:
    """The rows as a pandas data frame. Raises MissingExtra without pandas."""
    pandas = required("pandas", extra="frame", what="a data frame")
    frame: DataFrame = pandas.DataFrame(list(rows), columns=columns)
    return frame
