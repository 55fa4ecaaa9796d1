"""A journal that lost its last rows: the run is resumed, or the loss is reported."""

import sqlite3

import pytest
from tests.live.command_line import Place


@pytest.fixture
def finished(tmp_path):
    """A place with a finished run."""
    place = Place(tmp_path)
    place.write_input("in", "one\n", "two\n")
    place.write([{"id": "a", "run": {"input": ["in"], "output": "out", "mapper": "cat"}}])
    assert place.run()[0] == 0
    yield place
    place.end()


def cut_off(run, first):
    """Drop the rows from a seq on, so that the rest is a sound journal."""
    connection = sqlite3.connect(run / "journal.db")
    with connection:
        connection.execute("DELETE FROM rows WHERE seq >= ?", (first,))
        connection.execute(
            "UPDATE head SET (seq, checksum) = (SELECT seq, checksum FROM rows ORDER BY seq DESC)"
        )
    connection.close()


def first_seq(run, condition):
    connection = sqlite3.connect(run / "journal.db")
    ((seq,),) = connection.execute(f"SELECT min(seq) FROM rows WHERE {condition}").fetchall()  # noqa: S608  # a test's own words
    connection.close()
    return seq


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["kind = 'committed'", "payload LIKE '%TaskFinished%'"])
def test_an_output_that_was_committed_before_the_loss_is_recognised(finished, lost):
    """Without the head, as in an older release; this used to end with "output exists"."""
    (run,) = finished.runs
    before = {path: path.stat().st_mtime_ns for path in (finished.folder / "out").iterdir()}
    cut_off(run, first_seq(run, lost))
    (run / "journal.head").unlink()

    code, _, errors = finished.run("--resume")
    assert (code, "exists" in errors) == (0, False), errors
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert finished.remains() == []


def test_lost_rows_are_reported_with_their_number(finished):
    (run,) = finished.runs
    first = first_seq(run, "kind = 'committed'")
    last = first_seq(run, "kind = 'finished'")
    cut_off(run, first)

    for words in (["run", str(finished.file), "--resume"], ["why", "a"]):
        code, answer, errors = finished.sluice(*words)
        assert (code, answer) == (3, ""), errors
        assert f"{last - first + 1} acknowledged rows are missing" in errors
        assert "Traceback" not in errors
