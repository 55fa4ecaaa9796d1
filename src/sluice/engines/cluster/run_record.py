"""The facts of its cluster that a resumed run needs: a small private file in the run's folder."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from sluice.store.private import open_private_file


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """file: its name in the folder.  token: of the node servers."""

    file: ClassVar[str]
    token: str = field(repr=False)

    def write(self, folder: Path) -> None:
        """Put it into the folder, whole or not at all. Raises OSError."""
        draft = folder / f"{self.file}.new"
        with os.fdopen(open_private_file(draft, os.O_WRONLY | os.O_TRUNC), "w") as text:
            text.write(json.dumps(asdict(self)))
        draft.rename(folder / self.file)

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The record in a folder; None if there is none that can be read."""
        try:
            return cls(**json.loads((folder / cls.file).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None
