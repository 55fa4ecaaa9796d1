"""The queue of a running YARN cluster: its applications, those that ended, and its processors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluice.engines.yarn.rest import ResourceManagerRest, checked_address
from sluice.ingest.logs import rm_apps
from sluice.ingest.logs.live_queue import LiveQueue
from sluice.ingest.logs.report import LogRead, Report
from sluice.model.errors import InvalidInput

_OPEN = "/apps?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_ENDED = "/apps?states=FINISHED"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCluster:
    """A cluster as its ResourceManager shows it now.

    queue: what runs and waits; None where nothing does.  report: what of it was skipped.
    past: the applications that ended and that YARN still lists; None without one.
    slots: processors of the nodes that run.  rows: the open applications as they came, by id.
    """

    queue: LiveQueue | None
    report: Report
    past: LogRead | None
    slots: int
    rows: Mapping[str, Mapping[str, Any]]


def listed_cluster(address: str) -> ListedCluster:
    """Ask a ResourceManager. address: of its web page.

    Raises InvalidInput for what is no such address, EngineUnavailable without answer.
    """
    rest = ResourceManagerRest(checked_address(address, "--queue"))
    answer, report = rest.call("GET", _OPEN), Report()
    rows = {str(row.get("id")): row for row in rm_apps.records_of(answer)}
    return ListedCluster(
        queue=rm_apps.queue_of(answer, address, report) if rows else None,
        report=report,
        past=_past(rest.call("GET", _ENDED), address),
        slots=sum(node.vcores for node in rest.nodes()),
        rows=rows,
    )


def _past(answer: object, address: str) -> LogRead | None:
    report = Report()
    try:
        found = rm_apps.log_of(answer, address, report)
    except InvalidInput:  # none has ended
        return None
    return LogRead(
        path=address,
        format=rm_apps.FORMAT,
        runs=found.runs,
        skipped=report.skipped,
        skipped_count=report.skipped_count,
        notes=found.notes,
        workload=found.workload,
    )
