"""Jobs as a file writes them: phase profiles in four forms, demands, and what really runs.

A key is described once: by a field of the model, if it is passed on as it is (`of=Job`), or by a
line here, where the file has another form. From the shapes follow the JSON Schema, the messages
and, with `reporting.exports`, the files that Sluice writes. What keys may not be given together is
a rule of the schema here, and is checked again with a better message when the job is made.
"""

from __future__ import annotations

from itertools import product
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from sluice.ingest.file_schema.fields import (
    AMOUNT_MAX,
    OTHER_RESOURCES,
    PRINTABLE_PATTERN,
    Amount,
    BytesAboveZero,
    Identity,
    OtherResources,
    Seconds,
    SecondsAboveZero,
    Shape,
    Tasks,
    TasksAboveZero,
    Text,
    apart,
    given,
    key,
    needs,
    required,
)
from sluice.model.buffers import MERGE_WIDTH_MAX
from sluice.model.ids import ID_LENGTH_MAX
from sluice.model.job import AFTER_MAX, STAGES_MAX, TASKS_MAX, Job, Phase
from sluice.model.resources import RESOURCE_NAMES, Resources

# A job has maps and reduces, or a DAG of stages. These keys belong to the former alone.
PHASES_EXCLUDE = ("maps", "reduces", "shuffle", "demand", "map_output", "buffer")
# The keys of a job in the order of the schema and of written files; keys of `Job` alone come last.
_JOB_KEYS = (
    "id", "pool", "submitted_at_s", "after", "deadline_s", "deadline_at_s", "weight", "penalty_usd",
    "maps", "reduces", "shuffle", "phases", "driver_s", "demand", "profile", "run", "map_output",
    "buffer", "predictions", "vm_request", "customer", "gang",
)  # fmt: skip
COMMANDS = ("mapper", "combiner", "reducer")
WAYS = ("mapper", "reducer", "python")  # of which a phase that really runs has one

_ONE_FORM: JsonDict = {
    "allOf": [
        *(
            apart(one, other)
            for one, other in (
                ("avg_s", "durations_s"),
                ("avg_s", "rows"),
                ("durations_s", "rows"),
                *product(("work_s", "fixed_s"), ("avg_s", "durations_s", "rows")),
            )
        ),
        needs("max_s", "avg_s"),
    ]
}

# A row of a table is written as a list; only its items are strict.
Row = Annotated[tuple[TasksAboveZero, SecondsAboveZero, SecondsAboveZero], Field(strict=False)]


class LengthsShape(Shape):
    """Lengths of tasks in one of four forms: a phase without its tasks, as `shuffle` is."""

    model_config = ConfigDict(json_schema_extra=_ONE_FORM)

    avg_s: Seconds | None = key("the average length in seconds, above 0")
    max_s: Seconds | None = key("the longest length in seconds, at least avg_s")
    durations_s: list[Seconds] | None = key(
        "a list with the seconds of each task, above 0", max_length=TASKS_MAX
    )
    fixed_s: Seconds | None = key(
        "the seconds that each task takes however many there are, 0 or more"
    )
    work_s: Seconds | None = key("the seconds that all tasks share, 0 or more")
    max_factor: float | None = key("the longest task over the average, 1 or more", ge=1, le=1e6)
    rows: list[Row] | None = key(
        "a list of [tasks, avg_s, max_s] with rising task counts", min_length=1
    )


class PhaseShape(LengthsShape, of=Phase):
    """Tasks of one kind, and their lengths."""

    tasks: Tasks | None = key("how many tasks, a whole number from 0 to 10^8")
    tasks_max: TasksAboveZero | None = key("the most tasks to plan with, 1 or more")


class ResourcesShape(Shape, of=Resources, order=RESOURCE_NAMES):
    """The resources that one task takes, in the units of the nodes."""

    resources: OtherResources = key(OTHER_RESOURCES, {})


class DemandShape(Shape):
    """The resources that one task takes in each phase."""

    map: ResourcesShape = key("resources of a map", ResourcesShape())
    shuffle: ResourcesShape = key("resources of a reduce that shuffles", ResourcesShape())
    reduce: ResourcesShape = key("resources of a reduce", ResourcesShape())
    shuffle_per_map: ResourcesShape = key(
        "what a shuffling reduce takes more for each map that is placed", ResourcesShape()
    )


class MapOutputShape(Shape):
    """The output that all maps of a job write together."""

    bytes: Amount = required("the bytes that all maps write, 0 or more")
    records: Amount = required("the records that all maps write, 0 or more")


_BufferBytes = Annotated[float, Field(ge=1, le=AMOUNT_MAX)]


class BufferDefaultShape(Shape):
    """One buffer setting."""

    bytes: _BufferBytes = key("the bytes of a map's buffer, 1 or more", 1e8)
    metadata_share: float = key("a share between 0 and 1", 0.05, gt=0, lt=1)
    spill_threshold: float = key("a share between 0 and 1", 0.8, gt=0, lt=1)
    merge_width: int = key(
        f"how many spills are merged at once, 2 to {MERGE_WIDTH_MAX}", 10, ge=2, le=MERGE_WIDTH_MAX
    )


_Between = Annotated[float, Field(gt=0, lt=1)]


class BufferShape(Shape):
    """The least and the greatest of each buffer setting to try, and the one to start from."""

    bytes: list[_BufferBytes] | None = key(
        "[least, greatest] in bytes, 1 or more", min_length=2, max_length=2
    )
    metadata_share: list[_Between] | None = key(
        "[least, greatest], between 0 and 1", min_length=2, max_length=2
    )
    spill_threshold: list[_Between] | None = key(
        "[least, greatest], between 0 and 1", min_length=2, max_length=2
    )
    default: BufferDefaultShape | None = key(
        "a mapping as in {bytes: 1e8, metadata_share: 0.05, spill_threshold: 0.8}"
    )


Pattern = Annotated[Text, Field(min_length=1)]


def _as_list(given: object) -> object:
    return [given] if isinstance(given, str) else given


_PatternList = Annotated[list[Pattern], Field(min_length=1)]
Patterns = Annotated[
    _PatternList, BeforeValidator(_as_list, json_schema_input_type=Pattern | _PatternList)
]


class StageRunShape(Shape):
    """The commands or the Python object that the tasks of one phase of a graph really run."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [given(name) for name in WAYS],
            "allOf": [apart("combiner", "python")],
        }
    )

    input: Patterns | None = key("files, folders or patterns for a phase that follows no other")
    mapper: Text | None = key("a command line: lines as they are in, key TAB value out")
    combiner: Text | None = key("a command line: sorted lines in, lines out")
    reducer: Text | None = key("a command line: lines sorted by key in, key TAB value out")
    python: Text | None = key("FILE.py or FILE.py:NAME, as in report.py:join")


class StageShape(PhaseShape):
    """One stage of a job that is a DAG of stages."""

    name: Identity = required("the name of the phase, 1 to 200 printable characters")
    after: list[str] | None = key(
        "names of the phases that it follows; without it, the phase before it",
        max_length=STAGES_MAX,
    )
    demand: ResourcesShape | None = key("a mapping as in {cpu: 30, memory: 10}")


class JobStageShape(StageShape):
    """One stage of a job, which may really run."""

    run: StageRunShape | None = key("a mapping with mapper, reducer or python, as in {mapper: cat}")


class RunShape(Shape):
    """The real work: command lines without a shell, or Python; or both in each of `phases`."""

    input: Patterns | None = key("a file, folder or pattern, or a list of them")
    output: Text = required(
        "the folder to write, which must not exist; {run_id} is the id of the run", min_length=1
    )
    mapper: Text | None = key("a command line: lines in, key TAB value out")
    combiner: Text | None = key("a command line: sorted lines in, lines out")
    reducer: Text | None = key("a command line: sorted lines in, lines out")
    python: Text | None = key("FILE.py or FILE.py:NAME, as in wordcount.py:WordCount")
    split_bytes: BytesAboveZero = key("the bytes of a split, 1 or more", 32 * 1024 * 1024)
    env: dict[str, Text] = key("names and texts of the environment", {})
    inherit_env: bool = key(
        "true or false: whether tasks get the environment of sluice run as well as env",
        default=True,
    )


class VmRequestShape(Shape):
    """The cluster of a VM pool that the customer of a job names."""

    vm_type: Identity = required("the name of a VM type, as text")
    vms: TasksAboveZero = required("a number of VMs, 1 or more")
    start_within_s: Seconds | None = key(
        "seconds from submitted_at_s to the latest start, 0 or more"
    )


def _field(name: str, schema: JsonDict, *, is_given: bool) -> JsonDict:
    """A mapping whose field is as a schema says; unless `is_given` it may be left out or null."""
    if is_given:
        return {"type": "object", "required": [name], "properties": {name: schema}}
    return {"properties": {name: {"anyOf": [{"type": "null"}, schema]}}}


# A job runs nothing; or maps and reduces; or phases, each of which says what it runs.
_RUNS: JsonDict = {
    "anyOf": [
        {"allOf": [apart("run"), _field("phases", {"items": apart("run")}, is_given=False)]},
        {
            "allOf": [
                apart("phases"),
                _field(
                    "run",
                    {"allOf": [given("input"), {"oneOf": [given("mapper"), given("python")]}]},
                    is_given=True,
                ),
            ]
        },
        {
            "allOf": [
                _field("phases", {"type": "array", "items": given("run")}, is_given=True),
                _field(
                    "run", {"allOf": [apart(name) for name in (*COMMANDS, "python")]}, is_given=True
                ),
            ]
        },
    ]
}


class JobShape(Shape, of=Job, order=_JOB_KEYS):
    """One submitted piece of work."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                apart("deadline_s", "deadline_at_s"),
                *(apart("phases", name) for name in PHASES_EXCLUDE),
                _RUNS,
            ]
        }
    )

    # Converting the job checks its id; to do it here too would cost a second for a million jobs.
    id: str = required(
        "the name of the job, 1 to 200 printable characters",
        json_schema_extra={
            "minLength": 1,
            "maxLength": ID_LENGTH_MAX,
            "pattern": PRINTABLE_PATTERN,
        },
    )
    pool: Identity | None = key("the id of its pool or leaf queue")
    after: list[str] = key(
        "ids of the jobs that must be done before it is submitted, as in [extract]",
        [],
        max_length=AFTER_MAX,
    )
    deadline_s: SecondsAboveZero | None = key("seconds after submission, above 0")
    deadline_at_s: SecondsAboveZero | None = key(
        "seconds since the start of the workload, after submitted_at_s"
    )
    maps: PhaseShape | None = key("a mapping as in {tasks: 160, avg_s: 22}")
    reduces: PhaseShape | None = key("a mapping as in {tasks: 10, avg_s: 11}")
    shuffle: LengthsShape | None = key("a mapping as in {avg_s: 3, max_s: 5}")
    phases: list[JobStageShape] | None = key(
        "a list of stages, as in [{name: scan, tasks: 40, avg_s: 9}]",
        min_length=1,
        max_length=STAGES_MAX,
    )
    demand: DemandShape | None = key("a mapping as in {map: {cpu: 30}, reduce: {cpu: 20}}")
    profile: Text | None = key("the name of a profile in the store", min_length=1)
    run: RunShape | None = key(
        "a mapping with input, output and mapper or python; output with phases"
    )
    map_output: MapOutputShape | None = key("a mapping as in {bytes: 6.0e7, records: 600000}")
    buffer: BufferShape | None = key("a mapping as in {bytes: [1.28e8, 5.12e8]}")
    predictions: dict[str, dict[str, SecondsAboveZero]] | None = key(
        'seconds by VM type and count, above 0, as in {VM-1: {"10": 250}}'
    )
    vm_request: VmRequestShape | None = key(
        "a mapping as in {vm_type: large, vms: 2, start_within_s: 60}"
    )
    customer: Identity | None = key("the name of the customer, as text")
    gang: bool | TasksAboveZero = key(
        "true: all tasks of a phase start together; or how many of them do, 1 or more",
        default=False,
    )
