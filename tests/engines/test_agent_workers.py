"""The process of a short Python task does the next one, unless the task has left a trace in it.

Each task must find what it would find in a new process: what it sees of the place in which a task
before it left something is what it writes, and all tasks must write the same.
"""

import os
import signal
import textwrap
import time
from pathlib import Path

import pytest
from tests.engines.test_agent_node import Talk, gone
from tests.engines.work_runs import job_in, write_input

from sluice.engines.agent.child import ORDERS_MAX
from sluice.engines.mapreduce.layout import begin_job, prepare

PLAIN = "def mapper(line):\n    yield line, 1\n"
# Each yields what a task finds, and then leaves something for the next one.
TRACES = {
    "a global": """
        count = 0
        def mapper(line):
            global count
            yield "found", count
            count += 1
    """,
    "a list": """
        seen = []
        def mapper(line):
            yield "found", len(seen)
            seen.append(line)
    """,
    "a list in a tuple": """
        SEEN = ([], "x")
        def mapper(line):
            yield "found", len(SEEN[0])
            SEEN[0].append(line)
    """,
    "a value changed by one that is equal": """
        values = {"a": 1}
        def mapper(line):
            yield "found", str(values["a"])
            values["a"] = True
    """,
    "a function's attribute": """
        def mapper(line):
            yield "found", getattr(mapper, "count", 0)
            mapper.count = 1
    """,
    "a default": """
        def mapper(line, seen=[]):
            yield "found", len(seen)
            seen.append(line)
    """,
    "a closure": """
        def made():
            count = 0
            def mapper(line):
                nonlocal count
                yield "found", count
                count += 1
            return mapper
        mapper = made()
    """,
    "a class": """
        class Counting:
            count = 0
        def mapper(line):
            yield "found", Counting.count
            Counting.count += 1
    """,
    "an object": """
        class Counter:
            def __init__(self):
                self.count = 0
        counter = Counter()
        def mapper(line):
            yield "found", counter.count
            counter.count += 1
    """,
    "an object with slots": """
        class Counter:
            __slots__ = ("count",)
        counter = Counter()
        counter.count = 0
        def mapper(line):
            yield "found", counter.count
            counter.count += 1
    """,
    "an iterator": """
        import itertools
        numbers = itertools.count()
        def mapper(line):
            yield "found", next(numbers)
    """,
    "a cache": """
        from functools import cache
        calls = []
        @cache
        def known(line):
            calls.append(line)
            return len(calls)
        def mapper(line):
            yield "found", known(line)
    """,
    "a module of the user's": """
        import others
        def mapper(line):
            yield "found", len(others.seen)
            others.seen.append(line)
    """,
    "a module that comes later": """
        def mapper(line):
            import sys
            yield "found", "others" in sys.modules
            import others
    """,
    "random numbers of NumPy": """
        import numpy
        numpy.random.seed(7)
        def mapper(line):
            yield "found", numpy.random.random()
    """,
    "precision": """
        import decimal
        def mapper(line):
            yield "found", decimal.getcontext().prec
            decimal.getcontext().prec = 3
    """,
    "an open file": """
        import os
        def mapper(line):
            yield "found", len(os.listdir("/proc/self/fd"))
            os.dup(1)
    """,
    "a handler of signals": """
        import signal
        def mapper(line):
            yield "found", signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
            signal.signal(signal.SIGTERM, lambda *_: None)
    """,
    "a mask": """
        import os
        def mapper(line):
            mask = os.umask(0o027)
            yield "found", mask
    """,
    "a limit": """
        import sys
        def mapper(line):
            yield "found", sys.getrecursionlimit()
            sys.setrecursionlimit(5000)
    """,
    "where modules come from": """
        import sys
        def mapper(line):
            yield "found", len(sys.path)
            sys.path.append("/nowhere")
    """,
    "a thread": """
        import threading, time
        def mapper(line):
            names = [one.name for one in threading.enumerate()]
            yield "found", "mine" in names
            threading.Thread(target=time.sleep, args=(600,), daemon=True, name="mine").start()
    """,
    "a process": """
        import os, signal
        def mapper(line):
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)
                yield "found", "a child"
            except ChildProcessError:
                yield "found", "no child"
            if not os.fork():
                signal.pause()
    """,
    "a process with another parent": """
        import os, signal
        def mapper(line):
            yield "found", 0
            pid = os.fork()
            if not pid:
                if not os.fork():
                    signal.pause()
                os._exit(0)
            os.waitpid(pid, 0)
    """,
}  # fmt: skip
# These are put back, so that the process may stay.
PUT_BACK = {
    "nothing": """
        import re, string, dataclasses, enum, collections, logging
        from collections import Counter, defaultdict
        from pathlib import Path
        WORD = re.compile("x")
        find = WORD.findall
        STOP = frozenset({"a", "b"})
        LENGTHS = {"a": [1, 2], "b": (3.0, None)}
        groups = defaultdict(list)
        log = logging.getLogger("words")
        HERE = Path("x")
        class Kind(enum.Enum):
            A = 1
        @dataclasses.dataclass
        class Pair:
            key: str = ""
        def helper(value, *, times=2):
            return value * times
        def mapper(line):
            yield "found", helper(len(STOP))
    """,
    "the environment": """
        import os
        def mapper(line):
            yield "found", os.environ.get("LEFT", "nothing") + str("HOME" in os.environ)
            os.environ["LEFT"] = "something"
            os.environ.pop("HOME", None)
    """,
    "the folder": """
        import os
        def mapper(line):
            yield "found", os.path.basename(os.getcwd())
            os.chdir("/")
    """,
}  # fmt: skip


@pytest.fixture
def talk(tmp_path):
    begun = Talk(tmp_path / "scratch")
    with begun.process:
        yield begun
        begun.process.stdin.close()
        assert begun.process.wait(60) == 0


@pytest.fixture
def prepared(tmp_path):
    """A job without reduces, of some tasks, by a program; with a module beside it."""

    def make(program, tasks):
        folder = tmp_path / "job"
        folder.mkdir()
        (folder / "code.py").write_text(textwrap.dedent(program))
        (folder / "others.py").write_text("seen = []\n")
        write_input(folder, *[f"line {number}\n" for number in range(tasks)])
        job = prepare(job_in(folder, python="code.py"))
        begin_job(job)
        return job

    return make


def order(job, task):
    return {"kind": "mapreduce", **job.work(0, task, {}), "host": job.name}


def ran(talk, job, task, **limits):
    """Launch a task, and return the reports of its start and its end."""
    talk.say(do="launch", id=f"a{task}", work=order(job, task), limits=limits, grace_s=1.0)
    return heard(talk), heard(talk)


def heard(talk):
    """The next start or end; a task that takes long on a busy machine reports progress too."""
    while (report := talk.hear())["report"] == "progress":
        pass
    return report


def thread_ids(pid):
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        return []


def text(finished):
    assert finished["report"] == "finished", finished
    with open(finished["outputs"][0]) as part:  # noqa: PTH123
        return part.read()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("left", TRACES)
def test_after_a_trace_the_next_task_has_a_process_of_its_own(talk, prepared, left):
    job = prepared(TRACES[left], 3)
    reports = [ran(talk, job, task) for task in range(3)]

    assert len({text(finished) for _, finished in reports}) == 1
    assert len({started["pid"] for started, _ in reports}) == 3


@pytest.mark.parametrize("left", PUT_BACK)
def test_without_a_trace_the_next_task_is_in_the_same_process(talk, prepared, left):
    job = prepared(PUT_BACK[left], 3)
    reports = [ran(talk, job, task) for task in range(3)]

    assert len({text(finished) for _, finished in reports}) == 1
    assert len({started["pid"] for started, _ in reports}) == 1


def test_random_numbers_do_not_go_on(talk, prepared):
    """As after a fork, where Python takes a new seed."""
    program = """
        import random
        def mapper(line):
            yield "found", random.random()
            random.seed(7)
    """
    job = prepared(program, 3)
    reports = [ran(talk, job, task) for task in range(3)]

    assert len({text(finished) for _, finished in reports}) == 3
    assert len({started["pid"] for started, _ in reports}) == 1


def test_each_task_has_its_own_name_log_and_use(talk, prepared, tmp_path):
    program = """
        import os
        def mapper(line):
            print("said", line)
            big = bytearray(80 << 20) if line == "line 1" else b""
            yield os.environ["SLUICE_ATTEMPT"], os.environ["mapreduce_task_partition"]
    """
    job = prepared(program, 3)
    reports = [ran(talk, job, task) for task in range(3)]

    assert len({started["pid"] for started, _ in reports}) == 1
    assert [text(finished) for _, finished in reports] == ["a0\t0\n", "a1\t1\n", "a2\t2\n"]
    logs = [(tmp_path / "scratch" / "log" / f"a{task}.log").read_text() for task in range(3)]
    assert logs == [f"said line {task}\n" for task in range(3)]
    first, big, after = (finished["usage"] for _, finished in reports)
    assert big["rss_bytes_max"] - first["rss_bytes_max"] > 60 << 20
    assert big["rss_bytes_max"] - after["rss_bytes_max"] > 60 << 20
    assert all(0 < took["cpu_s"] < 60 for took in (first, big, after))


def test_a_task_that_fails_is_the_last_of_its_process(talk, prepared):
    program = """
        def mapper(line):
            if line == "line 1":
                raise ValueError(line)
            yield line, 1
    """
    job = prepared(program, 3)
    reports = [ran(talk, job, task) for task in range(3)]

    assert [end["report"] for _, end in reports] == ["finished", "failed", "finished"]
    pids = [started["pid"] for started, _ in reports]
    assert pids[0] == pids[1] != pids[2]


def test_under_other_limits_it_is_another_process(talk, prepared):
    job = prepared(PLAIN, 2)
    pids = [ran(talk, job, task, output_bytes=1000 + task)[0]["pid"] for task in range(2)]

    assert pids[0] != pids[1]


def test_a_killed_worker_is_replaced(talk, prepared):
    """While it waits, its end is nobody's failure."""
    job = prepared(PLAIN, 2)
    started, _ = ran(talk, job, 0)
    os.kill(started["pid"], signal.SIGKILL)
    assert gone(started["pid"])
    while len(thread_ids(started["pid"])) > 1:  # its end is complete with the last
        time.sleep(0.001)
    again, finished = ran(talk, job, 1)

    assert again["pid"] != started["pid"]
    assert text(finished) == "line 1\t1\n"


def test_a_worker_that_is_killed_before_it_begins_is_a_fault_of_the_machine(talk, prepared):
    job = prepared(PLAIN, 3)
    started, _ = ran(talk, job, 0)
    os.kill(started["pid"], signal.SIGSTOP)  # it reads no order
    talk.say(do="launch", id="a1", work=order(job, 1), limits={}, grace_s=1.0)
    assert heard(talk)["pid"] == started["pid"]
    os.kill(started["pid"], signal.SIGKILL)
    failed = heard(talk)
    _, finished = ran(talk, job, 2)

    assert (failed["report"], failed["kind"]) == ("failed", "node_fault")
    assert "ended by SIGKILL" in failed["detail"]
    assert failed["detail"].endswith(", before it began the task")
    assert text(finished) == "line 2\t1\n"


def test_a_worker_that_is_killed_at_work_fails_its_task(talk, prepared):
    program = """
        import time
        def mapper(line):
            if line == "line 1":
                open("began", "x").close()
                time.sleep(600)
            yield line, 1
    """
    job = prepared(program, 2)
    started, _ = ran(talk, job, 0)
    talk.say(do="launch", id="a1", work=order(job, 1), limits={}, grace_s=1.0)
    assert heard(talk)["pid"] == started["pid"]
    while not Path(job.job.run.folder, "began").exists():
        time.sleep(0.001)
    os.kill(started["pid"], signal.SIGKILL)
    failed = heard(talk)

    assert (failed["report"], failed["kind"]) == ("failed", "exit")


def test_a_task_is_killed_in_a_process_that_has_done_others(talk, prepared):
    program = """
        import time
        def mapper(line):
            if line == "line 1":
                time.sleep(600)
            yield line, 1
    """
    job = prepared(program, 2)
    first, _ = ran(talk, job, 0)
    talk.say(do="launch", id="b", work=order(job, 1), limits={}, grace_s=1.0)
    second = heard(talk)
    talk.say(do="kill", id="b", reason="it takes too long")
    failed = heard(talk)

    assert first["pid"] == second["pid"]
    assert (failed["report"], failed["kind"]) == ("failed", "killed")
    assert gone(second["pid"])


def test_no_process_does_all_the_tasks_of_a_long_job(talk, prepared):
    """All that a task leaks, such as memory, is given back now and then."""
    job = prepared(PLAIN, ORDERS_MAX + 1)
    pids = [ran(talk, job, task)[0]["pid"] for task in range(ORDERS_MAX + 1)]

    assert len(set(pids[:ORDERS_MAX])) == 1
    assert pids[ORDERS_MAX] != pids[0]


def test_a_worker_ends_when_nobody_needs_it(talk, prepared, tmp_path):
    job = prepared(PLAIN, 1)
    started, _ = ran(talk, job, 0)

    assert gone(started["pid"])
    assert not list((tmp_path / "scratch" / "door").iterdir())


def test_a_stopping_agent_leaves_no_worker(talk, prepared):
    job = prepared(PLAIN, 1)
    started, _ = ran(talk, job, 0)
    talk.say(do="stop", kill=False)

    assert talk.process.wait(60) == 0
    assert gone(started["pid"], within_s=0.1)
