"""Real jobs of customers who are kept apart: tasks as their customers' users, nothing left over."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.live.command_line import Place
from tests.skips import skip

import sluice

CUSTOMERS = {"acme": "nobody", "globex": "daemon"}
USERS = "run.customer_users=" + ", ".join(f"{one}={user}" for one, user in CUSTOMERS.items())

# What a task sees of the others: it writes files, leaves a process behind, and looks around.
LOOKING = """
import glob, os, subprocess, sys, tempfile
def mapper(line):
    with open(os.path.join(tempfile.gettempdir(), "left"), "w") as file:
        file.write("of " + str(os.getuid()))
    subprocess.Popen(["sleep", "600"], start_new_session=True, env={},
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield "user", str(os.getuid())
    own = os.path.dirname(tempfile.gettempdir()).rstrip('/')
    others = [os.path.join(os.path.dirname(own), str(uid), "tmp", "left") for uid in UIDS]
    for path in [SECRET, *others]:
        try:
            if not own or not path.startswith(own):
                with open(path) as file:
                    yield "read", path + " " + file.read()
        except OSError as error:
            yield "refused", type(error).__name__
def reducer(key, values):
    yield key, ",".join(sorted(set(values)))
"""


def python_for_all():
    """A Python that other users may run; skips where there is none."""
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            done = subprocess.run([python, "-c", "import zlib"], user=65534, cwd="/", check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return skip("no other user may run a Python of this version here")


def copied_package(folder):
    """This Sluice where every user may read it: the checkout may be closed to others."""
    source = Path(sluice.__path__[0]).parent
    folder.mkdir()
    shutil.copytree(source / "sluice", folder / "sluice")
    for compiled in source.glob("*__mypyc*.so"):
        shutil.copy(compiled, folder)
    return folder


def run_apart(place, *words):
    """`sluice run` with the setting, from a package that its customers may read."""
    modules = copied_package(place.folder / "modules")
    python = f"run.customer_python={python_for_all()}"
    return place.sluice(
        "run", "jobs.json", "--set", USERS, "--set", python, *words,
        before=("env", f"PYTHONPATH={modules}"), is_warm=False,
    )  # fmt: skip


@pytest.fixture
def place():
    """A place that every user may enter, with a folder for the outputs of each customer."""
    if os.geteuid() != 0:
        skip("only root may start tasks as other users")
    with tempfile.TemporaryDirectory(prefix="sluice-shared-") as folder:
        Path(folder).chmod(0o755)
        made = Place(Path(folder))
        made.write_input("in", "one\n", "two\n")
        secret = made.folder / "secret"
        secret.write_text("of root")
        secret.chmod(0o600)
        uids = [pwd.getpwnam(user).pw_uid for user in CUSTOMERS.values()]
        code = LOOKING + f"\nSECRET = {str(secret)!r}\nUIDS = {uids!r}\n"
        (made.folder / "look.py").write_text(code)
        for customer, user in CUSTOMERS.items():
            (made.folder / customer).mkdir()
            shutil.chown(made.folder / customer, user)
        yield made
        made.end()


def jobs(**more):
    """One job of each customer, with a profile so that pools know their lengths."""
    return [
        {
            "id": customer,
            "customer": customer,
            "run": {"input": ["in"], "output": f"{customer}/out", "python": "look.py"} | more,
            "reduces": {"tasks": 1},
        }
        for customer in CUSTOMERS
    ]


def sleepers():
    """Processes `sleep 600` of these users."""
    uids = {pwd.getpwnam(user).pw_uid for user in CUSTOMERS.values()}
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.stat().st_uid in uids and b"600" in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


def lines_of(place, customer):
    (part,) = (place.folder / customer / "out").glob("part-*")
    found = dict(line.split("\t") for line in part.read_text().splitlines())
    return part, found


def test_tasks_run_as_their_customers_and_read_no_file_of_another(place):
    """On one node, together: the scratch of the other customer, and a file of root."""
    place.write(jobs(), cluster={"nodes": 1, "node": {"map_slots": 4, "reduce_slots": 2}})

    code, _, err = run_apart(place)

    assert 0 == code, err
    for customer, user in CUSTOMERS.items():
        part, found = lines_of(place, customer)
        uid = pwd.getpwnam(user).pw_uid
        assert str(uid) == found["user"]
        assert "read" not in found
        assert "PermissionError" in found["refused"]
        assert (uid, 0o600) == (part.stat().st_uid, part.stat().st_mode & 0o777)
    assert [] == sleepers()
    assert not place.processes_left()
    assert not list(Path(tempfile.gettempdir()).glob("sluice-customers-*/*/*/tmp/left"))


def test_without_the_setting_they_are_one_user(place):
    """So that the test above would notice."""
    place.write(jobs(), cluster={"nodes": 1, "node": {"map_slots": 4, "reduce_slots": 2}})

    code, _, err = place.sluice("run", "jobs.json")

    assert 0 == code, err
    assert "of root" in lines_of(place, "acme")[1]["read"]
    for process in sleepers():
        os.kill(int(process), 9)


@pytest.mark.parametrize(
    ("words", "expected", "says"),
    [
        (["--engine", "ray"], 2, "starts all tasks as one user"),
        (["--overwrite"], 2, "are not replaced"),
    ],
)
def test_what_cannot_keep_them_apart_is_refused_before_the_run(place, words, expected, says):
    place.write(jobs())

    code, _, err = place.sluice("run", "jobs.json", "--set", USERS, *words)

    assert (expected, True) == (code, says in err), err


def test_an_output_where_the_customer_may_not_write_is_refused(place):
    place.write([{**jobs()[0], "run": jobs()[0]["run"] | {"output": "globex/out"}}])

    code, _, err = run_apart(place)

    assert (2, True) == (code, "job 'acme'" in err), err
