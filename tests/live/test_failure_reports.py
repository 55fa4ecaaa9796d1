"""A run that fails says why, where the user looks: the journeys of a failed job on the terminal."""

import json
import shlex

import pytest
from tests.live.command_line import Place

from sluice.api import run as api

pytestmark = pytest.mark.slow

WORDS = "def mapper(line):\n    yield parsed(line), 1\n\n\n"
PARSED = "def parsed(line):\n    return int(line)\n"


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.write_input("in", "one\ntwo\n")
    yield place
    place.end()


def job(job_id="words", output="out", **run):
    return {"id": job_id, "run": {"input": ["in"], "output": output, **run}}


def fails(script):
    """A mapper that runs a script of the shell."""
    return f"sh -c {shlex.quote(script)}"


# --- a failed job -------------------------------------------------------------------------------


def test_a_failed_command_is_reported_with_its_last_words_and_the_command_for_more(place):
    script = r"echo early words >&2; printf '\033[31mred\000\n' >&2; exit 3"
    place.write([job("night load", mapper=fails(script))])

    code, out, err = place.run()

    assert code == 1
    assert "failed" in out
    assert "job 'night load' failed: map task 0 failed 4 times (attempt 4 on node-" in err
    assert err.count("mapper exited with 3") == 1
    assert err.count("early words") == 1
    assert r"\x1b[31mred\x00" in err
    assert "\x1b" not in err
    (command,) = [line for line in err.splitlines() if "sluice story" in line]
    words = shlex.split(command.partition(": ")[2])
    assert words[0] == "sluice"
    assert words[-1] == "night load/map/0"
    shown_code, story, _ = place.sluice(*words[1:])
    assert shown_code == 0
    assert "attempt 4 failed" in story


def test_the_document_holds_the_failure_and_stays_one_document(place):
    place.write([job(mapper=fails("echo last words >&2; exit 3")), job("good", "ok", mapper="cat")])

    code, out, err = place.run("--json")
    document = json.loads(out)

    assert code == 1
    failure = document["jobs"]["words"]["failure"]
    assert failure["node"].startswith("node-")
    del failure["node"]
    assert failure == {
        "phase": "map",
        "task": 0,
        "attempt": 4,
        "attempts": 4,
        "reason": "map task 0 failed 4 times",
        "message": "mapper exited with 3",
        "stderr_tail": ["last words"],
    }
    assert document["jobs"]["good"]["failure"] is None
    assert "mapper exited with 3" in err


def test_an_exception_shows_the_users_traceback_and_the_input(place):
    (place.folder / "words.py").write_text(WORDS + PARSED)
    place.write([job(python="words.py")])

    code, _, err = place.run()

    assert code == 1
    assert (
        "map raised ValueError: invalid literal for int() with base 10: 'one' (words.py:6)" in err
    )
    assert f"reading '{place.folder}/in/file-0' from byte 0 to 8" in err
    assert err.count("Traceback (most recent call last)") == 1
    assert f'File "{place.folder}/words.py", line 2, in mapper' in err
    assert "engines/mapreduce" not in err


def test_the_last_of_several_causes_is_the_one_that_is_shown(place):
    script = "n=$(ls tries 2>/dev/null | wc -l); mkdir -p tries/$n; exit 1$n"
    place.write([job(mapper=fails(script))], settings={"failures_max": 3})

    _, _, err = place.run()

    assert "map task 0 failed 3 times" in err
    assert "mapper exited with 12" in err
    assert "mapper exited with 10" not in err


def test_a_talkative_failure_is_bounded(place):
    script = (
        "yes a line that is quite long | tr -d '\\n' | head -c 3000 >&2; echo >&2; seq 1 900 >&2"
    )
    place.write([job(mapper=fails(script + "; exit 1"))])

    _, _, err = place.run()

    assert len(err.splitlines()) <= 20
    assert max(map(len, err.splitlines())) < 220
    assert "900" in err


def test_jobs_that_fail_for_one_cause_share_its_report(place):
    mapper = fails("echo no licence >&2; exit 1")
    place.write([job(f"job-{number}", f"out-{number}", mapper=mapper) for number in range(15)])

    _, _, err = place.run()

    assert err.count("no licence") == 1
    assert "14 more jobs failed for this reason: 'job-" in err


def test_the_result_object_holds_the_failure(place, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(place.home))
    place.write([job(mapper=fails("exit 3"))])

    result = api.run(place.file)

    (heard,) = result.jobs
    assert heard.failure is not None
    assert heard.failure.message == "mapper exited with 3"


# --- a file that cannot be imported -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "def mapper(line):\n    return [(line, 1)\n",
            "words.py line 2: SyntaxError: '[' was never",
        ),
        ("import json\nimport no_such_module\n", "words.py line 2: ModuleNotFoundError: No module"),
        ("import broken\n", "broken.py line 3: SyntaxError: invalid syntax (x ==== 1)"),
        ("LIMITS = {}\nLIMITS['a']\n", "words.py line 2: KeyError: 'a' (LIMITS['a'])"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_by_line(place, text, problem):
    (place.folder / "words.py").write_text(text)
    (place.folder / "broken.py").write_text("\n\nx ==== 1\n")
    place.write([job(python="words.py")])

    code, out, err = place.run()

    assert (code, out) == (2, "")
    assert problem in err
    assert place.runs == []


# --- output that cannot be committed --------------------------------------------------------------


def test_a_job_whose_output_is_not_committed_is_not_done(place):
    """Something takes the place of the output during the run; then it goes, and the run resumes."""
    place.write([job(mapper=fails("mkdir -p out; cat")), job("good", "ok", mapper="cat")])

    code, out, err = place.run("--json")
    document = json.loads(out)

    assert code == 1
    assert document["jobs"]["words"]["state"] == "uncommitted"
    assert "exists" in document["jobs"]["words"]["reason"]
    assert document["states"] == {"uncommitted": 1, "done": 1}
    assert list(document["outputs"]) == ["good"]
    assert "job 'words': all tasks are done, but its output was not committed" in err
    assert err.count(f"output '{place.folder}/out' exists") == 1
    assert f"sluice run {place.file} --resume" in err

    (place.folder / "out").rmdir()
    code, out, _ = place.run("--resume", "--json")

    assert code == 0
    assert json.loads(out)["jobs"]["words"]["state"] == "done"
    assert place.lines("out") == [b"one", b"two"]


def test_the_table_shows_that_output_is_not_committed(place):
    place.write([job(mapper=fails("mkdir -p out; cat"))])

    code, out, _ = place.run()

    assert code == 1
    assert "uncommitted" in out
    table = out.removeprefix("No job is done; uncommitted: words.").replace("1 done", "")
    assert "done" not in table  # but for the attempt
    assert f"words: {place.folder}" not in out
