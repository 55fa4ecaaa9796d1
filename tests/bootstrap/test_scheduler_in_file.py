"""The scheduler that a workload file names: when it counts, and what is refused."""

import json

import pytest

import sluice
from sluice.bootstrap.presets import row_in
from sluice.model.errors import InvalidInput
from sluice.reporting.exports.workload_document import workload_document

LENT = {"order": "ltrf", "slots": "lent", "settings": {"tick_s": 2}}


def workload(scheduler, **more):
    document = {
        "version": 1,
        "cluster": {"nodes": 2, "node": {"map_slots": 2, "reduce_slots": 1}},
        "pools": [{"id": "a"}, {"id": "b"}],
        "jobs": [
            {"id": "x", "pool": "a", "maps": {"tasks": 8, "avg_s": 10}},
            {"id": "y", "pool": "b", "maps": {"tasks": 4, "avg_s": 5}, "deadline_s": 500},
        ],
    }
    return sluice.parse_workload(json.dumps(document | {"scheduler": scheduler} | more))


def parts(given, **options):
    return sluice.simulate(given, **options).document()["composition"]


@pytest.mark.parametrize(
    ("scheduler", "options", "expected"),
    [
        (LENT, {}, {"order": "ltrf", "slots": "lent", "admission": "all"}),
        (LENT, {"tasks": "+copies=late"}, {"order": "ltrf", "slots": "lent", "copies": "late"}),
        (LENT, {"tasks": "+slots=typed"}, {"order": "ltrf", "slots": "typed"}),
        (LENT, {"tasks": "fair"}, {"order": "fair", "slots": "typed"}),
        ({"preset": "ltyarn", "copies": "late"}, {}, {"order": "ltyarn", "copies": "late"}),
        ({"tasks": "fair"}, {}, {"order": "fair"}),
        ({"admission": "capacity", "tasks": "yarn-like"}, {}, {"admission": "capacity"}),
        (
            {"admission": "capacity", "tasks": "yarn-like"},
            {"admission": "all"},
            {"admission": "all", "order": "fewest"},
        ),
        ({"release": "on-demand", "order": "fifo"}, {}, {"release": "on-demand"}),
        ({}, {"tasks": "+copies=late"}, {"order": "fair", "copies": "late"}),
    ],
)
def test_the_file_counts_where_nothing_is_given(scheduler, options, expected):
    found = parts(workload(scheduler), **options)

    assert {axis: found[axis] for axis in expected} == expected


def test_settings_of_the_file_are_below_those_given_and_go_with_its_parts():
    given = workload({"tasks": "ltyarn", "settings": {"tick_s": 7}}, settings={"tick_s": 3})
    notes: list[str] = []

    assert _tick_s(given, ()) == [7]
    assert _tick_s(given, ["tick_s=9"]) == [9]
    sluice.simulate(given, tasks="fair", on_message=notes.append)
    assert not [note for note in notes if "tick_s=7" in note]


def _tick_s(given, settings):
    from sluice.api.simulate import Scheduling
    from sluice.api.sources import settings_of

    how = Scheduling(settings=settings).completed(given)
    resolved = settings_of(given, how.settings, how.chosen())
    return [resolved.general["tick_s"]]


def test_it_is_a_row_of_a_comparison_and_is_exported():
    given = workload({**LENT, "admission": "capacity"})

    assert row_in(given) == "admission=capacity+order=ltrf+slots=lent[tick_s=2]"
    assert row_in(workload({"preset": "easy"})) == "tasks=easy"
    assert workload_document(given)["scheduler"] == {**LENT, "admission": "capacity"}
    again = sluice.parse_workload(json.dumps(workload_document(given)))
    assert again.scheduler == given.scheduler


def test_a_preset_may_be_a_file_next_to_the_workload(tmp_path):
    (tmp_path / "ours.yaml").write_text("{order: fair, copies: late}")
    path = tmp_path / "jobs.json"
    document = workload_document(workload({"preset": "ours.yaml", "slots": "lent"}))
    path.write_text(json.dumps(document))

    found = parts(str(path))
    assert (found["order"], found["copies"], found["slots"]) == ("fair", "late", "lent")


def test_a_preset_file_names_no_other_file(tmp_path):
    path = tmp_path / "loop.yaml"
    path.write_text("{preset: loop.yaml}")

    with pytest.raises(InvalidInput, match="holds a preset by name only"):
        sluice.simulate(workload({"preset": str(path)}))


@pytest.mark.parametrize(
    ("scheduler", "said"),
    [
        ({"order": "lftr"}, "scheduler: order is 'lftr'. Did you mean ltrf?"),
        ({"preset": "fair", "tasks": "fifo"}, "preset and tasks are given together"),
        ({"preset": "nosuch"}, "is neither a preset nor a file"),
    ],
)
def test_what_cannot_be_is_refused_by_validate_too(scheduler, said):
    given = workload(scheduler)
    for command in (sluice.validate, sluice.simulate):
        with pytest.raises(InvalidInput) as error:
            command(given)
        assert said in str(error.value)


def test_an_unknown_key_is_refused_with_its_line():
    with pytest.raises(InvalidInput, match=r"unknown key `scheduler\.ordr`"):
        workload({"ordr": "fair"})
