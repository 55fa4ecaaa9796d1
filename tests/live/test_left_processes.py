"""A command that exits but leaves a child on its pipes fails within seconds, with the reason."""

import json
import shlex
import time

import pytest
from tests.live.command_line import Place

pytestmark = pytest.mark.slow

LONG_S = "71234567"
WITHIN_S = 40.0  # on a busy machine; without a look at the pipes it is the time-out, 600 s


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.write_input("in", "one two\n" * 100_000)  # more than a pipe holds
    yield place
    place.end()


def shell(script):
    return f"sh -c {shlex.quote(script)}"


HOLDS_OUTPUT = shell(f"sleep {LONG_S} <&- 2>&- & cat")
HOLDS_INPUT = shell(f"exec 3<&0; sleep {LONG_S} <&3 >&- 2>&- & head -n 1")
CASES = {
    "into one sort": ({"mapper": HOLDS_OUTPUT, "reducer": "cat"}, 1, "mapper exited with 0", "out"),
    "into partitions": (
        {"mapper": HOLDS_OUTPUT, "reducer": "cat"}, 2, "mapper exited with 0", "out",
    ),
    "combiner": (
        {"mapper": "cat", "combiner": HOLDS_OUTPUT, "reducer": "cat"},
        1, "combiner exited with 0", "out",
    ),
    "fails itself": (
        {"mapper": shell(f"sleep {LONG_S} <&- 2>&- & exit 7"), "reducer": "cat"},
        2, "mapper exited with 7", "out",
    ),
    "input of a mapper": ({"mapper": HOLDS_INPUT}, 0, "mapper exited with 0", "in"),
    "input of a reducer": (
        {"mapper": "cat", "reducer": HOLDS_INPUT}, 1, "reducer exited with 0", "in",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_child_that_holds_a_pipe_ends_the_attempt_with_the_true_reason(place, case):
    run, reduces, how, side = CASES[case]
    job = {"id": "a", "run": {"input": ["in"], "output": "out", **run}}
    place.write([job | ({"reduces": {"tasks": reduces}} if reduces else {})],
                settings={"failures_max": 1})  # fmt: skip
    began_at_s = time.monotonic()

    code, out, err = place.run("--json")
    message = json.loads(out)["jobs"]["a"]["failure"]["message"]

    assert code == 1
    assert time.monotonic() - began_at_s < WITHIN_S
    assert message.startswith(f"{how}, but process ")
    assert f"(sleep {LONG_S})" in message
    assert f"holds its {side}put open" in message
    assert message in err
    assert place.processes_left() == {}


def test_a_child_that_closes_its_output_soon_is_waited_for(place):
    mapper = shell("(sleep 1; echo late) & cat")
    place.write([{"id": "a", "run": {
        "input": ["in"], "output": "out", "mapper": mapper, "reducer": "uniq"}}])  # fmt: skip

    assert place.run()[0] == 0
    assert place.lines("out") == [b"late", b"one two"]


def test_a_child_that_still_works_is_waited_for(place):
    """As with the process substitution of bash: the command ends before its last reader."""
    late = "import time; t = time.time()\nwhile time.time() < t + 4.5: pass\nprint('late')"
    mapper = shell(f"(python -c {shlex.quote(late)}) & cat")
    place.write([{"id": "a", "run": {
        "input": ["in"], "output": "out", "mapper": mapper, "reducer": "uniq"}}])  # fmt: skip

    assert place.run()[0] == 0
    assert place.lines("out") == [b"late", b"one two"]
