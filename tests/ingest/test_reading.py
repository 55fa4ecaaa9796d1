"""Where a workload comes from does not depend on how the user names its file."""

import os

import pytest
from tests.cli.terminal import sluice

from sluice.api.sources import load_workload, parse_workload
from sluice.ingest.reading import read_text, source_folder
from sluice.model.errors import InvalidInput

TEXT = """\
version: 1
cluster: {map_slots: 2, reduce_slots: 1, map_slots_per_vm: 2, reduce_slots_per_vm: 1}
prices: {vm_hour_usd: 1}
jobs:
  - id: words
    maps: {tasks: 2, avg_s: 1}
    reduces: {tasks: 1, avg_s: 1}
    run: {input: [in/*], output: out/words, python: words.py}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """`real/jobs.yaml`, a link to it and one to its folder in `other`."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    for name in ("real", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "real" / "jobs.yaml").write_text(TEXT)
    (tmp_path / "real" / "words.py").write_text(
        "def mapper(line): ...\ndef reducer(key, values): ...\n"
    )
    (tmp_path / "real" / "in").mkdir()
    (tmp_path / "real" / "in" / "text").write_text("a\n")
    (tmp_path / "other" / "jobs.yaml").symlink_to("../real/jobs.yaml")
    (tmp_path / "other" / "linked").symlink_to("../real")
    return tmp_path


@pytest.mark.parametrize(
    ("cwd", "source"),
    [
        ("real", "jobs.yaml"),
        ("real", "./jobs.yaml"),
        ("real", "../other/../real/jobs.yaml"),
        (".", "real/jobs.yaml"),
        ("other", "jobs.yaml"),
        ("other", "linked/jobs.yaml"),
        ("other/linked", "jobs.yaml"),
        ("other", "{place}/other/linked/jobs.yaml"),
    ],
)
def test_a_file_is_its_real_path(place, monkeypatch, cwd, source):
    monkeypatch.chdir(place / cwd)
    source = source.format(place=place)
    text = read_text(source)

    assert (text.file, text.folder) == (str(place / "real/jobs.yaml"), str(place / "real"))
    assert text.name == source, "messages call it as the user does"
    assert text.content == TEXT.encode()
    workload = load_workload(source)
    assert (workload.folder, workload.jobs[0].run.folder) == (text.folder, text.folder)


def test_a_stream_starts_in_the_working_directory(place, monkeypatch):
    """A pipe has a path, but that leads nowhere a second time."""
    monkeypatch.chdir(place / "other" / "linked")
    read, write = os.pipe()
    os.write(write, TEXT.encode())
    os.close(write)
    text = read_text(f"/dev/fd/{read}")
    os.close(read)

    assert (text.file, text.folder) == ("-", str(place / "real"))
    assert source_folder("-") == str(place / "real")


def test_a_deleted_file_that_is_still_open_is_a_stream(place, monkeypatch):
    """A shell keeps a here-document so."""
    monkeypatch.chdir(place / "real")
    (place / "gone").write_text(TEXT)
    with (place / "gone").open() as file:
        (place / "gone").unlink()
        text = read_text(f"/dev/fd/{file.fileno()}")

    assert (text.file, text.folder) == ("-", str(place / "real"))


def test_a_file_that_cannot_be_read_is_bad_input(place):
    (place / "loop").symlink_to("loop")
    for path in (place / "none", place / "loop", place / "real"):
        with pytest.raises(InvalidInput, match=path.name):
            read_text(str(path))


# --- files that are written -----------------------------------------------------------------------


def paths_meant(path):
    """Input, output and Python file of the job, as absolute real paths."""
    workload = load_workload(str(path))
    run = workload.jobs[0].run
    said = (*run.input, run.output, run.python)
    return [os.path.realpath(os.path.join(workload.folder, one)) for one in said]  # noqa: PTH118  # texts


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("source", ["jobs.yaml", "linked/jobs.yaml", "../real/jobs.yaml", "-"])
@pytest.mark.parametrize("out", ["new.yaml", "../new.yaml", "linked/new.yaml", "outside.yaml"])
@pytest.mark.parametrize(
    "words", [["order", "--method", "input"], ["validate"], ["plan", "--choose", "1"]], ids=" ".join
)
def test_a_workload_that_is_written_means_the_same_files(place, monkeypatch, source, out, words):
    """`outside.yaml` is a symlink to a file elsewhere; paths in it start there."""
    (place / "far" / "off").mkdir(parents=True)
    (place / "other" / "outside.yaml").symlink_to("../far/off/jobs.yaml")
    monkeypatch.chdir(place / "other")
    meant = paths_meant("jobs.yaml")
    if source == "-":
        monkeypatch.chdir(place / "real")
        out = f"../other/{out}"
    stdin = TEXT.encode() if source == "-" else b""
    answer = sluice(words[0], source, *words[1:], "--out", out, stdin=stdin)

    assert answer.code == 0, answer.err
    assert paths_meant(out) == meant


def test_a_workload_from_text_starts_where_it_is_shown():
    assert parse_workload(TEXT, folder="/data").jobs[0].run.folder == "/data"
