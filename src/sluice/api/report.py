"""A report of one result: a document that was saved, or a recorded run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sluice.api.options.calls import called_with
from sluice.api.options.steering import ReportOptions
from sluice.bootstrap.history import past_runs
from sluice.bootstrap.live.run_options import RunOptions
from sluice.ingest.reading import STDIN, read_source, source_name
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.reporting.charts.chart import Chart
from sluice.reporting.report.document_charts import charts_of
from sluice.reporting.report.page import ResultReport
from sluice.reporting.run.result import RunResult
from sluice.store.runs import Runs


@runtime_checkable
class ReportedResult(Protocol):
    """A result with a document, and perhaps a chart."""

    def document(self) -> Mapping[str, Any]:
        """The one JSON document of the result."""


@dataclass(frozen=True)
class ReportCall(ReportOptions):
    """Arguments of `report`."""

    source: str | Path | ReportedResult


@called_with(ReportCall)
def report(given: ReportCall) -> ResultReport:
    """The charts and tables of one result, to save as one HTML file.

    source: a result, the path of a document that `--json` printed ("-" for standard input), or the
    id of a recorded run.  charts: more charts, or files that `--plot FILE.json` wrote.
    Raises InvalidInput if there is no such result, or it is not a document.

    >>> import sluice
    >>> workload = sluice.parse_workload(
    ...     "{version: 1, cluster: {map_slots: 2}, jobs: [{id: a, maps: {tasks: 4, avg_s: 3}}]}"
    ... )
    >>> report(sluice.simulate(workload))
    <ResultReport: 'Result', 1 charts>
    """
    source, title = given.source, given.title
    more = [one if isinstance(one, Chart) else _chart(one) for one in given.charts]
    if not isinstance(source, str | Path):
        plot = getattr(source, "plot", None)
        document = dict(source.document())
        own = [plot()] if callable(plot) else charts_of(document, "the result")
        return ResultReport(title=title or "Result", charts=(*own, *more), result=document)
    if str(source) != STDIN and not Path(source).exists():
        result, name = _recorded(str(source)), str(source)
        return ResultReport(
            title=title or name, charts=(result.plot(), *more), result=result.document()
        )
    document = _document(str(source))
    return ResultReport(
        title=title or _title(document, str(source)),
        charts=(*charts_of(document, source_name(str(source))), *more),
        result=document,
        footer=_footer(document),
    )


def _title(document: Mapping[str, Any], source: str) -> str:
    """Return what the document says of itself: "simulate jobs.yaml"."""
    origin = document.get("provenance")
    if not isinstance(origin, Mapping):
        return "Result" if source == STDIN else Path(source).stem
    inputs = [str(one.get("name")) for one in _rows(origin.get("inputs"))]
    return " ".join(["sluice", str(origin.get("command", "")), *inputs])


def _footer(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The provenance of the result, as its document has it."""
    origin = document.get("provenance")
    if not isinstance(origin, Mapping):
        return ()
    parts = [f"sluice {origin.get('version')}"]
    parts += [f"{one.get('name')} {one.get('digest')}" for one in _rows(origin.get("inputs"))]
    seeds = origin.get("seeds")
    if isinstance(seeds, list) and seeds:
        parts.append(f"seeds {', '.join(map(str, seeds))}")
    settings = origin.get("settings")
    if isinstance(settings, Mapping):
        parts += [f"{name}={value}" for name, value in settings.items()]
    if isinstance(document.get("digest"), str):
        parts.append(f"result {document['digest']}")
    return (_title(document, STDIN), "  ·  ".join(parts))


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _recorded(run_id: str) -> RunResult:
    """The result of a recorded run. Raises InvalidInput if there is none of that id."""
    if Runs().find(run_id) is None:
        raise InvalidInput(
            f"there is no file {run_id!r}, and no recorded run of that id",
            where="report",
            hint="give what --json printed; `sluice runs` lists recorded runs",
        )
    run = past_runs.recorded(run_id)
    scheduler = past_runs.replayed(run)
    state = scheduler.state
    cluster = Cluster(nodes=tuple(entry.node for entry in state.nodes.values()))
    options = RunOptions.of(run.header)
    result = RunResult.of(state, cluster, seed=options.seed, events=scheduler.events)
    return result if options.advice is None else replace(result, extra={"advice": options.advice})


def _document(source: str) -> dict[str, Any]:
    found = _json(source)
    if not isinstance(found, dict) or not found or _is_workload(found):
        raise InvalidInput(
            "it is not the document of a result",
            where=source_name(source),
            hint="give what --json printed, or the id of a recorded run",
        )
    return found


def _is_workload(document: Mapping[str, Any]) -> bool:
    return document.get("version") == 1 and "provenance" not in document


def _chart(path: str | Path) -> Chart:
    found = _json(str(path))
    if not isinstance(found, dict) or "vega-lite" not in str(found.get("$schema")):
        raise InvalidInput(
            "it is not a chart", where=str(path), hint="give a file that --plot FILE.json wrote"
        )
    return Chart(found)


def _json(source: str) -> Any:  # noqa: ANN401  # any JSON value
    name = source_name(source)
    try:
        return json.loads(read_source(source), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"it is not JSON: {error}", where=name, hint="give what --json printed"
        ) from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON")
