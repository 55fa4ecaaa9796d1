"""The scheduler as a file writes it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from sluice.ingest.file_schema.fields import Shape

_PART = "a name, as `sluice simulate --help` lists them"


class SchedulerShape(Shape):
    """The scheduler of a workload: a preset, and parts that differ from it."""

    preset: str | None = Field(None, description="a preset by name, or a file that holds one")
    tasks: str | None = Field(None, description="a task policy: a name, or FILE.py:Class")
    release: str | None = Field(None, description="a release policy: a name, or FILE.py:Class")
    admission: str | None = Field(None, description="an admission policy: a name, or FILE.py:Class")
    order: str | None = Field(None, description=_PART)
    goals: str | None = Field(None, description=_PART)
    slots: str | None = Field(None, description=_PART)
    copies: str | None = Field(None, description=_PART)
    data: str | None = Field(None, description=_PART)
    machines: str | None = Field(None, description=_PART)
    settings: dict[str, Any] | None = Field(
        None, description="a mapping of settings, as in {goals.guard: 0.4}"
    )
