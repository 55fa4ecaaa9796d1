"""Every JSON document says where it comes from, the same on any machine and at any time."""

import hashlib
import json

import pytest
from tests.cli.terminal import SMALL, sluice

import sluice as package


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "night").mkdir()
    (tmp_path / "night" / "small.yaml").write_text(SMALL)
    return tmp_path / "night" / "small.yaml"


def provenance(*words, stdin=b""):
    answer = sluice(*words, "--json", stdin=stdin)
    assert 0 == answer.code, answer.err
    return json.loads(answer.out)["provenance"]


DIGEST = f"sha256:{hashlib.sha256(SMALL.encode()).hexdigest()}"


def test_version_inputs_settings_and_seeds_are_named(file):
    found = provenance("simulate", file, "--tasks", "fair", "--set", "jitter=0.1", "--seed", "7")

    assert {
        "version": package.__version__,
        "command": "simulate",
        "inputs": [{"name": "small.yaml", "digest": DIGEST}],
        "settings": {
            "tasks": "fair", "settings": ["jitter=0.1"],
        },
        "seeds": [7],
    } == found  # fmt: skip


def test_it_does_not_depend_on_how_the_file_is_named_or_where_output_goes(file, tmp_path):
    absolute = provenance("simulate", file)
    relative = provenance("simulate", "night/small.yaml", "--trace", tmp_path / "out.jsonl")

    assert absolute == relative
    assert str(tmp_path) not in json.dumps(absolute)


def test_standard_input_has_the_digest_of_what_was_read(file):
    found = provenance("simulate", "-", stdin=SMALL.encode())

    assert [{"name": "-", "digest": DIGEST}] == found["inputs"]


def test_seeds_of_a_comparison_are_listed(file):
    assert [0, 1, 2] == provenance("compare", file, "--seeds", "3")["seeds"]


def test_a_folder_of_logs_and_a_policy_file_are_inputs(file, tmp_path):
    assert 0 == sluice("simulate", file, "--trace", "night/log.jsonl").code
    (tmp_path / "mine.py").write_text(
        "from sluice.policies.orders.fifo import Fifo\n\n\nclass Mine(Fifo):\n    name = 'mine'\n"
    )
    words = ("simulate", "--from-log", "night/log.jsonl", "--tasks", "mine.py:Mine")
    found = provenance(*words)

    assert ["log.jsonl", "mine.py"] == sorted(one["name"] for one in found["inputs"])
    assert all(one["digest"].startswith("sha256:") for one in found["inputs"])
    changed = tmp_path / "mine.py"
    changed.write_text(f"{changed.read_text()}\n")
    assert found["inputs"] != provenance(*words)["inputs"]


def test_the_digest_of_a_result_is_that_of_its_trace(file):
    """It identifies the attempts alone: provenance is not part of it."""
    one = json.loads(sluice("simulate", file, "--json").out)
    other = json.loads(sluice("simulate", "-", "--json", stdin=SMALL.encode()).out)

    assert one["digest"] == other["digest"] == package.simulate(str(file)).digest
    assert one["provenance"] != other["provenance"]


@pytest.mark.parametrize("words", [["runs"], ["runs", "list"], ["settings"], ["version"]])
def test_a_command_without_an_input_has_none(words, file):
    found = provenance(*words)

    assert (" ".join(words), []) == (found["command"], found["inputs"])


def test_an_address_of_a_store_is_not_shown(file):
    assert 0 == sluice("simulate", file, "--trace", "log.jsonl").code
    assert 0 == sluice("import", "log.jsonl", "--store", "night/store.db").code
    found = provenance("profiles", "--store", "night/store.db")

    assert "store.db" not in json.dumps(found)


def test_a_schema_has_no_provenance(file):
    assert "provenance" not in json.loads(sluice("schema").out)
