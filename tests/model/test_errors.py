"""Errors say what is wrong, where, and how to fix it."""

from sluice.model.errors import InvalidInput, unreadable, wrong_value


def test_a_file_that_cannot_be_read_has_the_reason_of_the_system_or_of_python():
    missing = unreadable("a/b.json", FileNotFoundError(2, "No such file", "a/b.json"))
    nul = unreadable("a\0b", ValueError("embedded null byte"))

    assert str(missing) == "a/b.json: it cannot be read: No such file. Check the path."
    assert nul.what == "it cannot be read: embedded null byte"


def test_an_outer_place_is_named_first():
    wrong = wrong_value("tasks", -1, "job 'a'", "give a whole number")

    assert str(wrong) == "job 'a': tasks is -1. Give a whole number."
    assert wrong.within("jobs.yaml").where == "jobs.yaml, job 'a'"
    assert InvalidInput("it is empty").within("jobs.yaml").where == "jobs.yaml"
    assert str(InvalidInput("it is empty")) == "it is empty."
