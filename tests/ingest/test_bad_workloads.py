"""Every file of the corpus is refused, in words that lead to the place and the mend."""

import pytest
from tests.ingest.bad_workloads.cases import CASES, NOTATION

from sluice.api.sources import load_workload, parse_workload
from sluice.ingest.document import read_document
from sluice.model.errors import InvalidInput

# What takes two places of a file to show, no JSON Schema can say.
BEYOND_THE_SCHEMA = {
    "slots-none", "node-without-room", "racks-too-many", "two-forms", "group-twice",
    "demand-no-maps", "shuffle-of-nothing",
    "group-without-room", "pool-twice", "pool-max", "queue-parent", "queue-circle", "queue-share",
    "queue-share-below-a-task",
    "pool-unknown", "pool-no-leaf", "job-twice", "job-empty", "deadline-before-submission",
    "weight-tiny",
    "maps-no-lengths", "maps-no-tasks", "avg-0", "max-below-avg", "durations-count", "durations-0",
    "rows-falling", "rows-max", "work-0", "factor-alone", "profile-beside-lengths", "run-quote",
    "run-blank", "run-python", "run-env-name", "run-nul", "setting-range-back", "budgets",
    "class-jobs", "member-twice", "type-above-server", "size", "size-0", "size-twice",
    "no-prediction", "graph-no-input", "graph-sorted-files", "graph-late-input", "graph-no-task",
    "graph-shell", "graph-python",
}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("root:$6$SECRET$x:19000:0:99999:7:::\nbin:SECRET:1::::::\n", "has no known key"),
        ("root:x:0:0:SECRET:/root:/bin/sh\nbin:x:1:1:SECRET:/bin:/bin/false\n", "is text"),
        ("-----BEGIN PRIVATE KEY-----\nSECRET\n", "is text"),
        ("SECRET", "is text"),
        ("[SECRET, SECRET]", "is a list"),
        ('{"SECRET": {"a": "SECRET"}}', "has no known key"),
    ],
)
def test_a_file_of_something_else_is_not_quoted(content, fault):
    """It may hold passwords, and messages end up in logs."""
    with pytest.raises(InvalidInput) as caught:
        parse_workload(content, source="/etc/shadow")

    assert str(caught.value).startswith(f"/etc/shadow line 1: the file {fault}")
    assert "SECRET" not in str(caught.value)
    assert str(caught.value).endswith(" Start it with `version: 1` and give jobs.")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bad_file_is_refused_with_its_field_its_id_and_its_line(case):
    with pytest.raises(InvalidInput) as caught:
        parse_workload(case.content, source="bad.yaml")

    message = str(caught.value)
    assert message.startswith("bad.yaml ")
    assert [] == [fragment for fragment in case.fragments if fragment not in message], message
    assert message.isprintable() or "\n" in message
    faults = [line.partition(". ")[0] for line in message.splitlines()]
    assert sorted(set(faults)) == sorted(faults), "a fault is reported twice"


def test_the_corpus_is_large_and_its_names_are_unique():
    assert len(CASES) >= 100
    assert len(CASES) == len({case.name for case in CASES})


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "case", [case for case in CASES if case not in NOTATION], ids=lambda case: case.name
)
def test_the_schema_refuses_what_it_can_show(validator, case):
    """A file that an editor calls good is refused only for what two places show together."""
    value = read_document(case.content, source="bad.yaml").value
    is_refused = not validator.is_valid(value)

    assert is_refused == (case.name not in BEYOND_THE_SCHEMA)


def test_several_wrong_places_are_shown_in_the_order_of_the_file():
    text = "version: 1\njobs:\n" + "".join(
        f"  - {{id: j{number}, maps: {{tasks: -{number}, avg_s: 1}}}}\n" for number in range(1, 9)
    )

    with pytest.raises(InvalidInput) as caught:
        parse_workload(text + "pools: [{id: p, weight: -1}]\n")

    lines = str(caught.value).splitlines()
    assert ["line 3", "line 4", "line 5", "line 6", "line 7"] == [
        line.split(" ", 1)[1].partition(",")[0] for line in lines[:5]
    ]
    assert lines[5:] == ["There are more errors after these."]


@pytest.mark.parametrize("source", ["missing.yaml", ".", "nul\0.yaml"])
def test_a_file_that_cannot_be_read_is_named(source):
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_workload(source)


def test_the_hint_names_pools_in_the_order_of_the_file():
    """The order of a set of names differs from one process to the next."""
    names = [f"pool-{letter}" for letter in "ghdbacfe"]
    pools = "".join(f"\n- id: {name}" for name in names)
    text = (
        f"version: 1\npools:{pools}\njobs:\n- {{id: etl, pool: xyz, maps: {{tasks: 1, avg_s: 1}}}}"
    )

    with pytest.raises(InvalidInput) as caught:
        parse_workload(text)

    assert str(caught.value).endswith(f"Use one of {', '.join(names)}.")


def test_a_file_beyond_the_limit_is_refused_at_once(tmp_path):
    big = tmp_path / "big.yaml"
    with big.open("wb") as stream:
        stream.truncate(64 * 1024 * 1024 + 1)

    with pytest.raises(InvalidInput, match="larger than 67108864 bytes"):
        load_workload(str(big))
