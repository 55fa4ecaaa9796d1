"""Python functions as mapper, combiner and reducer."""

import os
import re
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.work_runs import (
    attempt,
    counted,
    job_in,
    place_in,
    run_job,
    run_tasks,
    write_input,
)

from sluice.engines.mapreduce import WorkFailed, grouping, preload
from sluice.engines.mapreduce.layout import begin_job, prepare

WORDS = '''
class NoCombiner:
    def mapper(self, line):
        for word in line.split():
            yield word, 1

    def reducer(self, key, values):
        yield key, sum(values)


class WordCount(NoCombiner):
    def combiner(self, key, values):
        yield key, sum(values)


class Lists:
    """Values that are lists; a combiner that makes nothing smaller."""

    def mapper(self, line):
        return [((line, len(line)), [line]) for _ in range(2)]

    def combiner(self, key, values):
        for value in values:
            yield key, value

    def reducer(self, key, values):
        yield key, sorted(map(tuple, values))


class Types:
    def mapper(self, line):
        yield from ((1, "int"), (1.0, "float"), (True, "bool"), ("1", "str"))
        print("talk")

    def reducer(self, key, values):
        yield None, f"{type(key).__name__} {sorted(set(values))}"


class Other:
    """A combiner that changes the key."""

    def mapper(self, line):
        yield line, 1
        yield line, 1

    def combiner(self, key, values):
        yield "all", sum(values)

    reducer = combiner


def upper(line):
    yield None, line.upper()


def mapper(line):
    if line == "nothing":
        return None
    return [(line, repr(line))]


def reducer(key, values):
    for value in values:
        yield None, value


class Broken:
    def mapper(self, line):
        raise KeyError("my own mistake")


class Exits:
    def mapper(self, line):
        raise SystemExit(0)


class Sets(NoCombiner):
    def mapper(self, line):
        yield line, {1}
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "words.py").write_text(WORDS)
    return tmp_path


TEXT = "".join(f"the word{n % 97} häufig\N{SNOWMAN} {n % 13} the\n" for n in range(3000))


@pytest.mark.parametrize("name", ["NoCombiner", "WordCount"])
@pytest.mark.parametrize("reduces", [1, 4])
def test_a_word_count_counts_words(folder, name, reduces):
    """The golden example in Python: with a combiner the same as without."""
    write_input(folder, TEXT, "")
    job = job_in(folder, reduces=reduces, python=f"words.py:{name}", split_bytes=30_000)
    parts = run_job(job, folder)

    assert counted(parts) == Counter(TEXT.split())
    for part in parts:
        keys = [line.partition(b"\t")[0] for line in part.splitlines()]
        assert keys == sorted(keys)


@pytest.mark.parametrize("name", ["NoCombiner", "WordCount", "Lists"])
def test_what_outgrows_memory_goes_through_runs_on_disk(folder, monkeypatch, name):
    """Tiny limits: combine at every turn, write many runs, merge them."""
    write_input(folder, TEXT)
    whole = run_job(job_in(folder, reduces=3, python=f"words.py:{name}"), folder)
    monkeypatch.setattr(grouping, "TAKEN", 300)
    monkeypatch.setattr(grouping, "LONG", 1)
    monkeypatch.setattr(grouping, "COMBINE_BYTES", 2000)
    monkeypatch.setattr(grouping, "SPILL_BYTES", 9000)
    monkeypatch.setattr(grouping, "VALUES_PER_LINE", 3)
    job = job_in(folder, reduces=3, python=f"words.py:{name}", output="again")

    assert run_job(job, folder) == whole


def test_keys_that_python_holds_equal_stay_apart_by_type(folder):
    """1, 1.0 and True are one key to a dictionary, but not to the user."""
    write_input(folder, "x\ny\n")
    (part,) = run_job(job_in(folder, python="words.py:Types"), folder)

    assert sorted(part.splitlines()) == [
        b"bool ['bool']", b"float ['float']", b"int ['int']", b"str ['str']",
    ]  # fmt: skip


def test_a_combiner_may_change_the_key(folder):
    """The new key goes to the reduce that it belongs to."""
    write_input(folder, "a\nb\n", "c\n")
    parts = run_job(job_in(folder, reduces=3, python="words.py:Other"), folder)

    assert counted(parts) == {"all": 6}


def test_a_function_alone_is_a_mapper(folder):
    """A map-only job in one line; None as key writes the value alone."""
    write_input(folder, "a\nb", "")

    assert run_job(job_in(folder, python="words.py:upper"), folder) == [b"A\nB\n"]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"")), max_size=9))
def test_lines_come_without_their_ends_whatever_their_bytes(tmp_path_factory, lines):
    """Bytes that are no UTF-8 come as surrogate escapes; CRLF is a line end too."""
    folder = tmp_path_factory.mktemp("lines")
    (folder / "words.py").write_text(WORDS)
    write_input(folder, b"".join(line + b"\n" for line in lines))
    job = job_in(folder, reduces=2, python="words.py", split_bytes=7)
    came = b"".join(run_job(job, folder)).splitlines()

    heard = [line.removesuffix(b"\r").decode("utf-8", "surrogateescape") for line in lines]
    assert sorted(came) == sorted(
        repr(line).encode("utf-8", "surrogateescape") for line in heard if line != "nothing"
    )


def test_an_error_of_the_users_names_its_place(folder, capfd):
    """The message has file and line; the traceback, without our frames, is on stderr."""
    write_input(folder, "x\n")
    with pytest.raises(WorkFailed, match=r"map raised KeyError: 'my own mistake' \(words.py:\d+\)"):
        run_tasks(prepare(job_in(folder, python="words.py:Broken")), folder)

    said = capfd.readouterr().err
    assert 'raise KeyError("my own mistake")' in said
    assert "engines/work" not in said


@pytest.mark.parametrize(
    ("name", "heard"), [("Exits", "SystemExit"), ("Sets", "type set cannot go from map to reduce")]
)
def test_other_ways_of_failing_are_failures(folder, name, heard):
    """Not even an exit with 0 in the middle of the data is success."""
    write_input(folder, "x\n")
    with pytest.raises(WorkFailed, match=heard):
        run_tasks(prepare(job_in(folder, python=f"words.py:{name}")), folder)


def test_the_limit_on_output_holds_for_python_too(folder):
    """The limit is the same for commands and functions."""
    write_input(folder, TEXT)
    for name in ("WordCount", "upper"):
        job = job_in(folder, python=f"words.py:{name}")
        with pytest.raises(WorkFailed, match="wrote more than 100 bytes"):
            run_tasks(prepare(job), folder, limits={"output_bytes": 100})


def test_a_full_disk_is_shown_plainly(folder):
    """Nobody should have to guess from a traceback."""
    write_input(folder, TEXT)
    prepared = prepare(job_in(folder, python="words.py:upper"))
    begin_job(prepared)
    (prepared.staging.attempts / "x.writing").symlink_to("/dev/full")
    heard = f"the disk is full: No space left on device, in {str(prepared.staging.attempts)!r}"
    with pytest.raises(WorkFailed, match=re.escape(heard)):
        attempt(prepared.work(0, 0, {}), place_in(folder, "x"))


def test_of_several_disks_the_full_one_is_named(folder, monkeypatch):
    """The user's function may have written somewhere else than the part file is."""
    write_input(folder, TEXT)
    prepared = prepare(job_in(folder, python="words.py:upper"))
    begin_job(prepared)
    (prepared.staging.attempts / "x.writing").symlink_to("/dev/full")
    place = place_in(folder, "x")
    scratch = str(Path(place["scratch"]).absolute())
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: SimpleNamespace(free=0 if str(path) == scratch else 1e9)
    )
    with pytest.raises(WorkFailed, match=re.escape(f"No space left on device, in {scratch!r}")):
        attempt(prepared.work(0, 0, {}), place)


def test_a_host_that_has_loaded_the_code_does_not_load_it_again(folder, monkeypatch):
    """`preload` makes an attempt only a fork; it is in a child here, as it enters the folder."""
    write_input(folder, "x\n")
    (folder / "once.py").write_text("print(open('loads', 'a').write('1'))\n" + WORDS)
    prepared = prepare(job_in(folder, python="once.py:upper", env=(("A", "B"),)))
    begin_job(prepared)
    (folder / "loads").unlink()
    work = prepared.work(0, 0, {})
    child = os.fork()
    if not child:
        preload(work)
        for number in range(3):
            attempt(work, place_in(folder, f"a{number}"))
        os._exit(0)
    os.waitpid(child, 0)  # and not whatever child has ended

    assert (folder / "loads").read_text() == "1"
    assert len(list(prepared.staging.attempts.iterdir())) == 3
