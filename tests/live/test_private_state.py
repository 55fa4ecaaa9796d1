"""The state of a run is for its user only, and the values of its environment are not kept in it.

The second user is uid 65534, by setpriv. The folders are outside of pytest's own, which no second
user may enter anyway.
"""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.effort import first_of
from tests.live.command_line import Place, awaited, words_of
from tests.skips import skip

VALUE = "correct-horse-battery"
OTHER_UID = 65534
WAITING = """
import os, sys, time
def mapper(line):
    while not os.path.exists("go"):
        time.sleep(0.01)
    yield line, 1
"""


@pytest.fixture
def place():
    """A place in a folder that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="sluice-shared-") as folder:
        Path(folder).chmod(0o755)
        made = Place(Path(folder))
        made.write_input("in", "one\n", "two\n")
        yield made
        made.end()


def by_another_user(*words):
    """The exit code of a command that another user runs."""
    if os.geteuid() != 0:
        skip("only root may become another user")
    if shutil.which("setpriv") is None:
        skip("setpriv is not installed here to become another user")
    becoming = ["setpriv", f"--reuid={OTHER_UID}", f"--regid={OTHER_UID}", "--clear-groups"]
    return subprocess.run(
        [*becoming, *map(str, words)], check=False, capture_output=True, cwd="/"
    ).returncode


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def with_umask(umask):
    """Words that run the command after them under a umask."""
    return ["sh", "-c", f'umask {umask:04o}; exec "$@"', "sh"]


def waiting_job(place, **run):
    """A job whose maps wait for a file `go`."""
    (place.folder / "wait.py").write_text(WAITING)
    place.write(
        [{"id": "a", "run": {"input": ["in"], "output": "out", "python": "wait.py", **run}}]
    )


@pytest.mark.slow
@pytest.mark.parametrize("umask", first_of([0o000, 0o077, 0o022], 2))
def test_state_is_private_and_output_is_not_whatever_the_umask(place, umask):
    """While the run is live another user cannot list, read or lock anything of its state."""
    waiting_job(place, env={"TOKEN": VALUE})
    process = place.started("run", str(place.file), before=with_umask(umask))
    awaited(lambda: len(list(place.home.glob("runs/*/scratch/*/door/[!~]*"))) == 2, "two maps")

    state = [place.home, *place.home.rglob("*")]
    too_open = {
        str(path): oct(mode_of(path))
        for path in state
        # What a task writes has the user's umask, in a folder that is private.
        if mode_of(path) & 0o077 and path.parents[1].name != "data" and path.parent.name != "data"
    }
    assert too_open == {}
    (run,) = place.runs
    for name in ("journal.db", "journal.db-wal", "journal.db-shm", "journal.head", "lock"):
        assert (run / name).exists()
        assert by_another_user("cat", run / name) != 0
        assert by_another_user("flock", "--nonblock", run / name, "true") != 0
    assert by_another_user("ls", place.home) != 0
    assert by_another_user("ls", next(place.folder.glob(".out.sluice-*"))) != 0

    (place.folder / "go").touch()
    assert process.wait() == 0, process.stderr.read()
    assert mode_of(place.home / "profiles.db") == 0o600
    assert mode_of(place.folder / "out") == 0o777 & ~umask
    assert {mode_of(path) for path in (place.folder / "out").iterdir()} == {0o666 & ~umask}
    is_readable = by_another_user("cat", place.folder / "out" / "part-00000") == 0
    assert is_readable == (umask != 0o077)


def holds(path, text):
    return text.encode() in path.read_bytes()


@pytest.mark.slow
def test_values_of_the_environment_are_kept_nowhere(place):
    """The names are; the tasks get the values, also after a kill and a resume."""
    waiting_job(place, env={"TOKEN": VALUE}, input=["in"])
    script = (place.folder / "wait.py").read_text()
    (place.folder / "wait.py").write_text(script + "    yield 'length', len(os.environ['TOKEN'])\n")
    process = place.started("run", str(place.file), "--json", is_warm=False)
    awaited(lambda: len(list(place.home.glob("runs/*/scratch/*/door/[!~]*"))) == 2, "two maps")
    pids = [process.pid, *place.processes()]
    lines = {pid: words_of(pid, "cmdline") for pid in pids}
    process.send_signal(signal.SIGKILL)
    process.wait()
    state = [path for path in place.home.rglob("*") if path.is_file()]
    assert [str(path) for path in state if holds(path, VALUE)] == []
    assert any(holds(path, "TOKEN") for path in state)
    assert not any(VALUE.encode() in word for words in lines.values() for word in words)

    (place.folder / "go").touch()
    code, answer, errors = place.run("--resume", "--json")
    assert code == 0, errors
    assert place.lines("out").count(f"length\t{len(VALUE)}".encode()) == 2
    printed = [answer, errors, *(place.sluice(verb, "a")[1] for verb in ("why", "story"))]
    assert not any(VALUE in text for text in printed)
    state = [path for path in place.home.rglob("*") if path.is_file()]
    assert [str(path) for path in state if holds(path, VALUE)] == []


@pytest.mark.slow
@pytest.mark.parametrize("python", [True, False])
def test_a_clean_environment_has_only_what_the_docs_name(place, python):
    (place.folder / "names.py").write_text(
        "import os\ndef mapper(line):\n    yield from ((name, '') for name in os.environ)\n"
    )
    code = {"python": "names.py"} if python else {"mapper": "env -0"}
    run = {"input": ["in"], "output": "out", "env": {"MINE": "1"}, "inherit_env": False, **code}
    place.write([{"id": "a", "run": run}])
    assert place.run(before=["env", "STRANGE=1", "LANG=C.UTF-8"])[0] == 0

    text = b"\n".join(place.lines("out"))
    found = text.split(b"\0") if not python else text.split(b"\n")
    names = {word.strip().split(b"=")[0].split(b"\t")[0].decode() for word in found if word.strip()}
    own = {name for name in names if not name.startswith(("SLUICE_", "mapreduce_"))}
    assert own - {"LC_CTYPE"} <= {"PATH", "HOME", "LANG", "TMPDIR", "MINE"}
    assert {"PATH", "LANG", "MINE", "SLUICE_JOB", "mapreduce_task_id"} <= names
    assert "SLUICE_HOME" not in names


def test_a_task_inherits_the_environment_by_default(place):
    run = {"input": ["in"], "output": "out", "mapper": "env -0"}
    place.write([{"id": "a", "run": run}])
    assert place.run(before=["env", "STRANGE=1"])[0] == 0

    assert b"STRANGE=1" in b"\n".join(place.lines("out")).split(b"\0")


# --- state folders that exist -------------------------------------------------------------------


def copying(place):
    place.write([{"id": "a", "run": {"input": ["in"], "output": "out", "mapper": "cat"}}])


def test_a_state_folder_of_another_user_is_refused(place):
    """Its owner could read the state, or plant a journal."""
    if os.geteuid() != 0:
        skip("only root may give a folder to another user")
    copying(place)
    place.home.mkdir()
    os.chown(place.home, OTHER_UID, OTHER_UID)
    for words in (["run", str(place.file)], ["why", "a"], ["profiles"]):
        code, answer, errors = place.sluice(*words)
        assert (code, answer) == (2, ""), words
        assert "belongs to another user" in errors
        assert str(place.home) in errors
        assert "SLUICE_HOME" in errors
    assert list(place.home.iterdir()) == []


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_state_folder_that_others_may_write_to_is_refused(place, mode):
    copying(place)
    place.home.mkdir()
    place.home.chmod(mode)
    code, _, errors = place.run()

    assert code == 2
    assert "other users may write to it" in errors
    assert f"chmod go= {place.home}" in errors


@pytest.mark.slow
def test_a_state_folder_of_an_older_release_is_made_private_once(place):
    copying(place)
    (place.home / "runs").mkdir(parents=True)
    place.home.chmod(0o755)

    code, _, errors = place.run()
    assert code == 0
    assert errors.count("was open to other users (mode 0755)") == 1
    assert mode_of(place.home) == 0o700
    assert "open to other users" not in place.sluice("profiles")[2]


def test_a_shared_folder_with_other_uses_keeps_its_mode(place):
    """Like /tmp: only the state inside is private."""
    copying(place)
    place.home.mkdir()
    (place.home / "notes").touch()
    place.home.chmod(0o1777)

    assert place.run()[0] == 0
    assert mode_of(place.home) == 0o1777
    assert {mode_of(place.home / name) for name in ("runs", "profiles.db")} == {0o700, 0o600}


def test_a_profile_store_that_the_user_shares_keeps_its_mode(place, monkeypatch):
    copying(place)
    shared = place.folder / "team" / "profiles.db"
    monkeypatch.setenv("SLUICE_STORE", str(shared))
    assert place.run()[0] == 0
    assert mode_of(shared) == 0o600

    shared.chmod(0o664)
    assert place.sluice("profiles")[0] == 0
    assert mode_of(shared) == 0o664
