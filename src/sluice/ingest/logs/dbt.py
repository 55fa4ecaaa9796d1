"""dbt: the results of an invocation, `target/run_results.json`, with the manifest next to it.

An invocation is a job, and each node of it that ran (model, seed, snapshot, test) a stage of one
task, from the first to the last instant in its `timing`. A `manifest.json` in the same folder has
the graph; ephemeral models are no stages, so that what they read is waited for instead. Without it
a stage comes after those that had ended when it began. Nodes that were skipped are left out; an
invocation in which one failed is a run without phases, for it did not end well.
Source of the format: dbt, "Run results JSON file" and "Manifest JSON file", schemas v1 to v12.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from sluice.ingest.logs.instants import instant_in
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Contents, NoOptions, Report, Unreadable, nothing_found
from sluice.ingest.logs.stage_runs import StageRun
from sluice.ingest.logs.whole_json import BLANKS, mapping, objects_in, parsed, text_in, whole_json
from sluice.model.errors import InvalidInput

FORMAT = "dbt"
Options = NoOptions
_MANIFEST: Final = "manifest.json"
_WELL: Final = frozenset({"success", "pass", "warn"})
_FAILED: Final = frozenset({"error", "fail", "runtime error", "partial success"})
_LEFT_OUT: Final = frozenset({"skipped", "no-op", "reused"})
_PROJECT_PLACE: Final = 1  # in a unique id: kind.project.name


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """An object of dbt with results."""
    if head.lstrip(BLANKS)[:1] != b"{":
        return False
    return b'"dbt_schema_version"' in head and b"/run-results/" in head


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The invocation of the file. Raises InvalidInput where nothing of it ran."""
    found = whole_json(path, report, limits)
    results = found.get("results") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(results, list):
        raise InvalidInput(
            "it has no list of results", where=str(path), hint="give run_results.json of dbt"
        )
    run = _run(found, results)
    for position, result in enumerate(results, start=1):
        with report.skipping(position):
            _take(mapping(result), run)
    if not run.has_run:
        raise nothing_found(path, report, "node that ran", hint="give the results of a run")
    notes = (
        _graph_note(path.with_name(_MANIFEST), run, report, limits),
        "The format has no bytes.",
    )
    return Contents(runs=(run.past_run(FORMAT, notes),), notes=notes)


def _run(found: Mapping[str, Any], results: Iterable[object]) -> StageRun:
    metadata, arguments = mapping(found.get("metadata")), mapping(found.get("args"))
    names = [text_in(one, "unique_id") for one in results if isinstance(one, dict)]
    parts = next((one.split(".") for one in names if "." in one), [])
    project = parts[_PROJECT_PLACE] if len(parts) > _PROJECT_PLACE else FORMAT
    command = text_in(arguments, "which") or text_in(arguments, "rpc_method")
    invocation = text_in(metadata, "invocation_id") or text_in(metadata, "generated_at") or "run"
    profile = f"{project} {command}".strip()
    return StageRun(f"{project}/{invocation}", profile, queue=text_in(arguments, "target"))


def _take(result: Mapping[str, Any], run: StageRun) -> None:
    name, status = text_in(result, "unique_id"), text_in(result, "status").lower()
    if not name:
        raise Unreadable("a result without unique_id")
    if status in _LEFT_OUT:
        return
    if status not in _WELL | _FAILED:
        raise Unreadable(f"{name} is {status or 'without a status'}")
    if name in run.stages:
        raise Unreadable(f"{name} is given twice")
    run.is_failed = run.is_failed or status in _FAILED
    instants = [
        at_s
        for step in objects_in(result.get("timing"))
        for key in ("started_at", "completed_at")
        if (at_s := instant_in(step, key)) is not None
    ]
    if not instants:
        if status in _FAILED:
            return
        raise Unreadable(f"{name} has no timing")
    run.lasted(min(instants), max(instants))
    if status in _WELL:
        run.stage(name).times = [(min(instants), max(instants))]


# --- the graph ------------------------------------------------------------------------------------


def _graph_note(manifest: Path, run: StageRun, report: Report, limits: Limits) -> str:
    """Give the stages their parents, if the manifest is there; what was done, in a sentence."""
    if not manifest.is_file():
        return f"Without {_MANIFEST} a node comes after those that had ended when it began."
    part = report.part(_MANIFEST)
    try:
        graph = _parents(mapping(parsed(manifest, log_bytes(manifest, part, limits))))
    except InvalidInput as error:
        part.skip(0, error.what)
        return f"Without {_MANIFEST} a node comes after those that had ended when it began."
    for name, stage in run.stages.items():
        stage.parents = _nearest(name, graph, run.stages)
    return f"The graph is that of {_MANIFEST}."


def _parents(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    listed = manifest.get("parent_map")
    if not isinstance(listed, dict):
        nodes = mapping(manifest.get("nodes"))
        listed = {
            name: mapping(mapping(node).get("depends_on")).get("nodes")
            for name, node in nodes.items()
        }
    return {
        name: [one for one in parents if isinstance(one, str)]
        for name, parents in listed.items()
        if isinstance(parents, list)
    }


def _nearest(
    name: str, graph: Mapping[str, list[str]], stages: Mapping[str, object]
) -> tuple[str, ...]:
    """The nodes that a node reads and that ran, directly or through nodes that did not run."""
    found: dict[str, None] = {}
    seen = {name}
    open_ = list(graph.get(name, ()))
    while open_:
        one = open_.pop()
        if one in seen:
            continue
        seen.add(one)
        if one in stages:
            found[one] = None
        else:
            open_ += graph.get(one, ())
    return tuple(sorted(found))
