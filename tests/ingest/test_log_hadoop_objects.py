"""Files of JSON objects one after the other: found whatever they look like, and after damage."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.ingest.logs import hadoop_objects
from sluice.ingest.logs.hadoop_objects import json_objects
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Report
from sluice.model.errors import InvalidInput

words = st.text(st.sampled_from('ab{}[]",\\ \n:é'), max_size=8)
values = st.recursive(
    st.integers(-9, 9) | words | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)
jobs = st.dictionaries(words, values, min_size=1, max_size=4)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("objects")
    return folder / "log.json"


def read(path: Path, text: str, limits: Limits | None = None) -> tuple[list[object], Report]:
    report = Report()
    path.write_text(text, encoding="utf-8")
    return [value for _, value in json_objects(path, report, limits or Limits())], report


@given(
    st.lists(jobs, max_size=4),
    st.sampled_from([None, 0, 1, 2, "\t"]),
    st.sampled_from(["", " ", "\n", "\r\n\n", ",\n", " , "]),
    st.booleans(),
)
def test_objects_are_found_in_every_style(path, said, indent, between, is_list):
    text = between.join(json.dumps(job, indent=indent) for job in said)
    found, report = read(path, f"[\n{text}\n]" if is_list else text)

    assert (found, report.skipped) == (said, ())


@given(st.lists(jobs, min_size=3, max_size=5), st.data())
def test_damage_costs_the_object_that_it_is_in(path, said, data):
    """A brace lost or found shifts where objects end, but not where their first line stands."""
    texts = [json.dumps(job, indent=2) for job in said]
    at = data.draw(st.integers(0, len(said) - 2))
    hurt = data.draw(st.sampled_from(["lost", "found", "cut"]))
    body = texts[at]
    texts[at] = {
        "lost": body[:-1],
        "found": body[:2] + "  {" + body[2:],
        "cut": body[: len(body) // 2],
    }[hurt]
    found, report = read(path, "\n".join(texts))

    others = said[:at] + said[at + 1 :]
    assert found == others or [one for one in found if one in others] == others
    assert report.skipped_count


def test_lines_are_those_on_which_objects_begin(path):
    path.write_text('{\n "a": 1\n}\n\n{"b": 2} {"c": 3}\n', encoding="utf-8")

    assert [line for line, _ in json_objects(path, Report(), Limits())] == [1, 5, 5]


def test_text_between_objects_is_reported(path):
    found, report = read(path, 'jobs:\n{"a": 1} and\n{"b": 2}\n')

    assert found == [{"a": 1}, {"b": 2}]
    assert [one.line for one in report.skipped] == [1, 2]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": ' * 200, "deeper than 100"),
        ('{"a": [\n' + ' {"b": {}},\n' * 200 + "]}", "more than 150 others"),
        ('{"a": "' + "x" * 2000 + '"', "more than 1500 bytes"),
        ('{"a": 1', "does not end"),
        ('{"a": 1,}', "no JSON"),
    ],
)
def test_what_is_no_object_is_given_up_and_what_follows_is_read(text, why, path, monkeypatch):
    monkeypatch.setattr(hadoop_objects, "INNER_MAX", 150)
    monkeypatch.setattr(hadoop_objects, "OBJECT_BYTES_MAX", 1500)
    found, report = read(path, f'{text}\n{{"good": 1}}\n')

    assert found == [{"good": 1}]
    assert why in report.skipped[0].why


def test_a_file_of_nothing_but_damage_is_refused(path):
    with pytest.raises(InvalidInput, match="cannot be used"):
        read(path, "{,}" * 1000, Limits(skipped_max=100))
