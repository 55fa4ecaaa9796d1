"""Outputs at URLs: whole, or not there, whatever interrupts the commit."""

import json

import pytest
from tests.engines.work_runs import SPLIT_WORDS, SUM, job_in, run_job, run_tasks, write_input

import sluice
from sluice.engines.data_plane import stores
from sluice.engines.data_plane.stores import StoreFailed, StoreFolder
from sluice.engines.mapreduce.errors import WorkFailed
from sluice.engines.mapreduce.layout import PreparedJob, begin_job, commit_job, prepare
from sluice.engines.mapreduce.store_commit import StoreStaging
from sluice.model.errors import InvalidInput

TEXT = "to be or not to be\n" * 5
SERVED = ("webhdfs", "gcs")
CHANGES = ("write", "copy", "rename", "remove", "put")


@pytest.fixture(
    params=["copies", "renames", *(pytest.param(s, marks=pytest.mark.slow) for s in SERVED)]
)
def base(request, tmp_path, monkeypatch):
    """The URL of an empty folder: of a store that copies, as one of objects, or that renames."""
    if request.param == "gcs":
        request.getfixturevalue("gcs")
        return "gs://box/store"
    if request.param == "webhdfs":
        return f"{request.getfixturevalue('webhdfs').url}/store"
    if request.param == "copies":
        monkeypatch.setattr(StoreFolder, "_make_parent", with_folders)
        monkeypatch.setattr(stores, "RENAMING", ())
    return f"local://{tmp_path}/store"


def with_folders(store, name):
    """A store of objects has no folders; this one has."""
    store._files.makedirs(store._at(name).rpartition("/")[0], exist_ok=True)


def word_count(folder, url):
    write_input(folder, TEXT, TEXT)
    return job_in(
        folder, reduces=2, input=("in",), output=f"{url}/out", mapper=SPLIT_WORDS, reducer=SUM
    )


def parts_in(url):
    store = StoreFolder(url)
    names = sorted(name for name in store.sizes("out") if name.startswith("part-"))
    return [store.read(f"out/{name}") for name in names]


def staged(url, name, contents):
    """A job of the given part files that is all done but for its commit, and its winners."""
    staging = StoreStaging.beside(f"{url}/out", name, "job", replaces=True)
    staging.begin()
    store = StoreFolder(url)
    winners = []
    for task, content in enumerate(contents):
        file = f"{name}-1-{task}-1-e1-{task:08x}.part"
        store.write(f".out.sluice-{name}/attempts/{file}", content)
        winners.append(f"{staging.folder}/attempts/{file}")
    return staging, winners


class Interrupted(OSError):
    pass


def interrupt_at(monkeypatch, number):
    """Raise instead of the change with this number, of all changes to a store."""
    left = [number]

    def broken(change):
        def act(*arguments):
            left[0] -= 1
            if left[0] < 0:
                raise Interrupted(5, "interrupted")
            return change(*arguments)

        return act

    for name in CHANGES:
        monkeypatch.setattr(StoreFolder, name, broken(getattr(StoreFolder, name)))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["s3", "gs", "local", "webhdfs"])
def test_words_are_counted_into_a_store_as_into_a_folder(scheme, request, tmp_path):
    used = {"s3": "bucket", "gs": "gcs", "webhdfs": "webhdfs"}.get(scheme)
    store = used and request.getfixturevalue(used)
    urls = {"s3": "s3://box", "gs": "gs://box", "local": f"local://{tmp_path}"}
    urls |= {"webhdfs": store.url} if scheme == "webhdfs" else {}
    base = f"{urls[scheme]}/store"
    write_input(tmp_path, TEXT, TEXT)
    job = job_in(tmp_path, reduces=2, output="here", mapper=SPLIT_WORDS, reducer=SUM)
    wanted = run_job(job, tmp_path)

    prepared = prepare(word_count(tmp_path, base))
    prepared = PreparedJob.from_json(prepared.job, json.loads(json.dumps(prepared.to_json())))
    outputs, _ = run_tasks(prepared, tmp_path)
    assert StoreFolder(base).sizes("out") == {}
    assert commit_job(prepared, outputs) == f"{base}/out"

    assert parts_in(base) == wanted
    manifest = json.loads(StoreFolder(base).read("out/_SUCCESS"))
    assert [(one["name"], one["bytes"]) for one in manifest["files"]] == [
        (f"part-{task:05}", len(part)) for task, part in enumerate(wanted)
    ]
    assert not [name for name in StoreFolder(base).sizes("") if "sluice-" in name]
    commit_job(prepared, outputs)  # after a crash before it was journaled
    assert parts_in(base) == wanted


@pytest.mark.parametrize("base", ["copies", "renames"], indirect=True)
@pytest.mark.parametrize("has_old", [False, True])
def test_a_commit_that_is_interrupted_anywhere_is_no_output_and_can_be_repeated(
    base, monkeypatch, has_old
):
    old, new = [b"old\n", b"older\n", b"oldest\n"], [b"a\n", b"b\n"]
    number, was_interrupted = 0, True
    while was_interrupted:
        StoreFolder(base).remove_folder("out")
        if has_old:
            first, winners = staged(base, "first", old)
            first.commit(winners, phase=1)
        staging, winners = staged(base, "second", new)
        with monkeypatch.context() as patched:
            interrupt_at(patched, number)
            try:
                staging.commit(winners, phase=1)
                was_interrupted = False
            except Interrupted:
                if StoreFolder(base).read("out/_SUCCESS"):
                    assert parts_in(base) == old
        number += 1
        staging.commit(winners, phase=1)
        assert parts_in(base) == new
    assert number > 2


def test_an_output_that_appeared_meanwhile_is_not_touched(base):
    staging, winners = staged(base, "ours", [b"ours\n"])
    StoreFolder(base).write("out/part-00000", b"theirs\n")

    with pytest.raises(InvalidInput, match="out' exists"):
        staging.commit(winners, phase=1)
    assert parts_in(base) == [b"theirs\n"]


def test_an_output_may_be_a_folder_that_is_empty(base):
    staging, winners = staged(base, "ours", [b"ours\n"])
    StoreFolder(base).write("out/data", b"theirs\n")
    StoreFolder(base).remove_folder("out/data")
    staging.commit(winners, phase=1)

    assert StoreFolder(base).sizes("out").keys() >= {"part-00000", "_SUCCESS"}
    assert parts_in(base) == [b"ours\n"]


def test_part_files_that_are_lost_blame_their_tasks(base):
    staging, winners = staged(base, "ours", [b"a\n", b"b\n"])
    StoreFolder(base).remove_folder(winners[1].removeprefix(f"{base}/"))

    with pytest.raises(WorkFailed) as failed:
        staging.commit(winners, phase=1)
    assert failed.value.blames == [(1, 1)]
    assert StoreFolder(base).read("out/_SUCCESS") is None


def test_an_output_that_exists_is_replaced_only_if_a_job_wrote_it(base, tmp_path):
    job = word_count(tmp_path, base)
    StoreFolder(base).write("out/data", b"mine\n")
    with pytest.raises(InvalidInput, match="out' exists"):
        prepare(job)
    with pytest.raises(InvalidInput, match="has no _SUCCESS"):
        prepare(job, replaces=True)

    StoreFolder(base).write("out/_SUCCESS", b"")
    prepared = prepare(job, replaces=True)
    outputs, _ = run_tasks(prepared, tmp_path)
    assert StoreFolder(base).read("out/data") == b"mine\n"
    commit_job(prepared, outputs)
    assert len(parts_in(base)) == 2
    assert StoreFolder(base).read("out/data") is None


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("http://host/out", "names no folder that can be written"),
        ("s3://bucket", "names no folder that can be written"),
        ("s4://bucket/out", "not a known kind of store"),
    ],
)
def test_an_output_that_cannot_be_written_is_one_message(tmp_path, output, words):
    write_input(tmp_path, TEXT)
    with pytest.raises(InvalidInput, match=words):
        prepare(job_in(tmp_path, output=output, mapper=SPLIT_WORDS, reducer=SUM))


@pytest.mark.slow
def test_a_bucket_that_is_not_there_stops_the_run_before_its_first_attempt(bucket, tmp_path):
    write_input(tmp_path, TEXT)
    job = job_in(tmp_path, output="s3://none/out", mapper=SPLIT_WORDS, reducer=SUM)
    with pytest.raises(OSError, match="s3://none"):
        begin_job(prepare(job))


def test_a_commit_that_failed_is_not_done_and_a_resumed_run_makes_it(tmp_path, monkeypatch):
    url = f"local://{tmp_path}/store"
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    write_input(tmp_path, TEXT)
    (tmp_path / "jobs.yaml").write_text(
        "version: 1\n"
        f"jobs: [{{id: a, run: {{input: [in], output: '{url}/out', mapper: cat, reducer: cat}}}}]\n"
    )
    with monkeypatch.context() as patched:

        def full(*arguments):
            raise StoreFailed("the store is full")

        patched.setattr(StoreFolder, "rename", full)
        failed = sluice.run(tmp_path / "jobs.yaml")
    assert "the store is full" in failed.extra["uncommitted"]["a"]
    assert failed.extra["outputs"] == {}
    assert StoreFolder(url).sizes("out") == {}

    done = sluice.run(tmp_path / "jobs.yaml", resume=True)
    assert done.extra["outputs"] == {"a": f"{url}/out"}
    wanted = parts_in(url)
    assert b"".join(wanted) == TEXT.replace(" \n", "\n").encode()
    with pytest.raises(InvalidInput, match="overwrite"):
        sluice.run(tmp_path / "jobs.yaml")
    sluice.run(tmp_path / "jobs.yaml", overwrite=True)
    assert parts_in(url) == wanted
