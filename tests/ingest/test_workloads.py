"""Good files become model values, by the conversion rules of the file format."""

import io
import json
from pathlib import Path
from typing import get_args, get_origin

import jsonschema
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pydantic import BaseModel

from sluice.api.sources import load_workload, parse_workload
from sluice.api.workload import schema
from sluice.ingest.document import read_document
from sluice.ingest.file_schema.workload import WorkloadShape
from sluice.ingest.translation import bare
from sluice.model.errors import InvalidInput
from sluice.model.job import Demand
from sluice.model.lengths import ConstantLengths, ListedLengths, TableLengths, WorkLengths
from sluice.model.queues import PoolOrder
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

GOOD = sorted((Path(__file__).parent / "good_workloads").iterdir())


@pytest.fixture
def shared():
    return load_workload(str(next(path for path in GOOD if path.stem == "shared_cluster")))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_good_file_is_read_and_its_schema_agrees(validator, path):
    value = read_document(path.read_bytes(), source=path.name).value

    assert [] == list(validator.iter_errors(value))
    assert load_workload(str(path)).folder == str(path.parent)


def with_nulls(shape, value):
    """The value, with null for each optional field that it does not give."""
    shape = bare(shape)
    if isinstance(value, list) and get_origin(shape) is list:
        return [with_nulls(get_args(shape)[0], one) for one in value]
    if not (isinstance(value, dict) and isinstance(shape, type) and issubclass(shape, BaseModel)):
        return value
    fields = shape.model_fields
    optional = {name: None for name, field in fields.items() if not field.is_required()}
    given = {name: with_nulls(fields[name].annotation, one) for name, one in value.items()}
    return optional | given


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_an_optional_field_that_is_null_is_not_given(validator, path):
    """The parser reads the same workload as without the field, and the schema agrees."""
    value = read_document(path.read_bytes(), source=path.name).value
    nulls = with_nulls(WorkloadShape, value)

    assert "null" in json.dumps(nulls)
    assert [] == list(validator.iter_errors(nulls))
    assert parse_workload(json.dumps(nulls)) == parse_workload(json.dumps(value))


def required_fields(shape, value, path=()):
    """The paths of the required fields in a value."""
    shape = bare(shape)
    if isinstance(value, list) and get_origin(shape) is list:
        for index, one in enumerate(value):
            yield from required_fields(get_args(shape)[0], one, (*path, index))
    elif isinstance(value, dict) and isinstance(shape, type) and issubclass(shape, BaseModel):
        for name, one in value.items():
            if shape.model_fields[name].is_required():
                yield (*path, name)
            yield from required_fields(shape.model_fields[name].annotation, one, (*path, name))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_required_field_that_is_null_is_refused_in_one_message(validator, path):
    text = path.read_bytes()
    for *owner, name in required_fields(WorkloadShape, read_document(text, source="").value):
        value = place = read_document(text, source="").value
        for step in owner:
            place = place[step]
        place[name] = None

        assert not validator.is_valid(value)
        with pytest.raises(InvalidInput, match=rf"{name} is null, not .+\. \S.+\.$") as caught:
            parse_workload(json.dumps(value))
        assert "\n" not in str(caught.value)


def test_the_published_schema_is_a_schema():
    published = schema()

    jsonschema.Draft202012Validator.check_schema(published)
    assert published["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_racks_are_equal_blocks_of_neighbours(shared):
    assert shared.cluster is not None
    assert [node.rack for node in shared.cluster.nodes] == [
        f"rack-{number}" for number in (1, 1, 1, 2, 2, 2, 3, 3, 3)
    ]
    assert shared.cluster.has_racks
    assert shared.cluster.nodes[8].node_id == "node-9"
    assert shared.cluster.nodes[0].capacity == Resources(cpu=100, io=100, memory=100)


def test_phases_take_their_lengths_their_shuffle_and_their_demand(shared):
    first = shared.jobs[0]
    maps, reduces = first.phases

    assert (first.pool, first.deadline_at_s) == ("etl", 900)
    assert (maps.kind, maps.tasks, maps.after) == (SlotKind.MAP, 160, ())
    assert (reduces.kind, reduces.tasks, reduces.after) == (SlotKind.REDUCE, 100, (0,))
    assert maps.lengths == ConstantLengths(22, 30)
    assert (maps.fetch, reduces.fetch) == (None, ConstantLengths(3, 5))
    assert maps.demand == Demand(work=Resources(cpu=30, io=45, memory=25))
    assert reduces.demand.fetch == Resources(network=10)
    assert reduces.demand.fetch_per_map == Resources(io=0.15)


def test_every_form_of_lengths_is_read(shared):
    _, listed, grows, by_profile = shared.jobs

    assert [phase.lengths for phase in listed.phases] == [ListedLengths((10, 12.5, 11))]
    assert listed.phases[0].tasks == 3
    assert listed.pool == "listed"
    assert grows.phases[0].lengths == WorkLengths(2, 100, 1.5)
    assert grows.phases[0].tasks_max == 40
    assert grows.phases[1].lengths == TableLengths(((2, 30, 40), (4, 16, 21.5)))
    assert (grows.phases[1].units, grows.phases[1].unit_weight) == (2, 1.5)
    assert (by_profile.profile, by_profile.phases) == ("wordcount", ())


def test_pools_and_settings_are_kept_as_written(shared):
    (pool,) = shared.pools

    assert (pool.pool_id, pool.weight, pool.map_slots_min) == ("etl", 2, 4)
    assert pool.order is PoolOrder.FAIR
    assert shared.settings["fair.slowstart"] == 0.05


def test_totals_are_one_nameless_node():
    workload = parse_workload('{"version": 1, "cluster": {"map_slots": 57}}')

    assert workload.cluster is not None
    assert workload.cluster.is_totals
    assert [node.node_id for node in workload.cluster.nodes] == ["node-1"]
    assert workload.cluster.slots(SlotKind.MAP) == 57


def test_containers_serve_either_kind():
    workload = parse_workload("{version: 1, cluster: {containers: 8}}")

    assert workload.cluster is not None
    assert workload.cluster.slots(SlotKind.CONTAINER) == 8


def test_a_file_of_vm_sizes_has_no_cluster():
    assert parse_workload("{version: 1, cluster: {map_slots_per_vm: 2}}").cluster is None


def test_groups_name_their_nodes():
    text = "{version: 1, cluster: {node_groups: [{id: a, nodes: 2, rack: r, map_slots: 1}]}}"
    cluster = parse_workload(text).cluster

    assert cluster is not None
    assert [(node.node_id, node.rack) for node in cluster.nodes] == [("a-1", "r"), ("a-2", "r")]


def test_a_reduce_only_job_waits_for_nothing():
    text = (
        "{version: 1, jobs: [{id: a, reduces: {tasks: 2, avg_s: 1}, maps: {tasks: 0, avg_s: 0}}]}"
    )
    (phase,) = parse_workload(text).jobs[0].phases

    assert (phase.kind, phase.after) == (SlotKind.REDUCE, ())


def test_max_is_the_average_where_it_is_left_out():
    text = "{version: 1, jobs: [{id: a, maps: {tasks: 2, avg_s: 7}}]}"

    assert parse_workload(text).jobs[0].phases[0].lengths == ConstantLengths(7, 7)


def test_a_shuffle_of_length_0_is_none():
    text = "{version: 1, jobs: [{id: a, reduces: {tasks: 2, avg_s: 7}, shuffle: {avg_s: 0}}]}"

    assert parse_workload(text).jobs[0].phases[0].fetch is None


@pytest.mark.parametrize(("line", "inherits"), [("", True), (", inherit_env: false", False)])
def test_a_job_may_decline_the_environment_of_sluice_run(line, inherits):
    run = f"{{input: [a], output: b, mapper: cat{line}}}"
    spec = parse_workload(f"{{version: 1, jobs: [{{id: a, run: {run}}}]}}").jobs[0].run

    assert spec.inherit_env is inherits


def test_run_takes_command_lines_apart_as_a_shell_would():
    path = next(path for path in GOOD if path.stem == "real")
    words, in_python = (job.run for job in load_workload(str(path)).jobs)

    assert words is not None
    assert words.mapper == ("python", "-m", "my map")
    assert words.combiner == ("sort", "-u")
    assert (words.reduces_wanted, words.env) == (3, (("LANG", "C"),))
    assert words.folder == str(path.parent)
    assert in_python is not None
    assert (in_python.python, in_python.reduces_wanted) == ("wordcount.py:WordCount", None)


def test_an_undeclared_pool_is_the_jobs_own_affair_where_no_pool_is_declared():
    text = "{version: 1, jobs: [{id: a, pool: p, maps: {tasks: 1, avg_s: 1}}]}"

    assert parse_workload(text).jobs[0].pool == "p"


def test_a_pool_named_like_the_job_is_its_pool():
    text = "{version: 1, pools: [{id: a}], jobs: [{id: a, maps: {tasks: 1, avg_s: 1}}]}"

    assert parse_workload(text).jobs[0].pool == "a"


def test_standard_input_is_a_source(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"version: 1\njobs: 5\n"))
    monkeypatch.setattr("sys.stdin", stdin)

    with pytest.raises(InvalidInput, match="standard input line 2: jobs is 5"):
        load_workload("-")


@st.composite
def mutations(draw):
    """A good file with something done to it: cut, bits flipped, bytes put in, pieces swapped."""
    content = bytearray(draw(st.sampled_from(GOOD)).read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        match draw(st.sampled_from(["cut", "flip", "insert", "remove", "number", "swap"])):
            case "cut":
                del content[at:]
            case "flip" if content:
                content[at] ^= 1 << draw(st.integers(0, 7))
            case "insert":
                content[at:at] = draw(st.binary(max_size=6))
            case "remove":
                del content[at : at + draw(st.integers(1, 20))]
            case "number":
                odd = [b"1e999", b"-1", b"null", b"[]", b"{}", b"9" * 400, b"'\\0'", b"&a", b"*a"]
                content[at : at + 1] = draw(st.sampled_from(odd))
            case "swap":
                middle = draw(st.integers(0, len(content)))
                content = content[middle:] + content[:middle]
    return bytes(content)


@given(mutations())
def test_a_mutated_file_is_a_workload_or_invalid_input(content):
    """Nothing that comes from outside may end in any other exception."""
    try:
        result = parse_workload(content, source="mutated")
    except InvalidInput as error:
        event("refused for its " + ("notation" if "column" in error.where else "shape"))
        message = str(error)
    else:
        event("accepted")
        assert isinstance(result, Workload)
        return
    assert message.startswith("mutated")


@given(st.binary(max_size=200))
def test_random_bytes_are_a_workload_or_invalid_input(content):
    with pytest.raises(InvalidInput):
        parse_workload(content)
