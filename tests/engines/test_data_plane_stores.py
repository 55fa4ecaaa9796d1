"""Inputs at URLs: S3, Google's store, WebHDFS and web servers on this machine."""

import http.server
import os
import socket
import sys
import threading

import pytest
from fsspec.registry import _registry, known_implementations
from tests.engines.work_runs import SPLIT_WORDS, SUM, counted, job_in, run_job, write_input

from sluice.engines.data_plane.stores import Store, is_url
from sluice.engines.mapreduce.layout import prepare
from sluice.engines.mapreduce.splits import blocks
from sluice.model.errors import InvalidInput

LINES = "".join(f"the line {number % 7} of\n" for number in range(500))


def words(folder, *patterns, **more):
    return job_in(folder, input=patterns, mapper=SPLIT_WORDS, reducer=SUM, split_bytes=3000, **more)


@pytest.mark.slow
def test_words_of_a_bucket_are_counted_as_those_of_a_folder(bucket, tmp_path):
    texts = [LINES, LINES[:1234], "a last line"]
    for number, text in enumerate(texts):
        bucket(f"in/file-{number}", text)
    bucket("in/_SUCCESS", "")
    (tmp_path / "here").mkdir()
    write_input(tmp_path / "here", *texts)
    (tmp_path / "there").mkdir()
    wanted = run_job(words(tmp_path / "here", "in"), tmp_path / "here")

    there = run_job(words(tmp_path / "there", "s3://box/in"), tmp_path / "there")
    assert there == wanted
    assert counted(there)["line"] == 500 + LINES[:1234].count("line") + 1


def test_folders_globs_and_files_of_a_bucket_give_the_same_splits(bucket, tmp_path):
    for name in ("in/a.txt", "in/b.txt", "in/.hidden", "in/more/c.txt"):
        bucket(name, LINES)

    def found(pattern):
        return [one.path for one in prepare(words(tmp_path, pattern)).inputs]

    assert found("s3://box/in") == ["s3://box/in/a.txt", "s3://box/in/b.txt"]
    assert found("s3://box/in/*.txt") == ["s3://box/in/a.txt", "s3://box/in/b.txt"]
    assert found("s3://box/in/more/c.txt") == ["s3://box/in/more/c.txt"]
    prepared = prepare(words(tmp_path, "s3://box/in"))
    assert len(prepared.splits) == 2 * -(-len(LINES) // 3000)
    assert b"".join(b for one in prepared.splits for b in blocks(one)).decode() == 2 * LINES


def test_an_object_that_changes_is_found_before_and_while_it_is_read(bucket, tmp_path):
    bucket("in", LINES)
    prepared = prepare(words(tmp_path, "s3://box/in"))
    assert prepared.changes() == []
    bucket("in", LINES.replace("line", "LINE"))  # the same size

    assert [message for message in prepared.changes() if "s3://box/in" in message]
    with pytest.raises(Exception, match="has changed since the run started"):
        list(blocks(prepared.splits[0]))


def test_objects_of_gcs_are_read_by_ranges_and_known_by_their_etags(gcs, tmp_path):
    for name in ("in/a", "in/b", "in/.hidden", "in/more/c"):
        gcs.put(name, LINES.encode())
    prepared = prepare(words(tmp_path, "gs://box/in"))

    assert [one.path for one in prepared.inputs] == ["gs://box/in/a", "gs://box/in/b"]
    assert prepare(words(tmp_path, "gs://box/in/*")).inputs == prepared.inputs
    assert b"".join(b for one in prepared.splits for b in blocks(one)).decode() == 2 * LINES
    assert max(last - first for _, first, last in gcs.ranges) < len(LINES) - 1
    assert prepared.changes() == []
    gcs.put("in/b", LINES.replace("line", "LINE").encode())  # the same size and time
    assert [message for message in prepared.changes() if "gs://box/in/b" in message]
    with pytest.raises(Exception, match="has changed since the run started"):
        list(blocks(prepared.splits[-1]))
    del gcs.objects["in/a"]
    assert [message for message in prepared.changes() if "/a' has changed" in message]
    with pytest.raises(FileNotFoundError):  # a permanent failure of its job
        list(blocks(prepared.splits[0]))


def test_a_folder_of_hdfs_gives_the_words_of_a_folder_here(webhdfs, tmp_path):
    (tmp_path / "here").mkdir()
    for folder in (tmp_path / "here", webhdfs.folder):
        write_input(folder, LINES, LINES[:1234], "a last line")
    wanted = run_job(words(tmp_path / "here", "in"), tmp_path / "here")
    url = webhdfs.url.replace("://", "://ann@")

    there = run_job(words(tmp_path, f"{url}/in"), tmp_path)
    assert there == wanted
    assert webhdfs.users == {"ann"}


def test_urls_of_files_of_hdfs_name_their_server(webhdfs, tmp_path):
    write_input(webhdfs.folder, LINES, LINES)
    (webhdfs.folder / "in" / "_SUCCESS").touch()
    prepared = prepare(words(tmp_path, f"{webhdfs.url}/in"))

    for pattern in ("in/file-*", "in/file-[01]"):
        assert prepare(words(tmp_path, f"{webhdfs.url}/{pattern}")).inputs == prepared.inputs
    assert [one.path for one in prepared.inputs] == [f"{webhdfs.url}/in/file-{n}" for n in (0, 1)]
    assert prepared.changes() == []
    os.utime(webhdfs.folder / "in" / "file-1", (1.0, 1.0))  # the same size
    assert [message for message in prepared.changes() if "file-1" in message]


def test_an_error_of_a_data_node_is_not_read_as_data(webhdfs, tmp_path):
    write_input(webhdfs.folder, LINES)
    (split,) = prepare(words(tmp_path, f"{webhdfs.url}/in")).splits[:1]
    webhdfs.is_broken = True

    with pytest.raises(OSError, match=r"38 of \d+ bytes arrived"):
        list(blocks(split))


@pytest.mark.parametrize(
    ("scheme", "extra"),
    [("s3", "s3"), ("gs", "gcs"), ("hdfs", "hdfs"), ("webhdfs", "hdfs"), ("http", "http")],
)
def test_a_package_that_a_store_needs_is_named_by_its_extra(tmp_path, monkeypatch, scheme, extra):
    module = known_implementations[scheme]["class"].rpartition(".")[0]
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(_registry, scheme, raising=False)

    write_input(tmp_path, LINES)
    jobs = [words(tmp_path, f"{scheme}://h/in")]
    if scheme != "http":  # it is never written
        jobs.append(words(tmp_path, "in", output=f"{scheme}://h/a/out"))

    for job in jobs:
        with pytest.raises(InvalidInput) as refused:
            prepare(job)
        assert f"{scheme}:// needs a package that is not installed" in str(refused.value)
        assert f'Run: pip install "sluice[{extra}]"' in str(refused.value)


def refusal(tmp_path, url):
    with pytest.raises(InvalidInput) as refused:
        prepare(words(tmp_path, url))
    return str(refused.value)


def test_what_is_not_there_or_not_known_is_one_message(bucket, tmp_path):
    assert "'s3://box/none' is not there" in refusal(tmp_path, "s3://box/none")
    assert "'s3://box/*.none' matches no file" in refusal(tmp_path, "s3://box/*.none")
    assert "'s3://other/x' is not there" in refusal(tmp_path, "s3://other/x")
    assert "s4:// is not a known kind of store" in refusal(tmp_path, "s4://b/x")
    assert "needs a package that is not installed" in refusal(tmp_path, "abfs://b/x")


def test_missing_credentials_are_one_message(bucket, tmp_path, monkeypatch):
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{name}")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))

    message = refusal(tmp_path, "s3://box/in")
    assert "no credentials were found" in message
    assert "AWS_ACCESS_KEY_ID" in message


def test_a_web_server_without_ranges_is_refused(tmp_path):
    class Plain(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(tmp_path))

        def log_message(self, *args):
            """Requests are not logged."""

    (tmp_path / "lines").write_text(LINES)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Plain) as web:
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        try:
            message = refusal(tmp_path, f"http://127.0.0.1:{web.server_address[1]}/lines")
        finally:
            web.shutdown()
            thread.join()
    assert "does not serve parts of it" in message


def test_a_server_that_cannot_be_reached_is_one_message(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    message = refusal(tmp_path, f"http://127.0.0.1:{port}/lines")

    assert "cannot be reached" in message
    assert "\n" not in message


def test_a_file_url_is_a_plain_path(tmp_path):
    write_input(tmp_path, LINES)
    (version,) = prepare(words(tmp_path, f"file://{tmp_path}/in/file-0")).inputs
    assert version.path == str(tmp_path / "in" / "file-0")


def test_a_file_of_this_machine_is_read_as_a_store_reads_it(tmp_path):
    (tmp_path / "a").write_text(LINES)
    store = Store(f"file://{tmp_path}/a")

    assert store.read_range(4, 8) == b"line"
    assert store.read_range(len(LINES) - 2, len(LINES) + 9) == b"f\n"
    assert store.version().st_size == len(LINES)
    assert not is_url(str(tmp_path))
