"""Compressed input gives the output of the plain text, and damage fails the job at once."""

import bz2
import gzip
import json
import lzma

import lz4.frame
import pytest
import zstandard
from tests.live.command_line import Place

pytestmark = pytest.mark.slow

TEXTS = [f"to be or not to be {number % 7}\n".encode() * 400 for number in range(6)]
PACK = {
    "plain": (lambda text: text, ""),
    "gzip": (gzip.compress, ".gz"),
    "bzip2": (bz2.compress, ".bz2"),
    "zstd": (zstandard.compress, ".zst"),
    "lz4": (lz4.frame.compress, ".lz4"),
    "xz": (lzma.compress, ".xz"),
}
COUNT = """
def mapper(line):
    for word in line.split():
        yield word, 1

def reducer(word, counts):
    yield word, sum(counts)
"""
COMMANDS = {"mapper": "tr ' ' '\\n'", "reducer": "uniq -c"}
FUNCTIONS = {"python": "count.py"}


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    (tmp_path / "count.py").write_text(COUNT)
    yield place
    place.end()


def write_texts(place, name, forms):
    """The texts in a folder, packed in turn as `forms` name it."""
    folder = place.folder / name
    folder.mkdir()
    for number, text in enumerate(TEXTS):
        pack, suffix = PACK[forms[number % len(forms)]]
        (folder / f"text-{number}{suffix}").write_bytes(pack(text))


def counting(name, run):
    # Splits far smaller than the files: only plain files are cut.
    run = {"input": [name], "output": f"out-{name}", "split_bytes": 1000, **run}
    return {"id": name, "reduces": {"tasks": 2}, "run": run}


@pytest.mark.parametrize("run", [COMMANDS, FUNCTIONS], ids=["commands", "functions"])
def test_a_word_count_is_the_same_whatever_packed_the_text(place, run):
    forms = {name: [name] for name in PACK} | {"mixed": list(PACK)}
    for name, packed_as in forms.items():
        write_texts(place, name, packed_as)
    place.write([counting(name, run) for name in forms])

    code, document = place.document()

    assert code == 0
    plain = place.outputs("out-plain")
    assert sum(map(len, plain.values())) > 0
    assert {name: place.outputs(f"out-{name}") == plain for name in forms} == dict.fromkeys(
        forms, True
    )
    measured = {name: document["measured"][name]["phases"][0] for name in forms}
    assert measured["plain"]["tasks"] > len(TEXTS)
    for name in PACK.keys() - {"plain"}:
        assert measured[name]["tasks"] == len(TEXTS)  # one split a file
        packed_bytes = sum(path.stat().st_size for path in (place.folder / name).iterdir())
        assert measured[name]["input_bytes"] == packed_bytes


def test_a_map_without_reduce_reads_compressed_input_too(place):
    write_texts(place, "gzip", ["gzip"])
    place.write([{"id": "a", "run": {"input": ["gzip"], "output": "out", "mapper": "cat"}}])

    assert place.run()[0] == 0
    assert b"".join(place.outputs("out")[f"part-0000{number}"] for number in range(6)) == b"".join(
        TEXTS
    )


@pytest.mark.parametrize(("run", "damage"), [(COMMANDS, "cut off"), (FUNCTIONS, "no gzip")])
def test_damaged_input_fails_the_job_at_its_first_attempt(place, run, damage):
    whole = gzip.compress(b"".join(TEXTS))
    (place.folder / "in").mkdir()
    (place.folder / "in/text.gz").write_bytes(whole[:-9] if damage == "cut off" else b"text\n")
    place.write([counting("in", run)])

    code, out, err = place.run("--json")
    failure = json.loads(out)["jobs"]["in"]["failure"]

    assert code == 1
    assert (failure["attempt"], failure["attempts"]) == (1, 1)
    assert failure["reason"] == "map task 0 failed"
    where = (
        f"at byte {len(whole) - 9}: the file is cut off" if damage == "cut off" else "near byte 0"
    )
    expected = f"cannot read '{place.folder}/in/text.gz' as gzip: damaged {where}"
    assert failure["message"].startswith(expected)
    assert err.count("cannot read") == 1
    assert place.story("in").count("cannot read") <= 2  # of the attempt and of the job
