"""A plan tunes the buffer of a real job, and the run that follows keeps to it."""

import json

import pytest
from tests.live.command_line import Place

RECORD_BYTES = 50
JOB = {
    "id": "sort",
    "run": {
        "input": ["in"],
        "output": "out",
        "mapper": "cat",
        "reducer": "cat",
        "split_bytes": 10**6,
    },
    "maps": {"tasks": 1, "avg_s": 2},
    "reduces": {"tasks": 2, "avg_s": 1},
    "buffer": {"bytes": [4000, 5000], "spill_threshold": [0.5, 0.9]},
}
PRICES = {"vm_hour_usd": 1.0, "io_op_usd": 0.001, "io_bytes_per_op": 1000}
CLUSTER = {"map_slots_per_vm": 1, "reduce_slots_per_vm": 1}


@pytest.fixture
def place(tmp_path):
    it = Place(tmp_path)
    yield it
    it.end()


def planned_and_run(place, records):
    """The document of a run with a tuned buffer, and the buffer."""
    text = "".join(f"{n:0{RECORD_BYTES - 1}}\n" for n in range(records))
    place.write_input("in", text)
    size = {"bytes": len(text), "records": records}
    place.write([{**JOB, "map_output": size}], cluster=CLUSTER, prices=PRICES)
    tuned = ("--tune", "buffers", "--io-model", "merge", "--choose", "1", "--out", "tuned.json")
    code, _, complained = place.sluice("plan", str(place.file), *tuned)
    assert code == 0, complained
    place.file = place.folder / "tuned.json"
    code, document = place.document()
    assert code == 0
    assert sorted(text.splitlines()) == sorted(line.decode() for line in place.lines("out"))
    return document, json.loads(place.file.read_text())["jobs"][0]["buffer"]["default"]


@pytest.mark.parametrize("records", [30, 200, 800])
def test_what_the_plan_predicts_is_what_the_run_measures(place, records):
    """One spill, then several, then more; the bytes and their price follow the data."""
    document, buffer = planned_and_run(place, records)
    found = document["buffers"]["sort"]
    measured, predicted = found["measured"], found["predicted"]

    assert predicted["spills"] <= buffer["merge_width"] <= 1.1 * predicted["spills"] + 1
    assert predicted["spills"] <= measured["spills"] <= 1.1 * predicted["spills"] + 1
    data_bytes = records * RECORD_BYTES
    assert predicted["spilled_bytes"] == data_bytes * (1 + 2 * predicted["merge_passes"])
    # Lines that are cut for two reduces have a digit more on their way through the runs.
    assert measured["spilled_bytes"] == pytest.approx(predicted["spilled_bytes"], rel=0.05)
    assert measured["io_usd"] == pytest.approx(measured["spilled_bytes"] / 1e6)
    assert (records == 30) == (predicted["spills"] == 1)


def test_the_figures_are_in_a_line_and_in_the_record(place):
    """The run that has finished is read from its record."""
    document, _ = planned_and_run(place, 200)
    code, heard, complained = place.run("--resume")
    assert code == 0, complained

    (line,) = [line for line in heard.splitlines() if line.startswith("buffer of sort: ")]
    figures = document["buffers"]["sort"]["measured"]
    assert f"{figures['spills']} spills, " in line
    assert " (predicted: " in line
