"""Which format a log is of, folders of logs, options, and what is said of a wrong one."""

import shutil
from pathlib import Path

import pytest

from sluice.ingest.logs.formats import read_log, read_logs
from sluice.ingest.logs.options import options_of, read_options, settings_in
from sluice.ingest.logs.registry import BUILT_IN, importer_of
from sluice.ingest.logs.replay import ReplayOptions
from sluice.model.errors import InvalidInput

DATA = Path(__file__).resolve().parents[1] / "data" / "logs"
YARN = DATA / "spark" / "application_1516285256255_0012"
FIFTY = next((DATA / "swim").glob("*first50*"))


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_importer_is_what_the_others_expect(name):
    """Named as in the table; every option has a default that it would take itself."""
    importer = importer_of(name)

    assert importer.FORMAT == name
    options = importer.Options()
    for key, setting in settings_in(importer.Options).items():
        assert setting.checked(getattr(options, key)) == getattr(options, key)
        assert setting.meaning


@pytest.mark.parametrize("name", BUILT_IN)
def test_nothing_recognises_a_workload_file_or_an_empty_one(name):
    """Logs are shown from what Sluice itself reads."""
    workload = b"version: 1\ncluster: {map_slots: 2}\njobs: [{id: a, maps: {tasks: 4, avg_s: 3}}]\n"
    for head in (b"", workload, b"{}", b"1 2 3\n", b"<configuration/>"):
        assert not importer_of(name).recognises(Path("jobs.yaml"), head)


def test_an_empty_path_is_refused_and_is_not_the_current_folder():
    for read in (lambda: read_log(""), lambda: list(read_logs([""]))):
        with pytest.raises(InvalidInput, match="the path is empty"):
            read()


def test_a_format_is_shown_by_content_whatever_the_name(tmp_path):
    log = shutil.copy(FIFTY, tmp_path / "job_1_1.jhist")

    assert read_log(log).format == "swim"


def test_a_folder_gives_every_file_in_it(tmp_path):
    """Folders in it are searched, and hidden files are left out. A read-me file is not a log."""
    (tmp_path / "b" / "eventlog_v2_app").mkdir(parents=True)
    shutil.copy(YARN, tmp_path / "b" / "eventlog_v2_app" / "events_1_app")
    shutil.copy(FIFTY, tmp_path / "a.tsv")
    shutil.copy(FIFTY, tmp_path / ".hidden.tsv")
    (tmp_path / "README.md").write_text("logs\n")
    for name in ("d", "c", "e"):
        (tmp_path / name).mkdir()
        shutil.copy(FIFTY, tmp_path / name / "a.tsv")
    logs = list(read_logs([tmp_path]))

    assert [(Path(log.path).relative_to(tmp_path).as_posix(), log.format) for log in logs] == [
        ("README.md", None),
        ("a.tsv", "swim"),
        ("b/eventlog_v2_app", "spark"),
        *((f"{name}/a.tsv", "swim") for name in "cde"),
    ]
    assert [False] + 5 * [True] == [log.is_log for log in logs]
    assert [log.format for log in read_logs([tmp_path], "spark")] == [None, "spark"]


def test_a_broken_log_in_a_folder_stops_no_other(tmp_path):
    """It is shown, without runs; named by itself it is refused."""
    shutil.copy(FIFTY, tmp_path / "good.tsv")
    (tmp_path / "bad").write_text('{"Event":"SparkListenerLogStart"}\n')
    (tmp_path / "worse.snappy").write_bytes(b"\x82SNAPPY\x00\x00\x00")
    bad, good, worse = read_logs([tmp_path])

    assert (bad.format, bad.runs, bad.skipped_count) == ("spark", (), 1)
    assert "no Spark stage" in bad.skipped[0].why
    assert (worse.format, worse.is_log, len(good.runs)) == (None, True, 50)
    with pytest.raises(InvalidInput, match="no Spark stage"):
        read_log(tmp_path / "bad")


@pytest.mark.parametrize(
    ("path", "name", "options", "message"),
    [
        (FIFTY, "swin", {}, "unknown format 'swin'. Did you mean swim?"),
        (FIFTY, "auto", {"blok_bytes": 1}, "blok_bytes.*Did you mean block_bytes?"),
        (FIFTY, "spark", {"block_bytes": 1}, "'block_bytes' is not an option of spark"),
        (FIFTY, "auto", {"block_bytes": 0}, "block_bytes is 0. Give a whole number from 1 up"),
        (FIFTY.parent, "auto", {"block_bytes": "x"}, "block_bytes is 'x'"),
        (DATA / "swim" / "LICENSE", "auto", {}, "unknown format.*jhist, mr1, spark"),
        (DATA / "none", "auto", {}, "it cannot be read: No such file"),
    ],
)  # fmt: skip
def test_a_wrong_word_is_answered_with_the_right_one(path, name, options, message):
    with pytest.raises(InvalidInput, match=message):
        list(read_logs([path], name, options))


def test_a_folder_without_logs_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="no log found in this folder"):
        list(read_logs([tmp_path]))
    for name in "abcde":
        (tmp_path / name).write_text("?")
    with pytest.raises(InvalidInput, match="a, b, c and 2 more have no known format"):
        list(read_logs([tmp_path]))


def test_the_settings_next_to_a_history_are_part_of_it(tmp_path):
    """They are read with it, so they are not a file that nobody recognised."""
    (history,) = (DATA / "jhist").glob("job_1329348432655_0001-*.jhist")
    shutil.copy(history, tmp_path)
    (tmp_path / "job_1329348432655_0001_conf.xml").write_text("<configuration/>")

    assert ["jhist"] == [log.format for log in read_logs([tmp_path])]


def test_options_are_read_as_settings_are():
    """A number is one as in JSON, a word is a word; what has no = is refused."""
    given = read_options(["map_slots=5", "order = data", "least_s=5e-2"], "--set")

    assert options_of(ReplayOptions, given, "x") == ReplayOptions(
        map_slots=5, order="data", least_s=0.05
    )
    with pytest.raises(InvalidInput, match="--set map_slots: no = in it"):
        read_options(["map_slots"], "--set")
