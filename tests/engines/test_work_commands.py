"""Commands as mapper, combiner and reducer: the interface of Hadoop Streaming."""

import json
import sys
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.work_runs import (
    SPLIT_WORDS,
    SUM,
    attempt,
    counted,
    job_in,
    place_in,
    run_job,
    run_tasks,
    write_input,
)

from sluice.engines.mapreduce import WorkFailed
from sluice.engines.mapreduce.errors import NodeFault
from sluice.engines.mapreduce.layout import begin_job, prepare
from sluice.engines.mapreduce.process_group import ProcessGroup
from sluice.engines.mapreduce.watch import Watch

TEXT = "".join(
    f"{['the', 'cat', 'sat', 'on', 'the', 'mat'][n % 6]} word{n % 97} {n % 13}\n"
    for n in range(5000)
)


def python_command(code):
    """A command line that is a little Python program."""
    return (sys.executable, "-c", code)


CAT = ("cat",)


@pytest.mark.parametrize("lines", [3, 200_000])
def test_a_full_disk_under_sort_is_a_fault_of_the_machine(tmp_path, lines):
    """With more than one buffer, sort's last line says `write error` and no longer why."""
    (tmp_path / "in").write_text("".join(f"{number}\n" for number in range(lines)))
    watch = Watch({}, tmp_path)
    with (
        (tmp_path / "in").open("rb") as stdin,
        Path("/dev/full").open("wb") as full,
        ProcessGroup(watch) as group,
    ):
        group.start("sort", ["sort"], stdin=stdin, stdout=full, env={"LC_ALL": "C"})
        with pytest.raises(NodeFault, match="No space left on device"):
            group.finish()


@pytest.mark.parametrize("reduces", [1, 2, 5, 12])
@pytest.mark.parametrize("combiner", [None, SUM])
def test_a_word_count_counts_words(tmp_path, reduces, combiner):
    """The golden example, with and without a combiner, for any number of reduces."""
    write_input(tmp_path, TEXT, TEXT[:777])
    job = job_in(
        tmp_path,
        reduces=reduces,
        mapper=SPLIT_WORDS,
        combiner=combiner,
        reducer=SUM,
        split_bytes=20_000,
    )
    parts = run_job(job, tmp_path)

    assert counted(parts) == Counter((TEXT + TEXT[:777]).split())
    assert len(parts) == reduces


def test_each_part_is_sorted_and_has_the_keys_of_its_partition(tmp_path):
    """Keys are cut by crc32 and sorted by their bytes, in C order."""
    write_input(tmp_path, "b\t1\na\t2\nB\t3\n\xe4\t4\nz y\t5\na\t6\n" * 9)
    parts = run_job(job_in(tmp_path, reduces=3, mapper=CAT, reducer=CAT), tmp_path)

    for number, part in enumerate(parts):
        keys = [line.partition(b"\t")[0] for line in part.splitlines()]
        assert keys == sorted(keys)
        assert {crc32(key) % 3 for key in keys} <= {number}
    assert sum(part.count(b"\n") for part in parts) == 54


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.binary(max_size=8).map(lambda line: line.replace(b"\n", b"\t")), max_size=20),
    st.booleans(),
    st.integers(1, 4),
    st.integers(1, 60),
)
def test_any_lines_come_out_as_they_went_in(tmp_path_factory, lines, ended, reduces, split_bytes):
    """With or without TAB, empty, binary, in any split: nothing is added and nothing lost."""
    folder = tmp_path_factory.mktemp("lines")
    write_input(folder, b"\n".join(lines) + (b"\n" if ended else b""))
    job = job_in(folder, reduces=reduces, mapper=CAT, reducer=CAT, split_bytes=split_bytes)
    came = b"".join(run_job(job, folder)).split(b"\n")[:-1]

    went = lines if ended or (lines and lines[-1]) else lines[:-1]
    if ended and not lines:
        went = [b""]
    if not ended and len(lines) > 1 and not lines[-1]:
        went = lines[:-1]
    assert sorted(came) == sorted(went)


def test_values_of_a_key_come_in_the_order_of_the_maps(tmp_path):
    """Sorts are stable and merges go by task, so a run can be repeated."""
    write_input(tmp_path, "k\t9\nk\t1\n", "k\t5\nk\t0\n")
    (part,) = run_job(job_in(tmp_path, mapper=CAT, reducer=CAT), tmp_path)

    assert part == b"k\t9\nk\t1\nk\t5\nk\t0\n"


def test_without_reducer_the_maps_output_is_the_output(tmp_path):
    """A map-only job: unsorted, byte for byte, one part a split."""
    write_input(tmp_path, b"b\r\na", b"", b"\0\xffc\n")
    parts = run_job(job_in(tmp_path, mapper=CAT), tmp_path)

    assert parts == [b"b\r\na", b"\0\xffc\n"]


def test_without_mapper_lines_go_to_the_reducer_as_they_are(tmp_path):
    """As on Hadoop, whose default mapper changes nothing."""
    write_input(tmp_path, "b\t1\na\t2")
    for reduces in (1, 2):
        job = job_in(tmp_path, reduces=reduces, reducer=CAT, output=f"out{reduces}")
        assert sorted(b"".join(run_job(job, tmp_path)).splitlines()) == [b"a\t2", b"b\t1"]


@pytest.mark.parametrize("reduces", [1, 2])
def test_no_data_gives_empty_part_files(tmp_path, reduces):
    """One map still runs, for it may write something of its own."""
    write_input(tmp_path, "", "")
    job = job_in(tmp_path, reduces=reduces, mapper=CAT, combiner=SUM, reducer=SUM)

    assert run_job(job, tmp_path) == [b""] * reduces


def test_a_mapper_may_ignore_its_input(tmp_path):
    """Closing standard input early is no failure if the mapper says so."""
    write_input(tmp_path, "x" * 3_000_000 + "\n")
    for reduces in (1, 3):
        job = job_in(
            tmp_path, reduces=reduces, mapper="printf 'a\\t1\\n'", reducer=CAT,
            output=f"out{reduces}",
        )  # fmt: skip
        assert b"".join(run_job(job, tmp_path)) == b"a\t1\n"


def test_a_combiner_and_a_reducer_may_stop_reading_early(tmp_path):
    """Lines that the combiner left unread must not leak into the next partition."""
    write_input(tmp_path, "".join(f"k{n % 50}\t{'v' * 90}\n" for n in range(30_000)))
    job = job_in(tmp_path, reduces=4, mapper=CAT, combiner="head -n 1", reducer="head -n 1")
    parts = run_job(job, tmp_path)

    for number, part in enumerate(parts):
        assert part.count(b"\n") == 1
        assert crc32(part.partition(b"\t")[0]) % 4 == number


@pytest.mark.parametrize("reduces", [1, 2])
@pytest.mark.parametrize(
    ("part", "heard"), [("mapper", "mapper exited"), ("reducer", "reducer exited")]
)
def test_an_exit_code_fails_the_attempt(tmp_path, reduces, part, heard):
    """Also where all output had been written before."""
    write_input(tmp_path, TEXT)
    failing = {part: python_command("import sys; sys.stdout.write(sys.stdin.read()); sys.exit(3)")}
    job = job_in(tmp_path, reduces=reduces, **{"mapper": CAT, "reducer": CAT, **failing})
    with pytest.raises(WorkFailed, match=f"{heard} with 3"):
        run_tasks(prepare(job), tmp_path)

    assert not list((tmp_path / "scratch").glob("*.tmp"))


def test_a_failing_combiner_fails_the_map(tmp_path):
    """Half-combined data would be wrong data."""
    write_input(tmp_path, TEXT)
    for reduces in (1, 3):
        job = job_in(tmp_path, reduces=reduces, mapper=CAT, combiner="false", reducer=CAT)
        with pytest.raises(WorkFailed, match="combiner exited with 1"):
            run_tasks(prepare(job), tmp_path)


def test_a_mapper_ended_by_a_signal_is_shown_as_such(tmp_path):
    """Out of memory looks like this."""
    write_input(tmp_path, TEXT)
    killed = python_command("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(WorkFailed, match="mapper was ended by SIGKILL"):
        run_tasks(prepare(job_in(tmp_path, mapper=killed, reducer=CAT)), tmp_path)


def test_much_talk_on_stderr_blocks_nothing(tmp_path):
    """User code logs as it likes."""
    write_input(tmp_path, TEXT)
    chatty = python_command(
        "import sys\nfor line in sys.stdin: sys.stderr.write('.' * 80); print(line, end='')"
    )
    parts = run_job(job_in(tmp_path, reduces=2, mapper=chatty, reducer=CAT), tmp_path)

    assert sorted(b"".join(parts).splitlines()) == sorted(TEXT.encode().splitlines())


def test_commands_run_in_the_files_folder_and_know_their_task(tmp_path):
    """Scripts find their data beside the workload file, and who they are in the environment."""
    write_input(tmp_path, "x\n")
    (tmp_path / "beside").write_text("here")
    code = (
        "import os; print(open('beside').read(), *(os.environ[name] for name in"
        " ('SLUICE_JOB', 'SLUICE_TASK', 'mapreduce_map_input_file', 'MINE')), sep='|')"
    )
    job = job_in(tmp_path, mapper=python_command(code), env=(("MINE", "given"),))

    assert run_job(job, tmp_path) == [f"here|word count/1|0|{tmp_path}/in/file-0|given\n".encode()]


@pytest.mark.parametrize("reduces", [0, 1, 3])
def test_an_attempt_that_writes_more_than_its_limit_is_stopped(tmp_path, reduces):
    """A runaway mapper must not fill the disk of everybody."""
    write_input(tmp_path, "x\n")
    reducer = {"reducer": CAT} if reduces else {}
    job = job_in(tmp_path, reduces=max(1, reduces), mapper="yes an-endless-line", **reducer)
    with pytest.raises(WorkFailed, match="wrote more than 20000000 bytes, its limit"):
        run_tasks(prepare(job), tmp_path, limits={"output_bytes": 20_000_000})

    assert not list((tmp_path / "scratch").iterdir())


def test_a_small_output_counts_against_the_limit_too(tmp_path):
    """An output that comes too quickly for a look in between is seen at the end."""
    write_input(tmp_path, TEXT)
    for run in ({}, {"reducer": CAT}):
        job = job_in(tmp_path, mapper=CAT, **run)
        with pytest.raises(WorkFailed, match="wrote more than 1000 bytes"):
            run_tasks(prepare(job), tmp_path, limits={"output_bytes": 1000})


@pytest.mark.parametrize("harm", ["missing", "short", "garbage", "flipped", "flipped index"])
def test_lost_map_outputs_blame_their_maps(tmp_path, harm):
    """The scheduler then runs those maps again; one failure blames all of them."""
    write_input(tmp_path, *("a\t1\nb\t2\n" for _ in range(4)))
    prepared = prepare(job_in(tmp_path, reduces=2, mapper=CAT, reducer=CAT))
    outputs, _ = run_tasks(prepared, tmp_path)
    for task in (1, 3):
        damage(Path(outputs[0, task][0]), harm)
    with pytest.raises(WorkFailed, match="2 map outputs are lost or damaged") as failure:
        attempt_reduces(prepared, outputs, tmp_path)

    assert failure.value.blames == [(0, 1), (0, 3)]


def attempt_reduces(prepared, outputs, folder):
    """Both reduces; a damaged line belongs to one of them."""
    for task in range(2):
        attempt(prepared.work(1, task, outputs), place_in(folder, f"retry-{task}"))


def damage(path, harm):
    """Harm a spill file in one way."""
    data = bytearray(path.read_bytes())
    if harm == "missing":
        path.unlink()
        return
    if harm == "flipped":
        data[data.index(b"a\t1")] ^= 1
    elif harm == "flipped index":
        data[data.index(b"[[") + 2] ^= 1
    path.write_bytes({"short": data[:-3], "garbage": b"garbage" * 9}.get(harm, data))


def test_counters_show_what_was_read_and_written(tmp_path):
    """Profiles are learned from them."""
    write_input(tmp_path, "a b\nc")
    job = job_in(tmp_path, mapper=SPLIT_WORDS, reducer=CAT)
    _, results = run_tasks(prepare(job), tmp_path)

    assert results[0, 0]["counters"] == {
        "input_bytes": 5, "input_records": 2, "output_bytes": 12, "output_records": 3,
        "shuffle_bytes": 0,
    }  # fmt: skip
    assert results[1, 0]["counters"] == {
        "input_bytes": 12, "input_records": 3, "output_bytes": 12, "output_records": 3,
        "shuffle_bytes": 12,
    }  # fmt: skip
    assert results[0, 0]["shuffled_at_s"] is None
    assert results[1, 0]["shuffled_at_s"] >= 0


@pytest.mark.parametrize("name", ["a b", 'it\'s "so"', "new\nline", "-n", "[x]*", "ü\t"])
def test_folders_may_be_called_anything(tmp_path, name):
    """Names never pass through a shell, nor are they taken for options."""
    folder = tmp_path / name
    folder.mkdir()
    write_input(folder, "b\na\nb\n")
    (folder / "in" / name).write_text("c\n")
    job_id = name if name.isprintable() else "plain"
    run = {"mapper": CAT, "combiner": CAT, "reducer": CAT, "output": name}
    job = job_in(folder, reduces=2, job_id=job_id, **run)

    assert sorted(b"".join(run_job(job, folder)).split()) == [b"a", b"b", b"b", b"c"]


def test_an_attempt_of_a_job_that_has_ended_makes_nothing(tmp_path):
    """A zombie finds its staging folder gone, and does not bring it back."""
    write_input(tmp_path, "a\n")
    prepared = prepare(job_in(tmp_path, mapper=CAT))
    begin_job(prepared)
    work = prepared.work(0, 0, {})
    prepared.staging.abort()
    with pytest.raises(WorkFailed, match=r"staging folder .* is gone"):
        attempt(work, place_in(tmp_path, "zombie"))

    assert not prepared.staging.folder.exists()


def test_progress_is_shown_while_bytes_move(tmp_path):
    """An agent takes silence for a stuck attempt."""
    write_input(tmp_path, TEXT)
    slow = python_command(
        "import sys, time\nfor n, line in enumerate(sys.stdin):\n"
        " print(line, end='', flush=True)\n if n % 1000 == 0: time.sleep(0.2)"
    )
    progress = tmp_path / "progress"
    with progress.open("wb") as file:
        prepared = prepare(job_in(tmp_path, mapper=slow))
        run_tasks(prepared, tmp_path, progress_fd=file.fileno())
    lines = progress.read_text().splitlines()

    assert len(lines) >= 2
    fractions = [json.loads(line)["fraction"] for line in lines]
    assert fractions == sorted(fractions)
    assert 0 < fractions[-1] < 1  # the end is reported by the result
