"""`sluice run FILE --resume`, as the contract has it, through the command line."""

import os
import shutil
import signal

import pytest
from tests.live.command_line import Place
from tests.live.recorded_lives import lives_of

from sluice.store.output_locks import MACHINE_FOLDER
from sluice.store.rows import header_and_end

# Waits for a file named `go` wherever a line says "wait"; everything else passes at once.
PATIENT_SH = """\
read line
echo "$line"
[ "$line" != wait ] || while [ ! -e go ]; do sleep 0.02; done
"""


@pytest.fixture
def place(tmp_path):
    """One map-only job of three lines in three files, one of which waits until it may go on."""
    place = Place(tmp_path)
    place.write_input("in", "one\n", "wait\n", "three\n")
    (tmp_path / "patient.sh").write_text(PATIENT_SH)
    run = {"input": ["in"], "output": "out/patient", "mapper": "sh patient.sh"}
    place.write([{"id": "patient", "run": run}])
    yield place
    place.end()


def let_go(place):
    (place.folder / "go").touch()


def waiting(place):
    """A run of which all is done but the map that waits."""
    process = place.started("run", str(place.file))
    place.awaited(process, lambda: finished(place) == 2, "two maps")
    return process


def finished(place):
    """Tasks that the newest run's journal knows to be done."""
    if not place.runs or not (place.runs[-1] / "journal.db").exists():
        return 0
    return len(lives_of(place.runs[-1]).finished)


def killed(place):
    """A run that was killed while a map waited."""
    process = waiting(place)
    process.kill()
    process.communicate()
    assert place.processes_left() == {}


def test_a_killed_run_is_continued(place):
    killed(place)
    let_go(place)
    code, document = place.document("--resume")

    assert code == 0
    assert not document["was_finished"]
    assert place.lines("out/patient") == [b"one", b"wait", b"three"]
    (run,) = place.runs
    assert lives_of(run).epochs == 2
    assert lives_of(run).rerun == []
    assert place.remains() == []


def test_with_nothing_to_resume_a_run_begins(place):
    let_go(place)
    code, document = place.document("--resume")

    assert code == 0
    assert not document["was_finished"]
    assert place.lines("out/patient") == [b"one", b"wait", b"three"]


def test_a_finished_run_is_shown_so_and_nothing_changes(place):
    let_go(place)
    _, first = place.document()
    before = everything(place)
    code, heard, complained = place.run("--resume")
    again, document = place.document("--resume")

    assert (code, again) == (0, 0)
    assert "finished" in heard + complained
    assert document["was_finished"]
    assert document["run_id"] == first["run_id"]
    assert document["digest"] == first["digest"]
    assert everything(place) == before


def test_a_resumed_run_keeps_the_forecasts_of_its_start(place):
    """Times that the run itself measured, or others meanwhile, do not become a forecast of it."""
    let_go(place)
    for _ in range(3):
        place.document("--overwrite")
    _, started = place.document("--overwrite")
    finished_run = place.document("--resume")[1]
    (place.folder / "go").unlink()
    shutil.rmtree(place.folder / "out")
    killed(place)
    let_go(place)
    resumed = place.document("--resume")[1]

    predicted_s = started["jobs"]["patient"]["predicted_s"]
    assert predicted_s > 0
    assert finished_run["jobs"]["patient"]["predicted_s"] == predicted_s
    assert resumed["jobs"]["patient"]["predicted_s"] == recorded_s(place.runs[-1])


def recorded_s(folder):
    """The forecast in the header of a journal."""
    return header_and_end(folder)[0].forecasts["patient"]["predicted_s"]


def everything(place):
    """All files with bytes and times, but the lock and what SQLite shares among its readers."""
    files = (path for path in place.folder.rglob("*") if path.is_file())
    files = (path for path in files if path.name not in {"lock", "journal.db-shm"})
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_second_process_that_resumes_is_refused_and_harms_nothing(place):
    killed(place)
    first = place.started("run", str(place.file), "--resume")
    place.awaited(
        first, lambda: lives_of(place.runs[-1]).epochs == 2 and place.processes(), "a second life"
    )
    code, heard, complained = place.run("--resume")
    let_go(place)
    first.communicate()

    assert (code, heard) == (3, "")
    assert f"process {first.pid}" in complained
    assert first.returncode == 0
    assert place.lines("out/patient") == [b"one", b"wait", b"three"]


def test_a_file_that_changed_under_an_unfinished_run_is_refused(place):
    killed(place)
    before = place.file.read_bytes()
    place.file.write_bytes(before + b"\n")
    code, heard, complained = place.run("--resume")

    assert (code, heard) == (2, "")
    assert str(place.file) in complained
    assert "changed" in complained

    place.file.write_bytes(before)
    let_go(place)
    assert place.run("--resume")[0] == 0


def test_an_output_that_exists_is_refused_and_named(place):
    """Also on a plain run after one that finished; nothing is run, nothing is recorded."""
    let_go(place)
    assert place.run()[0] == 0
    before = everything(place)
    code, heard, complained = place.run()

    assert (code, heard) == (2, "")
    assert "out/patient" in complained
    assert everything(place) == before


def test_an_output_that_appears_meanwhile_is_not_overwritten_and_the_run_can_be_completed(place):
    process = waiting(place)
    foreign = place.folder / "out" / "patient"
    foreign.mkdir(parents=True)
    (foreign / "mine").write_text("keep")
    let_go(place)
    _, complained = process.communicate()

    assert process.returncode != 0
    assert "out/patient" in complained
    assert [path.name for path in foreign.iterdir()] == ["mine"]

    (foreign / "mine").unlink()
    foreign.rmdir()
    assert place.run("--resume")[0] == 0
    assert place.lines("out/patient") == [b"one", b"wait", b"three"]
    assert place.remains() == []


def test_two_runs_of_one_file_at_once_do_not_meet(place):
    """The first to end has the output; the other says so, and neither mixes with it."""
    first = waiting(place)
    for mark in place.folder.rglob(".*.sluice-*/run.json"):
        mark.unlink()  # so that the first is not known, as a run of another machine is not
    (place.home / "runs" / "outputs.lock").unlink()
    (MACHINE_FOLDER / f"sluice-outputs-{os.geteuid()}.lock").unlink()
    second = waiting_beside(place)
    let_go(place)
    heard = [process.communicate()[1] for process in (first, second)]

    codes = [first.returncode, second.returncode]
    assert codes.count(0) == 1, (codes, heard)
    assert "out/patient" in heard[codes.index(max(codes))]
    assert place.lines("out/patient") == [b"one", b"wait", b"three"]


def waiting_beside(place):
    """Another run of the same file, as far as `waiting`."""
    known = place.runs
    process = place.started("run", str(place.file))
    place.awaited(
        process, lambda: len(place.runs) > len(known) and finished(place) == 2, "two maps"
    )
    return process


def test_a_plain_run_beside_an_abandoned_one_starts_anew(place):
    """Files that the abandoned run had left do not get into the output."""
    killed(place)
    let_go(place)
    code, _ = place.document()

    assert code == 0
    assert len(place.runs) == 2
    assert place.lines("out/patient") == [b"one", b"wait", b"three"]


def test_resume_after_a_later_run_that_succeeded_reports_that_one(place):
    """The user ran the file again instead: the interrupted run has nothing to add."""
    killed(place)
    let_go(place)
    _, later = place.document()
    left = place.runs[0].name
    before = everything(place)
    code, printed, complained = place.run("--resume")
    again, document = place.document("--resume")

    assert (code, again) == (0, 0)
    assert "nothing to resume" in complained
    assert "already finished" in complained
    assert f"sluice runs clean {left}" in complained
    assert later["run_id"] in complained
    assert "out/patient" in "".join(printed.split())  # a long path goes on in the next line
    assert (document["run_id"], document["was_finished"]) == (later["run_id"], True)
    assert everything(place) == before


def test_the_interrupted_run_is_resumed_once_the_later_one_and_its_output_are_removed(place):
    """The way that the message names."""
    killed(place)
    let_go(place)
    _, later = place.document()
    shutil.rmtree(place.folder / "out" / "patient")
    assert place.sluice("runs", "clean", later["run_id"])[0] == 0
    code, document = place.document("--resume")

    assert (code, document["was_finished"]) == (0, False)
    assert place.runs[0].name == document["run_id"]
    assert place.lines("out/patient") == [b"one", b"wait", b"three"]


def test_an_output_of_another_run_refuses_a_resume_before_anything_runs(place):
    """The later run is gone from the state folder; its output is not."""
    killed(place)
    let_go(place)
    _, later = place.document()
    place.sluice("runs", "clean", later["run_id"])
    code, printed, complained = place.run("--resume")
    (run,) = place.runs

    assert (code, printed) == (2, "")
    assert "job 'patient'" in complained
    assert f"output {str(place.folder / 'out/patient')!r} exists" in complained
    assert lives_of(run).epochs == 1

    shutil.rmtree(place.folder / "out" / "patient")
    assert place.run("--resume")[0] == 0
    assert place.lines("out/patient") == [b"one", b"wait", b"three"]


@pytest.mark.parametrize(
    ("mapper", "path"), [("sh -c 'sed s/e/e/ | helper'", ""), ("./patient-helper", "/nowhere")]
)
def test_a_resume_that_cannot_find_its_programs_is_refused_and_can_be_repeated(place, mapper, path):
    """PATH is that of another shell. Nothing runs, so the job does not fail."""
    put_program(place.folder / "bin" / "helper", "#!/bin/sh\nexec sh patient.sh\n")
    put_program(place.folder / "patient-helper", "#!/usr/bin/env helper\n")
    run = {"input": ["in"], "output": "out/patient", "mapper": mapper}
    place.write([{"id": "patient", "run": run}])
    right = ["env", f"PATH={place.folder / 'bin'}:{os.environ['PATH']}"]
    process = place.started("run", str(place.file), before=right)
    place.awaited(process, lambda: finished(place) == 2, "two maps")
    process.kill()
    process.communicate()
    let_go(place)
    code, printed, complained = place.run("--resume", before=["env", f"PATH={path}"])
    (run,) = place.runs

    assert (code, printed) == (2, "")
    assert "job 'patient': program" in complained
    assert "'helper'" in complained
    assert "Set PATH" in complained
    assert lives_of(run).epochs == 1

    assert place.run("--resume", before=right)[0] == 0
    assert sorted(line.lower() for line in place.lines("out/patient")) == [
        b"one",
        b"three",
        b"wait",
    ]


def put_program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_asked_to_stop_says_how_to_go_on(place, number):
    process = waiting(place)
    process.send_signal(number)
    heard, complained = process.communicate()

    assert process.returncode == 130
    assert heard == ""
    assert "--resume" in complained
    assert "Traceback" not in complained
    assert place.processes_left() == {}
    let_go(place)
    assert place.run("--resume")[0] == 0


def test_a_wait_in_vain_ends_the_run_and_shows_what_it_printed(place):
    process = place.started("run", "missing.json")
    with pytest.raises(AssertionError, match="ended before two maps") as failure:
        place.awaited(process, lambda: finished(place) == 2, "two maps")

    assert "exit code 2" in failure.value.__notes__[0]
    assert "missing.json" in failure.value.__notes__[1]

    process = place.started("run", str(place.file))
    with pytest.raises(AssertionError, match="in vain for four maps") as failure:
        place.awaited(process, lambda: finished(place) == 4, "four maps", patience_s=0.2)

    assert "did not end" in failure.value.__notes__[0]
    assert process.returncode == -signal.SIGKILL
