"""Two runs with one output at the same time: the second is refused before it works."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

import sluice
from sluice.model.errors import InvalidInput
from sluice.store.runs import Runs

REFUSAL = r"output .* is (that of|inside|around) .*(another run|run-\d+)"


@pytest.fixture
def workload(tmp_path, monkeypatch):
    """A file with one job, whose map takes half a second and counts its starts."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("a b\n")
    (tmp_path / "map.sh").write_text(f"echo >>{tmp_path}/starts; sleep 0.5; cat")
    (tmp_path / "link").symlink_to(tmp_path)
    file = tmp_path / "jobs.yaml"
    file.write_text(
        "version: 1\ncluster: {map_slots: 1, reduce_slots: 1}\njobs:\n  - id: copy\n"
        "    reduces: {tasks: 1}\n    run: {input: [in.txt], output: out, mapper: sh map.sh,"
        " reducer: cat}\n"
    )
    return file


def test_of_two_runs_started_at_once_one_is_refused_before_it_works(workload):
    command = [sys.executable, "-m", "sluice", "run", workload.name]
    both = [
        subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for _ in range(2)
    ]
    errors = {run.communicate()[1]: run.returncode for run in both}

    assert sorted(errors.values()) == [0, 2], errors
    assert (workload.parent / "starts").read_text() == "\n"
    assert (workload.parent / "out" / "part-00000").read_text() == "a b\n"
    assert len(list((workload.parent / "home" / "runs").glob("run-*"))) == 1


def test_runs_of_two_state_folders_keep_apart_too(workload, monkeypatch):
    with closing_locks(workload, "out"):
        monkeypatch.setenv("SLUICE_HOME", str(workload.parent / "second"))
        for output in ("out", "out/x", "."):
            with pytest.raises(InvalidInput, match=REFUSAL):
                Runs().locked_outputs([str(workload.parent / output)])
    Runs().locked_outputs([str(workload.parent / "out")]).release()


def test_what_another_user_put_in_the_place_of_the_locks_is_not_used(workload, monkeypatch):
    """The state folder keeps its runs apart where the machine has no place for the locks."""
    place = workload.parent / f"sluice-outputs-{os.geteuid()}.lock"
    place.symlink_to(workload.parent / "elsewhere")
    monkeypatch.setattr("sluice.store.output_locks.MACHINE_FOLDER", workload.parent)

    with closing_locks(workload, "out"), pytest.raises(InvalidInput, match=REFUSAL):
        sluice.run(workload)
    assert not (workload.parent / "elsewhere").exists()


@pytest.mark.parametrize("name", ["out", "link/out", "out/x", "out/x/y", "."])
def test_an_output_that_another_run_holds_is_refused_until_it_ends(workload, name):
    other = Runs().locked_outputs([str(workload.parent / name)])

    with pytest.raises(InvalidInput, match=REFUSAL):
        sluice.run(workload)
    assert not (workload.parent / "starts").exists()

    other.release()
    assert sluice.run(workload).extra["uncommitted"] == {}
    assert sluice.run(workload, overwrite=True).extra["uncommitted"] == {}


def test_outputs_next_to_each_other_are_not_in_the_way(workload):
    with closing_locks(workload, "out1", "out.d/x", "ou/t") as others:
        assert sluice.run(workload).extra["uncommitted"] == {}
        assert sluice.run(workload, overwrite=True).extra["uncommitted"] == {}
        # One of several that are in one folder keeps the locks on that folder.
        others.hold("ou/second")
        others.let_go("ou/t")
        with pytest.raises(InvalidInput, match=REFUSAL):
            Runs().locked_outputs(["ou"])
        others.let_go("ou/second")
        Runs().locked_outputs(["ou"]).release()


@pytest.mark.parametrize(("held", "asked"), [("a/b", "a"), ("a", "a/b/c")])
def test_outputs_of_one_holder_are_not_inside_each_other(workload, held, asked):
    """The jobs of a service have one holder of locks."""
    with closing_locks(workload, held) as locks:
        with pytest.raises(InvalidInput, match=r"another (run or )?job"):
            locks.hold(asked)
        locks.hold(held)  # again is nothing new
        locks.let_go(held)
        locks.hold(asked)


@contextmanager
def closing_locks(workload, *names):
    locks = Runs().locked_outputs([str(workload.parent / name) for name in names])
    yield locks
    locks.release()


def test_a_run_that_was_left_is_not_resumed_while_another_writes_its_output(workload, monkeypatch):
    """It is refused as a new run is, and can be resumed later."""
    with monkeypatch.context() as patch:
        patch.setattr("sluice.engines.driver.Driver.run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            sluice.run(workload)
    other = Runs().locked_outputs([str(workload.parent / "out")])

    with pytest.raises(InvalidInput, match=REFUSAL):
        sluice.run(workload, resume=True)

    other.release()
    assert sluice.run(workload, resume=True).extra["uncommitted"] == {}


def interrupt(*_):
    raise KeyboardInterrupt
