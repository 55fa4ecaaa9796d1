"""A field of a job is described once: reading, checks, schema and written files follow from it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.ingest.file_schema.jobs import JobShape, PhaseShape
from sluice.model.described import file_keys
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase

ROOT = Path(__file__).parents[2]
NEW_LINE = '    budget_usd: float | None = in_file("dollars that the job may cost")\n'
PLACE = "    shares_deadline_of: JobId | None = None\n"
FILE = """version: 1
jobs:
- id: a
  maps: {tasks: 2, avg_s: 3}
  budget_usd: 7.5
"""
ASKED = """
import json, sys
import sluice
from sluice.reporting.exports.workload_document import workload_document
text = sys.stdin.read()
made = sluice.parse_workload(text, source="w.yaml")
faults = []
for bad in ("-5", "lots"):
    try:
        sluice.parse_workload(text.replace("7.5", bad), source="w.yaml")
    except sluice.InvalidInput as error:
        faults.append(str(error))
print(json.dumps({
    "value": made.jobs[0].budget_usd,
    "faults": faults,
    "schema": sluice.schema()["$defs"]["JobShape"]["properties"]["budget_usd"],
    "written": workload_document(made)["jobs"],
}))
"""


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """Answers of a copy of the sources with one line more: CONTRIBUTING.md shows it."""
    copy = tmp_path_factory.mktemp("copy") / "src"
    shutil.copytree(
        ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    )
    declared = copy / "sluice" / "model" / "job.py"
    text = declared.read_text(encoding="utf-8")
    assert text.count(PLACE) == 1
    declared.write_text(text.replace(PLACE, PLACE + NEW_LINE), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        input=FILE,
        env={**os.environ, "PYTHONPATH": str(copy)},
        cwd=copy.parent,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_line_is_the_one_that_the_guide_shows():
    assert NEW_LINE.strip() in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_one_line_more_is_a_value_of_the_job(answer):
    assert answer["value"] == 7.5


def test_one_line_more_is_checked_with_its_line_and_a_hint(answer):
    assert answer["faults"] == [
        'w.yaml line 5, job "a": budget_usd is -5. Give dollars that the job may cost, 0 or more.',
        (
            'w.yaml line 5, job "a": budget_usd is "lots", not a number. Give dollars that the'
            " job may cost, 0 or more; numbers are written as in JSON, without quotes."
        ),
    ]


def test_one_line_more_is_in_the_published_schema(answer):
    assert answer["schema"] == {
        "anyOf": [{"maximum": 1e15, "minimum": 0, "type": "number"}, {"type": "null"}],
        "default": None,
        "description": "dollars that the job may cost, 0 or more",
    }


def test_one_line_more_is_written_with_the_job(answer):
    assert answer["written"] == [{"id": "a", "maps": {"tasks": 2, "avg_s": 3.0}, "budget_usd": 7.5}]


@pytest.mark.parametrize(("kind", "shape"), [(Job, JobShape), (Phase, PhaseShape)])
def test_a_described_field_is_a_key_with_its_default_and_description(kind, shape):
    keys = file_keys(kind)

    assert keys
    for one in keys:
        field = shape.model_fields[one.name]
        assert field.default == one.default
        assert field.description == one.description


@pytest.mark.parametrize("key", file_keys(Job), ids=lambda key: key.name)
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 0.0])
def test_a_program_cannot_give_a_job_a_number_out_of_range(key, value):
    if value == 0 and not key.is_above_zero:
        assert getattr(Job(job_id="a", pool="a", phases=(), **{key.name: value}), key.name) == 0
        return
    with pytest.raises(InvalidInput, match=f"job 'a': {key.name} is"):
        Job(job_id="a", pool="a", phases=(), **{key.name: value})
