"""Both notations of one document mean the same, and lead back to the same places."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.ingest.document import read_document
from sluice.ingest.yaml_notation import plain_value
from sluice.model.errors import InvalidInput

# YAML allows no unassigned characters, and takes line and paragraph separators for line breaks.
texts = st.text(st.characters(exclude_categories=["Cc", "Cn", "Cs", "Zl", "Zp"]), max_size=8)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
    st.sampled_from(["010", "1_000", "1:30", "0x1F", "yes", "no", "on", "null", "2020-01-01"]),
)
documents = st.dictionaries(
    texts,
    st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
        max_leaves=12,
    ),
)


def value_of(text):
    return read_document(text.encode(), source="file").value


@given(documents)
def test_yaml_gives_the_values_of_json(document):
    """Numbers, words and text are read alike, whichever parser is at work."""
    json_text = json.dumps(document)

    assert document == value_of(json_text)
    assert document == value_of("--- " + json.dumps(document, ensure_ascii=False))


def paths_of(value, path=()):
    yield path
    if isinstance(value, dict | list):
        steps = value if isinstance(value, dict) else range(len(value))
        for step in steps:
            yield from paths_of(value[step], (*path, step))


@given(documents)
def test_both_notations_lead_back_to_the_same_places(document):
    """The YAML parser reads JSON's braces too, so it is the oracle for the walk over JSON."""
    text = json.dumps(document, ensure_ascii=False, indent=1)
    plain, marked = (read_document(each, source="file") for each in (text, f"--- {text}"))
    paths = list(paths_of(document))

    places = plain.places(paths)
    shifted = {
        path: place._replace(column=place.column - 4 * (place.line == 1))
        for path, place in marked.places(paths).items()
    }
    assert places == shifted


def test_a_place_is_the_line_of_the_key():
    text = "version: 1\njobs:\n  - id: a\n    maps:\n      tasks: 3\n"
    document = read_document(text, source="file")

    lines = {path: place.line for path, place in document.places(paths_of(document.value)).items()}
    assert lines == {
        (): 1,
        ("version",): 1,
        ("jobs",): 2,
        ("jobs", 0): 3,
        ("jobs", 0, "id"): 3,
        ("jobs", 0, "maps"): 4,
        ("jobs", 0, "maps", "tasks"): 5,
    }


def test_a_path_that_leads_nowhere_is_shown_where_it_ends():
    for text in ('{"jobs": [\n{"id": "a"}]}', "jobs:\n- id: a\n"):
        document = read_document(text, source="file")
        path = ("jobs", 0, "maps", "tasks")

        assert document.places([path])[path].line == 2


@pytest.mark.parametrize("text", ["1_000", "010", "0x10", "0o7", "1:30", ".5", "5.", "+1", "1e"])
def test_what_json_calls_no_number_is_text(text):
    assert plain_value(text) == text


@pytest.mark.parametrize(("text", "value"), [("5e-08", 5e-8), ("-0", 0), ("1E3", 1000.0)])
def test_what_json_calls_a_number_is_one(text, value):
    assert plain_value(text) == value


def test_dates_and_the_words_of_yaml_1_1_stay_text():
    text = "a: 2020-01-01\nb: yes\nc: 'true'\nd: .nan\ne: !\n"

    assert list(value_of(text).values()) == ["2020-01-01", "yes", "true", ".nan", ""]


def test_an_alias_means_what_its_anchor_means():
    assert value_of("a: &x {b: 1}\nc: *x\n") == {"a": {"b": 1}, "c": {"b": 1}}


def test_a_byte_order_mark_is_no_character_of_the_text():
    assert read_document(b"\xef\xbb\xbf{}", source="file").value == {}


def test_flow_style_yaml_is_read_though_it_begins_like_json():
    assert value_of("{version: 1, jobs: [a, ], }") == {"version": 1, "jobs": ["a"]}


def test_a_long_text_that_begins_like_json_is_json():
    """Megabytes are not tried twice."""
    with pytest.raises(InvalidInput, match="not valid JSON"):
        read_document("{version: 1, text: " + "a" * 1024 * 1024 + "}", source="file")


def test_deep_aliases_count_as_deep():
    text = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 101))

    with pytest.raises(InvalidInput, match="100 levels"):
        value_of(text)
