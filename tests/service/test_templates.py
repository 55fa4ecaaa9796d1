"""Jobs of templates: what an argument may be, and that it never becomes more than that."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import skips

skips.required("fastapi")

from sluice.model.errors import InvalidInput  # noqa: E402  # after the skip
from sluice.service.templates import Template, check_template, filled  # noqa: E402  # after the skip

RUN = {
    "input": ["/data/{day}/*.log"],
    "output": "/out/{job_id}",
    "mapper": "grep -e {word} --max-count={most}",
    "env": {"DAY": "{day}"},
}
PARAMETERS = {
    "day": {"type": "text", "pattern": "[0-9]{4}-[0-9]{2}-[0-9]{2}"},
    "word": {"type": "text"},
    "most": {"type": "integer", "at_least": 1, "at_most": 100, "default": 10},
}


def template(run=RUN, **parameters):
    return Template(job={"run": run}, parameters=parameters or PARAMETERS)


def test_blanks_are_filled():
    check_template(template())
    run = filled(template(), {"day": "2026-11-28", "word": "error"})["run"]
    assert run["input"] == ["/data/2026-11-28/*.log"]
    assert run["output"] == "/out/{job_id}"
    assert shlex.split(run["mapper"]) == ["grep", "-e", "error", "--max-count=10"]
    assert run["env"] == {"DAY": "2026-11-28"}


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=40))
def test_a_text_stays_one_word(word):
    arguments = {"day": "2026-11-28", "word": word}
    if word.startswith("-"):
        with pytest.raises(InvalidInput, match="could be an option"):
            filled(template(), arguments)
        return
    words = shlex.split(filled(template(), arguments)["run"]["mapper"])
    assert words == ["grep", "-e", word, "--max-count=10"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"day": "2026-11-28"}, "missing"),
        ({"day": "tomorrow", "word": "a"}, "not of its form"),
        ({"day": "2026-11-28\n", "word": "a"}, "no text"),
        ({"day": "2026-11-28", "word": 3}, "no text"),
        ({"day": "2026-11-28", "word": "x" * 1001}, "no text"),
        ({"day": "2026-11-28", "word": "a", "most": 0}, "too small"),
        ({"day": "2026-11-28", "word": "a", "most": 101}, "too large"),
        ({"day": "2026-11-28", "word": "a", "most": 1.5}, "no integer"),
        ({"day": "2026-11-28", "word": "a", "most": True}, "no integer"),
        ({"day": "2026-11-28", "word": "a", "colour": "red"}, "no argument 'colour'"),
    ],
)
def test_a_wrong_argument_is_refused(arguments, said):
    with pytest.raises(InvalidInput, match=said):
        filled(template(), arguments)


def test_choices_and_paths():
    run = {**RUN, "input": ["{where}"], "mapper": "cat {kind}", "env": {}}
    made = template(run, where={"type": "path"}, kind={"type": "text", "choices": ["a", "b"]})
    check_template(made)
    assert filled(made, {"where": "/data/x", "kind": "a"})["run"]["input"] == ["/data/x"]
    for where in ("data", "/data/../etc"):
        with pytest.raises(InvalidInput, match="no path"):
            filled(made, {"where": where, "kind": "a"})
    with pytest.raises(InvalidInput, match="none of its choices"):
        filled(made, {"where": "/data", "kind": "c"})


@pytest.mark.parametrize(
    ("run", "parameters", "said"),
    [
        ({**RUN, "mapper": "sh -c 'grep {word} {most}'"}, PARAMETERS, "program of a shell"),
        ({**RUN, "mapper": "/bin/bash -c {word}{most}"}, PARAMETERS, "program of a shell"),
        ({**RUN, "mapper": "grep '{word} {most}"}, PARAMETERS, "cannot be split"),
        (RUN, {**PARAMETERS, "other": {"type": "text"}}, "no such blank"),
        (RUN, {"day": PARAMETERS["day"]}, "has no parameter"),
        (RUN, {**PARAMETERS, "word": {"type": "text", "pattern": "["}}, "pattern cannot be read"),
        (RUN, {**PARAMETERS, "most": {"type": "integer", "default": "x"}}, "no integer"),
    ],
)
def test_a_template_that_is_not_safe_is_refused(run, parameters, said):
    with pytest.raises(InvalidInput, match=said):
        check_template(template(run, **parameters))
