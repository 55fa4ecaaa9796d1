"""Jobs that misbehave, one misdeed each, with what should come of them."""

import os
import string
from typing import NamedTuple

LINES = "one two\nbad three\nfour five\n" * 4
# A length of sleep that is this process's own, so that nobody else's sleep is taken for ours.
LONG_S = f"{70_000_000 + os.getpid()}"
BINARY = bytes(range(256)) * 200
LONG_LINE = b"x" * 8_000_000 + b" end"


class Hostile(NamedTuple):
    """shown: what the failed job's story must hold.  output: the sorted lines, where known.

    code: the text of a Python file; {"mapper": ..} and such are commands.
    """

    name: str
    run: dict[str, str]
    heard: tuple[str, ...] = ()
    code: str = ""
    output: list[bytes] | None = None
    content: str | bytes = LINES
    files: int = 1

    @property
    def state(self):
        return "failed" if self.heard else "done"


def commands(name, mapper, reducer=None, **more):
    run = {"mapper": mapper} | ({"reducer": reducer} if reducer else {})
    return Hostile(name, run, **more)


SUM = "def reducer(key, values):\n    yield key, sum(values)\n"


def python(name, code, *, reducer=SUM, **more):
    """A Python mapper from its body; what it has read is `line`."""
    body = "".join(f"    {line}\n" for line in code.split("\n"))
    text = f"import os, sys, threading, time\n\ndef mapper(line):\n{body}\n{reducer}"
    return Hostile(name, {}, code=text, **more)


READ = LINES.encode().splitlines()
COUNTED = sorted(f"{word}\t4".encode() for word in ("one", "two", "bad", "three", "four", "five"))
COUNT = "for word in line.split():\n    yield word, 1"

FAILING = (
    commands(
        "exits with 1", "sh -c 'echo last words >&2; exit 1'", heard=("exited with 1", "last words")
    ),
    commands("killed by a signal", "sh -c 'kill -SEGV $$'", heard=("SIGSEGV",)),
    commands("kills its group", "sh -c 'kill -KILL 0'", heard=("SIGKILL",)),
    commands("kills its parent", "sh -c 'kill -KILL $PPID'", heard=("SIGKILL",)),
    commands(
        "daemon holds its stdout",
        f"sh -c 'setsid sleep {LONG_S} & cat'",
        "cat",
        heard=("holds its output open", LONG_S),
    ),
    commands("refuses to read", "sh -c 'exec <&-; exit 3'", heard=("exited with 3",)),
    commands("removes itself", "./self.sh", heard=("self.sh", "it is gone"), files=6),
    commands(
        "removes its input",
        "sh -c 'rm -f in/removes*/file-5; cat'",
        heard=("file-5", "it is gone"),
        files=6,
    ),
    commands(
        "reducer fails on one key",
        "cat",
        'awk \'/^bad/ {print "cannot do " $0 > "/dev/stderr"; exit 9} {print}\'',
        heard=("reducer exited with 9", "cannot do bad three"),
    ),
    Hostile(
        "combiner fails",
        {"mapper": "cat", "combiner": "sh -c 'exit 4'", "reducer": "cat"},
        heard=("combiner exited with 4",),
    ),
    commands(
        "last words are binary",
        r"sh -c 'printf \\377\\000\\033[31mred >&2; exit 1'",
        heard=("exited with 1", "red"),
    ),
    commands(
        "talks without end",
        "sh -c 'yes nonsense | head -c 3000000 >&2; exit 6'",
        heard=("exited with 6", "nonsense"),
    ),
    python(
        "raises",
        "raise ValueError('bad ' + line)",
        heard=("ValueError: bad one two", "raises.py:4"),
    ),
    python("yields no pairs", "yield 5", heard=("TypeError", "map")),
    python("yields an object", "yield line, object()", heard=("type object cannot go",)),
    python("imports nothing", "import no_such_module_at_all", heard=("No module named",)),
    python("os._exit 0", "os._exit(0)", heard=("without a result",)),
    python("os._exit 3", "os._exit(3)", heard=("exit code 3",)),
    python("sys.exit", "sys.exit(5)", heard=("SystemExit: 5",)),
    python("recursion", "return mapper(line)", heard=("RecursionError",)),
    python("closes every file", "os.closerange(0, 100)\nyield 1, 1", heard=("map",)),
)

SUCCEEDING = (
    commands("reads one line", "head -n 1", content=LINES * 20_000, output=[b"one two"]),
    commands("reads nothing", "true", "cat", content=LINES * 20_000, output=[]),
    commands("gets nothing", "cat", "cat", content="", output=[]),
    commands("binary", "cat", "cat", content=BINARY, output=BINARY.split(b"\n")),
    commands("one long line", "cat", "cat", content=LONG_LINE, output=[LONG_LINE]),
    commands(
        "talks a lot", "sh -c 'yes nonsense | head -c 3000000 >&2; cat'", "cat", output=sorted(READ)
    ),
    commands("leaves a process", f"sh -c 'sleep {LONG_S} >&- 2>&- <&- & exec cat'", output=READ),
    commands(
        "leaves a daemon",
        f"sh -c 'env -i setsid -f sleep {LONG_S} >&- 2>&- <&-; exec cat'",
        output=READ,
    ),
    python("prints", "print('noise', line)\n" + COUNT, output=COUNTED),
    python(
        "writes to its stdout",
        "os.write(1, b'noise\\n')\nsys.__stdout__.write('noise')\n" + COUNT,
        output=COUNTED,
    ),
    python(
        "leaves a thread",
        f"threading.Thread(target=time.sleep, args=({LONG_S},)).start()\n" + COUNT,
        output=COUNTED,
    ),
    python("moves away", "os.chdir('/')\nos.environ.clear()\n" + COUNT, output=COUNTED),
    python(
        "ignores SIGTERM",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + COUNT,
        output=COUNTED,
    ),
    python(
        "huge values",
        "yield 'x' * 3_000_000, 1",
        content="a\nb\n",
        output=[b"x" * 3_000_000 + b"\t2"],
    ),
    python(
        "gets bytes",
        "yield line, 1",
        content=b"\xff\xfe\x00\n\r\n",
        output=sorted([b"\xff\xfe\x00\t1", b"\t1"]),
    ),
)

# Under the limits of LIMITS.
UNLIMITED = (
    commands("never exits", f"sleep {LONG_S}", heard=("wall_s=4",)),
    commands(
        "ignores SIGTERM too",
        "sh -c 'trap \"\" TERM; while :; do sleep 1; done'",
        heard=("wall_s=4",),
    ),
    commands("fills the disk", "yes", heard=("2000000 bytes, its limit",)),
    commands("fills the disk before sort", "yes", "cat", heard=("2000000 bytes",)),
    python(
        "fills the disk itself",
        "for i in range(10**9): yield i, 'x' * 99",
        reducer="",
        heard=("2000000 bytes",),
    ),
    python(
        "fills a file of its own",
        "with open('big', 'wb') as big:\n    big.write(bytes(10**7))\nyield 1, 1",
        heard=("2000000",),
    ),
    python("never returns", "while True:\n    time.sleep(1)", heard=("wall_s=4",)),
    python("takes memory", "yield line, len(bytearray(10**10))", heard=("MemoryError",)),
    commands("takes memory by command", "python -c 'bytearray(10**10)'", heard=("MemoryError",)),
)
LIMITS = {
    "failures_max": 1,
    "task_wall_s": 4,
    "task_output_bytes_max": 2_000_000,
    "task_memory_bytes_max": 400_000_000,
}

GOOD = (
    python("good python", COUNT, output=COUNTED),
    commands("good commands", "cat", "cat", output=sorted(READ)),
)


def write_jobs(place, jobs, **settings):
    """The files of these jobs, and one workload for all of them."""
    place.write([_written(place, one) for one in jobs], settings=settings)


def _written(place, one):
    slug = "".join(c if c in string.ascii_letters + string.digits else "-" for c in one.name)
    contents = [one.content] * one.files
    place.write_input(f"in/{slug}", *contents)
    run = {"input": [f"in/{slug}"], "output": f"out/{slug}", **one.run}
    if one.code:
        run["python"] = f"{slug}.py"
        (place.folder / run["python"]).write_text(one.code)
    if run.get("mapper") == "./self.sh":
        script = place.folder / "self.sh"
        script.write_text('#!/bin/sh\nrm -f "$0"\nsleep 0.2\nexec cat\n')
        script.chmod(0o755)
    job = {"id": one.name, "run": run}
    return job | ({"reduces": {"tasks": 2}} if one.code or "reducer" in run else {})
