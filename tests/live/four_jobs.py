"""Four small jobs of every kind, and a log in which their commands write when they are at work."""

from typing import NamedTuple

WORDS = "the quick brown fox jumps over the lazy dog and the end is near"

COUNT_PY = """\
import time


def mapper(line):
    time.sleep(0.01)
    for word in line.split():
        yield word, 1


def reducer(word, ones):
    yield word, sum(ones)
"""

TWO_STEPS_PY = """\
from mrjob.job import MRJob
from mrjob.step import MRStep


class CommonCounts(MRJob):
    def steps(self):
        return [
            MRStep(mapper=self.split, combiner=self.add, reducer=self.add),
            MRStep(mapper=self.turn, reducer=self.gather),
        ]

    def split(self, _, line):
        for word in line.split():
            yield word, 1

    def add(self, word, counts):
        yield word, sum(counts)

    def turn(self, word, count):
        yield count, word

    def gather(self, count, words):
        yield count, sorted(words)
"""

# Each line of the log is written by one `write`, at the end of the file.
COMMAND_SH = """\
show() { echo "$1 $SLUICE_ATTEMPT $(date +%s%N)" >> "$LOG"; }
show begin
sleep 0.05
"$@"
code=$?
show end
exit $code
"""

JOBS = (
    {
        "id": "count in python",
        "reduces": {"tasks": 2},
        "run": {"input": ["in"], "output": "out/python", "python": "count.py"},
    },
    {
        "id": "commands",
        "reduces": {"tasks": 2},
        "run": {
            "input": ["in"],
            "output": "out/commands",
            "mapper": "sh command.sh tr ' ' '\\n'",
            "reducer": "sh command.sh uniq -c",
            "env": {"LOG": "log"},
        },
    },
    {
        "id": "map/only",
        "run": {
            "input": ["in"],
            "output": "out/map-only",
            "mapper": "sh command.sh rev",
            "env": {"LOG": "log"},
        },
    },
    {
        "id": "two steps",
        "reduces": {"tasks": 1},
        "run": {"input": ["in"], "output": "out/steps", "python": "steps.py:CommonCounts"},
    },
)


def write_four_jobs(place, jobs=JOBS):
    """Their files, input and workload, or one of some of them."""
    place.folder.mkdir(exist_ok=True)
    place.write_input("in", *(f"{WORDS}\n" * 3 + f"file {number}\n" for number in range(4)))
    (place.folder / "count.py").write_text(COUNT_PY)
    (place.folder / "steps.py").write_text(TWO_STEPS_PY)
    (place.folder / "command.sh").write_text(COMMAND_SH)
    place.write(jobs)


class OnProgress(NamedTuple):
    """One line of the log; attempt ids end in the number of the attempt and its epoch."""

    at_ns: int
    what: str
    attempt_id: str

    @property
    def task(self):
        return self.attempt_id.rsplit("-", 2)[0]


def overlaps(place):
    """Attempts that were at work after another attempt at their task had begun."""
    log = place.folder / "log"
    heard = sorted(_heard(line) for line in log.read_text().splitlines()) if log.exists() else []
    latest: dict[str, str] = {}
    late = []
    for line in heard:
        if line.what == "begin":
            latest[line.task] = line.attempt_id
        elif latest[line.task] != line.attempt_id:
            late.append((line.attempt_id, latest[line.task]))
    return late


def _heard(line):
    what, attempt_id, at_ns = line.split()
    return OnProgress(int(at_ns), what, attempt_id)
