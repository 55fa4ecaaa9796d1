"""mrjob classes run unmodified, and give what mrjob itself gives."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from tests.effort import first_of
from tests.engines.work_runs import attempt, job_in, place_in, run_job, run_tasks, write_input

from sluice.engines.mapreduce import WorkFailed
from sluice.engines.mapreduce.layout import prepare
from sluice.model.errors import InvalidInput

JOBS = '''
from mrjob.job import MRJob
from mrjob.step import MRStep
from mrjob.protocol import RawValueProtocol


class WordCount(MRJob):
    def mapper(self, _, line):
        for word in line.split():
            yield word, 1

    def combiner(self, word, counts):
        yield word, sum(counts)

    def reducer(self, word, counts):
        self.increment_counter("group", "words", 1)
        yield word, sum(counts)


class MostUsed(MRJob):
    """Two steps, the second without a mapper of its own."""

    OUTPUT_PROTOCOL = RawValueProtocol

    def steps(self):
        return [
            MRStep(mapper_init=self.start, mapper=self.words, mapper_final=self.end,
                   combiner=self.total, reducer=self.pairs),
            MRStep(reducer=self.most),
        ]

    def start(self):
        self.lines = 0

    def words(self, _, line):
        self.lines += 1
        for word in line.split():
            yield word, 1

    def end(self):
        yield "<lines>", self.lines

    def total(self, word, counts):
        yield word, sum(counts)

    def pairs(self, word, counts):
        yield None, (sum(counts), word)

    def most(self, _, pairs):
        for count, word in sorted(pairs, reverse=True)[:10]:
            yield None, f"{word}: {count}"


class MapThenCount(MRJob):
    """The first step has no reducer."""

    def steps(self):
        return [
            MRStep(mapper=self.lengths),
            MRStep(mapper=self.same, reducer=self.count),
            MRStep(mapper=self.same),
        ]

    def lengths(self, _, line):
        yield len(line) % 7, line

    def same(self, key, value):
        yield key, value

    def count(self, key, values):
        yield key, len(list(values))


class Sorted(MRJob):
    SORT_VALUES = True

    def mapper(self, _, line):
        for word in line.split():
            yield word[0], word

    def reducer(self, letter, words):
        yield letter, list(words)[:5]


class Shell(MRJob):
    def mapper_cmd(self):
        return "cat"


if __name__ == "__main__":
    import sys
    globals()[sys.argv.pop(1)].run()
'''

TEXT = "".join(
    f"{['the', 'cat', 'sat', 'on', 'a', 'mat'][n % 6]} w{n * 7 % 31} \N{SNOWMAN}{n % 3}\n"
    for n in range(2000)
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "jobs.py").write_text(JOBS)
    write_input(tmp_path, TEXT, TEXT[:500])
    return tmp_path


def inline(folder, name):
    """The output lines of mrjob's own runner."""
    answer = subprocess.run(
        [sys.executable, "jobs.py", name, "-r", "inline", "--no-conf", "in/file-0", "in/file-1"],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    return sorted(answer.stdout.splitlines(keepends=True))


SLOW = pytest.mark.slow  # each attempt imports mrjob anew here, having no warm host
MORE = [
    ("MostUsed", 3), ("Sorted", 1), ("Sorted", 3),
    ("MostUsed", 1), ("WordCount", 3), ("MapThenCount", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "reduces"),
    [
        ("WordCount", 1),
        ("MapThenCount", 3),
        *(pytest.param(*case, marks=SLOW) for case in first_of(MORE, 2)),
    ],
)
def test_the_output_is_that_of_mrjobs_own_runner(folder, name, reduces):
    """Byte by byte, but for the order of the part files."""
    job = job_in(folder, reduces=reduces, python=f"jobs.py:{name}", split_bytes=20_000)
    parts = run_job(job, folder)

    assert sorted(b"".join(parts).splitlines(keepends=True)) == inline(folder, name)


def test_steps_become_phases(folder):
    """One map task for each part file of the step before."""
    phases = prepare(job_in(folder, reduces=3, python="jobs.py:MapThenCount")).job.phases

    heard = [(phase.name, phase.tasks, phase.after) for phase in phases]
    assert heard == [
        ("map", 2, ()), ("map-2", 2, (0,)), ("reduce-2", 3, (1,)), ("map-3", 3, (2,)),
    ]  # fmt: skip


def test_steps_that_run_shell_commands_are_refused(folder):
    """Only mrjob knows how to run them."""
    with pytest.raises(InvalidInput, match="step 0 has mapper_cmd"):
        prepare(job_in(folder, python="jobs.py:Shell"))


def test_a_damaged_part_file_between_steps_blames_its_reduce(tmp_path):
    """The name of a part file holds its checksum."""
    write_input(tmp_path, "a b a\n")
    (tmp_path / "jobs.py").write_text(JOBS)
    prepared = prepare(job_in(tmp_path, python="jobs.py:MostUsed"))
    outputs, _ = run_tasks(prepared, tmp_path)
    path = Path(outputs[1, 0][0])
    data = bytearray(path.read_bytes())
    data[data.index(b"2")] ^= 1
    path.write_bytes(data)
    with pytest.raises(WorkFailed, match="checksum") as failure:
        attempt(prepared.work(2, 0, outputs), place_in(tmp_path, "again"))

    assert failure.value.blames == [(1, 0)]


def test_an_mrjob_class_reads_compressed_input(tmp_path):
    (tmp_path / "jobs.py").write_text(JOBS)
    write_input(tmp_path)
    (tmp_path / "in/text.gz").write_bytes(gzip.compress(b"a b\na\n") + gzip.compress(b"c\n"))

    parts = run_job(job_in(tmp_path, python="jobs.py:WordCount", split_bytes=3), tmp_path)

    assert sorted(b"".join(parts).splitlines()) == [b'"a"\t2', b'"b"\t1', b'"c"\t1']
