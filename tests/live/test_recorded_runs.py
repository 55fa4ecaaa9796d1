"""`sluice runs`, and which run `--resume`, `why` and `story` use, through the command line."""

import json
import os
import shutil
import signal
import sqlite3

import pytest
from tests.cli.terminal import result_of
from tests.live.command_line import PATIENCE_S, Place
from tests.live.recorded_lives import lives_of
from tests.skips import skip

NOBODY = 65534

# Waits for a file named `go` at a line that says "wait".
PATIENT_SH = """\
read -r line
[ "$line" != wait ] || while [ ! -e go ]; do sleep 0.02; done
echo "$line"
"""


@pytest.fixture
def place(tmp_path):
    """Two jobs: `patient`, one map of which waits, and `quick`."""
    return filled(tmp_path)


def filled(folder):
    place = Place(folder)
    place.write_input("in", "one\n", "wait\n")
    place.write_input("quick", "two\n")
    (folder / "patient.sh").write_text(PATIENT_SH)
    place.write([job("patient", "in"), job("quick", "quick")])
    return place


def job(job_id, folder, mapper="sh patient.sh"):
    return {"id": job_id, "run": {"input": [folder], "output": f"out/{job_id}", "mapper": mapper}}


def let_go(place):
    (place.folder / "go").touch()


def waiting(place):
    """A run that waits for `go`, and has done the rest."""
    known = len(place.runs)
    process = place.started("run", str(place.file))
    place.awaited(process, lambda: len(place.runs) > known, "a run")
    place.awaited(process, lambda: len(lives_of(place.runs[-1]).finished) == 2, "two tasks")
    output = place.folder / "out"
    place.awaited(process, (output / "quick" / "_SUCCESS").exists, "an output")
    place.awaited(
        process, lambda: not list(output.glob(".quick.sluice-*")), "the end of its commit"
    )
    return process


def killed(place):
    """The id of a run that was killed while a map waited."""
    process = waiting(place)
    process.kill()
    process.communicate()
    assert place.processes_left() == {}
    return place.runs[-1].name


def listed(place, *words):
    """The document of `sluice runs WORDS --json`."""
    code, heard, complained = place.sluice("runs", *words, "--json")
    assert code == 0, complained
    return json.loads(heard)


def states(place):
    return {run["id"]: run["state"] for run in listed(place)["runs"]}


def damage(folder):
    """Overwrite the middle of a journal, as a bad disk does."""
    journal = folder / "journal.db"
    content = bytearray(journal.read_bytes())
    content[: len(content) // 2] = b"\xff" * (len(content) // 2)
    journal.write_bytes(content)
    for name in ("journal.db-wal", "journal.db-shm"):
        (folder / name).unlink(missing_ok=True)


def damage_event(folder):
    """Change a row that says what happened; the first and the last row stay."""
    connection = sqlite3.connect(folder / "journal.db")
    with connection:
        connection.execute("UPDATE rows SET payload = payload || ' ' WHERE seq = 5")
    connection.close()


# --- listing --------------------------------------------------------------------------------------


def test_a_state_folder_without_runs_lists_none(place):
    code, heard, complained = place.sluice("runs")

    assert (code, heard.strip()) == (0, "")
    assert "No run is recorded" in complained
    assert result_of(listed(place)) == {"runs": [], "leftovers": []}


def test_runs_are_listed_with_their_states(place):
    unfinished = killed(place)
    let_go(place)
    (place.folder / "out" / "quick").rename(place.folder / "kept")
    assert place.run()[0] == 0
    place.write([job("bad", "quick", "false")], settings={"failures_max": 1})
    assert place.run()[0] == 1
    finished, failed = (folder.name for folder in place.runs[1:])
    process = place.sluice("runs", "list")

    assert states(place) == {unfinished: "unfinished", finished: "finished", failed: "failed"}
    for run in listed(place)["runs"]:
        assert run["file"] == str(place.file)
        assert run["bytes"] > 1000
        assert run["started_at"].startswith("20")
    assert [run["jobs"] for run in listed(place)["runs"]] == [2, 2, 1]
    assert all(run_id in process[1] for run_id in states(place))
    assert max(map(len, process[1].splitlines())) <= 80


def test_a_run_is_shown_with_its_jobs_and_outputs(place):
    unfinished = killed(place)
    (run,) = listed(place, "show", unfinished)["runs"]
    code, heard, _ = place.sluice("runs", "show", unfinished[: len("run-000001")])

    assert {name: job["state"] for name, job in run["jobs_by_id"].items()} == {
        "patient": "running",
        "quick": "done",
    }
    assert run["jobs_by_id"]["quick"]["output_complete"]
    assert not run["jobs_by_id"]["patient"]["output_complete"]
    assert run["policies"] == {"tasks": "fifo", "release": "input", "admission": "all"}
    assert [str(place.folder / "out" / ".patient.sluice-") in path for path in run["staging"]]
    assert code == 0
    for word in (unfinished, "patient", "running", "tasks fifo"):
        assert word in heard


def test_an_unknown_run_is_bad_input(place):
    for words in (("show", "x"), ("clean", "x"), ("show", "")):
        code, heard, complained = place.sluice("runs", *words)
        assert (code, heard) == (2, "")
        assert "sluice runs list" in complained


# --- exit codes -----------------------------------------------------------------------------------


def test_a_finished_run_with_a_failed_job_exits_1_when_reported_again(place):
    place.write([job("bad", "quick", "false")], settings={"failures_max": 1})
    first, document = place.document()
    again, repeated = place.document("--resume")

    assert (first, again) == (1, 1)
    assert repeated["was_finished"]
    assert repeated["jobs"] == document["jobs"]


@pytest.mark.parametrize("gone", ["out/quick", "out/quick/_SUCCESS"])
def test_a_finished_run_whose_output_is_gone_says_which_and_exits_1(place, gone):
    let_go(place)
    assert place.run()[0] == 0
    path = place.folder / gone
    path.rename(place.folder / "moved")
    code, _, complained = place.run("--resume")
    again, document = place.document("--resume")

    assert (code, again) == (1, 1)
    assert "'quick'" in complained
    assert str(place.folder / "out" / "quick") in complained
    assert "'patient'" not in complained
    assert document["was_finished"]
    assert document["missing_outputs"] == {"quick": str(place.folder / "out" / "quick")}
    assert document["outputs"] == {"patient": str(place.folder / "out" / "patient")}
    assert document["jobs"]["quick"]["state"] == "done"


def test_a_job_whose_output_cannot_be_committed_is_a_failure(place):
    process = waiting(place)
    (place.folder / "out" / "patient").mkdir(parents=True)
    let_go(place)
    process.communicate()
    code, document = place.document("--resume")

    assert (process.returncode, code) == (1, 1)
    assert list(document["uncommitted"]) == ["patient"]
    assert list(document["outputs"]) == ["quick"]
    assert not document["was_finished"]


# --- other runs never block -----------------------------------------------------------------------


@pytest.mark.parametrize("question", ["story", "why"])
def test_a_question_about_an_unknown_job_says_which_run_lacks_it(question, place):
    """The newest run is asked, which may be of another file than the one meant."""
    let_go(place)
    assert place.run()[0] == 0
    code, _, complained = place.sluice(question, "absent")

    assert code == 2
    assert complained.startswith(f"{place.runs[-1].name}: there is no job"), complained


def test_damage_in_a_run_of_another_file_blocks_nothing(place):
    let_go(place)
    assert place.run()[0] == 0
    damage(place.runs[0])
    other = place.folder / "other.json"
    other.write_text(place.file.read_text().replace("out/", "other/"))

    assert place.sluice("run", str(other), "--resume")[0] == 0
    assert place.sluice("why", "quick")[0] == 0
    assert place.sluice("story", "quick")[0] == 0
    assert list(states(place).values()) == ["damaged", "finished"]


def test_a_damaged_newer_run_is_skipped_by_why_with_a_message(place):
    let_go(place)
    assert place.run()[0] == 0
    other = place.folder / "other.json"
    other.write_text(place.file.read_text().replace("out/", "other/"))
    assert place.sluice("run", str(other))[0] == 0
    damage(place.runs[1])
    code, _, complained = place.sluice("why", "quick")

    assert code == 0
    assert place.runs[1].name in complained
    assert place.run("--resume")[0] == 0


@pytest.mark.parametrize("how", [damage, damage_event])
def test_a_damaged_run_that_would_be_resumed_says_how_to_go_on(place, how):
    run_id = killed(place)
    how(place.runs[0])
    let_go(place)
    code, heard, complained = place.run("--resume")

    assert (code, heard) == (3, "")
    assert f"sluice runs clean {run_id}" in complained
    assert "without --resume" in complained
    (run,) = listed(place, "show", run_id)["runs"]
    assert run["state"] == "damaged"
    assert run["file"] == str(place.file)

    (place.folder / "out" / "quick").rename(place.folder / "kept")
    assert place.sluice("runs", "clean", run_id)[0] == 0
    assert place.run("--resume")[0] == 0


# Words before a command: root without its capabilities is a user as others.
RIGHTS = "-dac_override,-dac_read_search"
PLAIN = ["setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}"]


def test_a_run_of_another_user_blocks_nothing(place):
    """Such as one that was started with sudo. Root without its capabilities is a user as others."""
    if os.geteuid() != 0:
        skip("only root may give a folder to another user")
    let_go(place)
    assert place.run()[0] == 0
    (place.folder / "out").rename(place.folder / "kept")
    foreign = place.runs[0]
    foreign.chmod(0o700)
    os.chown(foreign, NOBODY, NOBODY)
    for words in (["runs"], ["run", str(place.file), "--resume"], ["why", "quick"]):
        code, heard, complained = place.sluice(*words, before=PLAIN)
        assert code == 0, (words, complained)
    heard = place.sluice("runs", before=PLAIN)[1]

    assert f"{foreign.name}: " in heard
    assert ("damaged" in heard, "finished" in heard) == (True, True)


# --- a state folder that may only be read ---------------------------------------------------------


def test_commands_that_only_read_work_where_nothing_may_be_written(place):
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        skip("root may write everywhere, and setpriv is not installed to change that")
    let_go(place)
    assert place.run()[0] == 0
    store = place.home / "profiles.db"
    closed = [place.home, place.home / "runs", *place.runs]
    for path in closed:
        path.chmod(0o500)
    before = sorted(place.home.rglob("*"))
    plain = PLAIN if os.geteuid() == 0 else []
    for words in (["predict", "quick"], ["calibrate"], ["simulate", str(place.file)], ["runs"]):
        code, printed, complained = place.sluice(*words, before=plain)
        assert (code, complained) == (0, ""), words
        assert printed, words
    code, printed, complained = place.sluice("profiles", "quick", "--rename", "q", before=plain)

    assert (code, printed) == (3, "")
    assert complained.count("\n") == 1
    assert f"{store}: " in complained
    assert "Allow reading and writing there" in complained
    assert sorted(place.home.rglob("*")) == before
    for path in closed:
        path.chmod(0o700)


# --- cleaning -------------------------------------------------------------------------------------


def test_clean_leaves_what_can_be_resumed(place):
    """An unfinished run needs its scratch and staging folders."""
    run_id = killed(place)
    before = place.remains()
    cleaned = listed(place, "clean")

    assert (cleaned["runs"], cleaned["leftovers"]) == ([], [])
    assert place.remains() == before
    assert states(place) == {run_id: "unfinished"}
    let_go(place)
    assert place.run("--resume")[0] == 0
    assert place.lines("out/patient") == [b"one", b"wait"]


def test_clean_removes_a_run_with_everything_it_left(place):
    run_id = killed(place)
    planned = listed(place, "clean", run_id, "--dry-run")
    assert planned["dry_run"]
    assert states(place) == {run_id: "unfinished"}
    done = listed(place, "clean", run_id)

    assert [run["id"] for run in done["runs"]] == [run_id]
    assert planned["runs"] == done["runs"]
    assert planned["bytes"] == done["bytes"] > 0
    assert place.remains() == []
    assert states(place) == {}
    assert place.lines("out/quick") == [b"two"], "an output is the user's"


def test_clean_of_finished_runs_keeps_the_others(place):
    unfinished = killed(place)
    let_go(place)
    (place.folder / "out" / "quick").rename(place.folder / "kept")
    assert place.run()[0] == 0
    cleaned = listed(place, "clean", "--finished")

    assert len(cleaned["runs"]) == 1
    assert states(place) == {unfinished: "unfinished"}


def test_clean_does_not_touch_a_run_that_a_process_drives(place):
    process = waiting(place)
    (run,) = listed(place)["runs"]
    code, heard, complained = place.sluice("runs", "clean", run["id"], "--json")
    assert run["process"] == process.pid
    assert listed(place, "clean")["leftovers"] == []
    let_go(place)
    process.communicate()

    assert code == 1
    assert json.loads(heard)["kept"][0]["what"] == run["id"]
    assert str(process.pid) in complained
    assert process.returncode == 0
    assert place.lines("out/patient") == [b"one", b"wait"]


def test_staging_folders_of_a_lost_run_are_leftovers(place):
    """Somebody removed the run's folder by hand; a later run writes next to the same output."""
    run_id = killed(place)
    place.runs[0].rename(place.folder / "lost")
    let_go(place)
    (place.folder / "out" / "quick").rename(place.folder / "kept")
    assert place.run()[0] == 0
    (leftover,) = listed(place)["leftovers"]
    code, heard, _ = place.sluice("runs", "clean", "--dry-run")

    assert (leftover["kind"], leftover["run"]) == ("staging", run_id)
    assert (code, ".patient.sluice-" in heard) == (0, True)
    assert len(listed(place, "clean")["leftovers"]) == 1
    assert place.remains() == []
    assert listed(place)["leftovers"] == []


@pytest.mark.in_turn(3)
@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 30, 2))
def test_what_a_run_leaves_that_is_killed_at_any_removal_or_renaming_can_be_removed(place, number):
    """After `clean` of everything, only the outputs and the profile store are left."""
    let_go(place)
    event = "os.rename" if number % 4 == 1 else "shutil.rmtree"
    process = place.started("run", str(place.file), killed_at=(event, (number + 3) // 4))
    process.communicate()
    assert process.returncode in {0, -signal.SIGKILL}
    assert place.processes_left() == {}
    for run_id in states(place):
        listed(place, "clean", run_id)
    listed(place, "clean")

    assert place.remains() == []
    kept = {path.name for path in (place.home / "runs").iterdir()}
    assert kept <= {"counter.json", "outputs.lock"}  # of all runs


def test_a_second_run_of_a_file_is_refused_while_the_first_goes_on(place):
    first = waiting(place)
    place.write([job("patient", "in")])

    refused = place.run()
    again = place.run("--overwrite")
    let_go(place)
    first.communicate(timeout=PATIENCE_S)

    for code, _, complained in (refused, again):
        assert code == 2, complained
        assert f"is that of {place.runs[0].name}, which runs (process {first.pid})" in complained
    assert first.returncode == 0
