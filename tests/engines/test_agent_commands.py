"""How a command starts: forked from the agent or, where the package was compiled, by vfork."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from tests.engines.test_agent_node import gone
from tests.skips import skip

from sluice.engines.agent import child

SOURCE = Path(child.__file__).with_name("vfork.c")


@pytest.fixture(scope="session")
def vfork(tmp_path_factory):
    """The function of the compiled module."""
    compiler = shutil.which("cc")
    include = sysconfig.get_path("include")
    if compiler is None or not Path(include, "Python.h").exists():
        skip("no C compiler, or no headers of Python")
    made = tmp_path_factory.mktemp("vfork") / "vfork.so"
    strict = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]
    flags = ["-O2", "-fPIC", "-shared", f"-I{include}", *strict]
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(made)], check=True)
    spec = importlib.util.spec_from_file_location("vfork", made)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.spawn


@pytest.fixture(params=["fork", "vfork"])
def start(request, monkeypatch, tmp_path):
    """Starts a command as an agent does, and returns its process id."""
    spawn = None if request.param == "fork" else request.getfixturevalue("vfork")
    monkeypatch.setattr(child, "spawn", spawn)

    def begin(*argv, limits=None, env=None, cwd=None):
        work = {"argv": argv, "env": env or {}, "cwd": cwd}
        order = {"id": "a", "work": work, "limits": limits or {}}
        return child.start_command(child.command(order, {b"PATH": b"/bin"}), str(tmp_path / "log"))

    return begin


@pytest.fixture
def said(start, tmp_path):
    """The exit code of a command, and what it wrote."""

    def run(*argv, **more):
        _, status = os.waitpid(start(*argv, **more), 0)
        return os.waitstatus_to_exitcode(status), (tmp_path / "log").read_text()

    return run


def test_its_output_goes_to_the_log(said):
    assert said("sh", "-c", "echo out; echo err >&2; exit 3") == (3, "out\nerr\n")


def test_its_environment_is_what_it_is_given(said):
    code, text = said("/usr/bin/env", env={"ÄÖ": "ü = 1"})
    assert (code, sorted(text.splitlines())) == (0, ["PATH=/bin", "SLUICE_ATTEMPT=a", "ÄÖ=ü = 1"])


def test_it_is_in_its_folder(said, tmp_path):
    assert said("/bin/pwd", cwd=str(tmp_path)) == (0, f"{tmp_path}\n")


def test_it_leads_a_session_of_its_own(start):
    pid = start("/bin/sleep", "600")
    try:
        until_s = time.monotonic() + 20
        while os.getsid(pid) != pid:
            assert time.monotonic() < until_s
        assert os.getpgid(pid) == pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_limits_are_in_force(said):
    limits = {"output_bytes": 4096, "memory_bytes": 1 << 30, "wall_s": 1.0, "idle_s": None}
    code, text = said("sh", "-c", "ulimit -f; ulimit -v", limits=limits)
    assert (code, text.split()) == (0, ["8", str(1 << 20)])


@pytest.mark.parametrize(
    ("program", "why"), [("/no/such", "No such file or directory"), ("/etc", "Permission denied")]
)
def test_what_cannot_be_run_says_why(said, program, why):
    code, text = said(program)
    assert (code, text) == (child.NOT_STARTED, f"sluice: cannot run '{program}': {why}\n")


def test_a_folder_that_is_gone_says_why(said):
    code, text = said("/bin/true", cwd="/no/such/folder")
    assert code == child.NOT_STARTED
    assert "No such file or directory" in text


def test_it_finds_signals_as_a_program_does(said):
    """The agent handles some itself, with functions that only it has."""
    before = [signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGHUP)]
    try:
        code, text = said("sh", "-c", "grep ^Sig /proc/self/status")
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGHUP), before, strict=True):
            signal.signal(number, handler)
    masks = dict(line.split() for line in text.splitlines())
    for number in (signal.SIGTERM, signal.SIGHUP):
        for mask in ("SigBlk:", "SigIgn:", "SigCgt:"):
            assert not int(masks[mask], 16) & 1 << (number - 1), (mask, number)
    assert code == 0


def test_it_dies_with_its_parent(start, tmp_path):
    """Also if the parent has no time to end it."""
    parent = os.fork()
    if not parent:
        try:
            pid = start("/bin/sleep", "600")
            (tmp_path / "pid").write_text(f"{pid}\n")
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(parent, 0)
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_word_that_no_program_can_get_is_refused(vfork):
    with pytest.raises(ValueError, match="null"):
        vfork(b"/bin/echo", [b"a\0b"], [], None, sys.stdout.fileno(), [])
    with pytest.raises(ValueError, match="word"):
        vfork(b"/bin/echo", [], [], None, sys.stdout.fileno(), [])
