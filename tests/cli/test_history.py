"""History on the command line: logs in, profiles out, and lengths of jobs out of them."""

import csv
import importlib
import json
from pathlib import Path

import pytest
from tests.cli.terminal import result_of, sluice, sluice_process
from tests.skips import required
from tests.store.histories import past_run, phase_of

import sluice as package
from sluice.model.errors import InvalidInput
from sluice.reporting.history import result
from sluice.store.profiles import Profiles, reading
from sluice.store.profiles.rows import stored_summary

RUN = """\
version: 1
cluster: {map_slots: 2, reduce_slots: 1}
jobs:
  - id: words
    reduces: {tasks: 1}
    run: {input: [in.txt], output: out, mapper: cat, reducer: uniq -c, split_bytes: 16}
"""
ASKING = """\
version: 1
cluster: {map_slots: 4, reduce_slots: 2}
jobs: [{id: a, profile: words}, {id: b, profile: sort, submitted_at_s: 1}]
"""


@pytest.fixture
def trace(small):
    """A log of what the small workload would do."""
    assert 0 == sluice("simulate", small, "--trace", "log.jsonl").code
    return "log.jsonl"


@pytest.fixture
def imported(trace):
    assert 0 == sluice("import", trace).code


def document(*words, code=0):
    answer = sluice(*words, "--json")
    assert (code, 1) == (answer.code, answer.out.count("\n")), answer
    return json.loads(answer.out, parse_constant=pytest.fail)


# --- import ---------------------------------------------------------------------------------------


def test_import_shows_what_the_contract_says_and_more(trace, home):
    heard = document("import", trace)
    (file,) = heard["files"]

    assert {
        "path": trace, "format": "sluice", "jobs": 2, "tasks": 16, "input_bytes": 0,
        "shuffle_bytes": 0, "output_bytes": 0, "skipped": [],
    }.items() <= file.items()  # fmt: skip
    assert (2, 0, 0) == (file["new"], file["replaced"], file["known"])
    assert str(home / "profiles.db") == heard["store"]


def test_the_same_log_twice_is_one(trace):
    document("import", trace)
    (file,) = document("import", trace, trace)["files"]

    assert (0, 0, 2) == (file["new"], file["replaced"], file["known"])
    assert [1, 1] == [len(each["runs"]) for each in document("profiles")["profiles"].values()]


def test_what_was_skipped_is_shown_with_its_line(trace, tmp_path):
    log = tmp_path / trace
    log.write_text(log.read_text() + "{broken\n")
    (file,) = document("import", trace)["files"]
    (skipped,) = file["skipped"]

    assert (17, 1) == (skipped["line"], file["skipped_count"])
    answer = sluice("import", trace)
    assert "log.jsonl: 1 skipped\n  line 17: " in answer.out


def test_people_get_a_table_with_what_was_chosen_below(trace):
    answer = sluice("import", trace)

    assert "log        format  jobs  tasks  input  new  longer  known" in answer.out
    assert "log.jsonl  sluice     2     16      –    2       0      0" in answer.out
    assert "The trace has no submissions" in answer.out
    assert "Next: sluice profiles" in answer.err


def test_sizes_without_lengths_are_counted_and_make_no_profile(tmp_path, monkeypatch):
    """A job without measured lengths is no history, and predictions must not be held against it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swim.tsv").write_text("job0\t0\t0\t100\t30\t7\njob1\t5\t5\t1000\t0\t70\n")
    (file,) = document("import", "swim.tsv")["files"]

    assert ("swim", 2, 0, 1100, 30, 77) == tuple(
        file[name]
        for name in ("format", "jobs", "tasks", "input_bytes", "shuffle_bytes", "output_bytes")
    )
    assert 0 == file["new"]
    assert any("there are no profiles" in note for note in file["notes"])
    assert {} == document("profiles")["profiles"]


def test_jobs_that_did_not_end_are_counted(home, tmp_path):
    log = "tests/data/logs/spark/local-1430917381534"
    whole = Path(log).read_bytes()
    (tmp_path / "app.inprogress").write_bytes(whole[: len(whole) * 9 // 10])
    answer = sluice("import", tmp_path / "app.inprogress")

    assert (answer.code, "1 job failed or did not end" in answer.out) == (0, True), answer
    assert "did not end" not in sluice("import", log).out


@pytest.mark.parametrize(
    ("words", "heard"),
    [
        (["none.log"], "none.log: it cannot be read"),
        (["small.yaml"], "small.yaml: unknown format"),
        (["small.yaml", "--format", "sprak"], "unknown format 'sprak'. Did you mean spark"),
        (["log.jsonl", "--set", "blok_bytes=1"], "did you mean block_bytes?"),
        (["log.jsonl", "--set", "block_bytes"], "write it as key=value"),
        (["log.jsonl", "--store", "mysql://ann:pw@host/db"], "'mysql' is not a kind of database"),
        ([], "PATH"),
    ],
)
def test_what_cannot_be_imported_is_one_message(trace, words, heard):
    answer = sluice("import", *words, "--json")

    assert (2, "", 1) == (answer.code, answer.out, answer.err.count("\n"))
    assert heard.lower() in answer.err.lower()
    assert "pw" not in answer.err


def test_of_several_logs_those_that_can_be_used_are(trace, small):
    """One broken file in a folder of thousands is no reason to begin anew."""
    files = document("import", small, trace, "none.log", code=1)["files"]

    assert [(0, 1), (2, 0), (0, 1)] == [(file["jobs"], file["skipped_count"]) for file in files]
    assert ["sort", "words"] == list(document("profiles")["profiles"])


def test_a_folder_import_names_the_files_that_are_not_logs(trace, tmp_path):
    """They do not change the exit code: people keep notes next to logs."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "log.jsonl").write_text((tmp_path / trace).read_text())
    (tmp_path / "logs" / "NOTES.txt").write_text("of last week\n")
    heard = document("import", "logs")
    answer = sluice("import", "./logs")

    assert [("logs/NOTES.txt", None), ("logs/log.jsonl", "sluice")] == [
        (file["path"], file["format"]) for file in heard["files"]
    ]
    assert 0 == answer.code
    assert "NOTES.txt  –" in answer.out
    assert "not recognised as a log: NOTES.txt" in answer.out


def test_a_named_file_that_is_not_a_log_is_a_no(trace, tmp_path):
    (tmp_path / "NOTES.txt").write_text("of last week\n")
    files = document("import", trace, "NOTES.txt", code=1)["files"]

    assert ["sluice", None] == [file["format"] for file in files]


def test_a_run_that_no_store_could_hold_is_skipped_and_the_others_are_kept(trace, monkeypatch):
    monkeypatch.setattr("sluice.store.profiles.rows.KEY_LENGTH_MAX", 4)
    monkeypatch.setattr("sluice.ingest.logs.trace.FORMAT", "sl")
    (file,) = document("import", trace)["files"]

    assert (2, 0) == (file["skipped_count"], file["new"])
    assert "run_id has" in file["skipped"][0]["why"]


def test_a_folder_is_walked(trace, tmp_path):
    (tmp_path / "logs" / "old").mkdir(parents=True)
    (tmp_path / trace).rename(tmp_path / "logs" / "old" / "a.jsonl")
    (tmp_path / "logs" / "README").write_text("no log")

    files = document("import", "logs")["files"]

    assert ["logs/README", "logs/old/a.jsonl"] == [file["path"] for file in files]


# --- profiles -------------------------------------------------------------------------------------


def test_profiles_shows_what_the_contract_says_and_more(imported):
    heard = document("profiles")["profiles"]
    (run,) = heard["words"]["runs"]
    maps, reduces = run["phases"]

    assert ["sort", "words"] == list(heard)
    assert "sluice" == run["source"]
    assert {"name": "map", "tasks": 8, "failed": 0, "avg_s": 10.0, "max_s": 10.0,
            "input_bytes": 0, "output_bytes": 0, "shuffle_read_bytes": 0,
            "shuffle_write_bytes": 0}.items() <= maps.items()  # fmt: skip
    assert (2, 5.0) == (reduces["tasks"], reduces["lengths"]["quantiles_s"]["50"])


def test_one_profile_is_shown_alone(imported):
    assert ["words"] == list(document("profiles", "words")["profiles"])
    answer = sluice("profiles", "words")
    assert "map         8   10s      10s" in answer.out
    assert "reduce      2    5s       5s" in answer.out


def test_an_empty_store_is_no_error(home):
    assert {} == document("profiles")["profiles"]
    answer = sluice("profiles")
    assert (0, "") == (answer.code, answer.out)
    assert "The profile store is empty" in answer.err


@pytest.mark.parametrize(
    ("words", "heard"),
    [
        (["wrods"], "there is no profile 'wrods'. Did you mean words?"),
        (["--store", "typo.db"], "typo.db: there is no such store"),
        (["--export", "table.txt"], "End the name in .csv or .parquet."),
        (["--export", "none/table.csv"], "there is no folder none"),
        (["--keep-runs", "-1"], "--keep-runs: '-1' is not a whole number"),
        (["--forget"], "--forget: NAME is missing"),
        (["--forget-run", "x"], "--forget-run: NAME is missing"),
        (["words", "--forget-run", "x"], "profile 'words' has no run 'x'"),
        (
            ["words", "--forget", "--keep-runs", "1"],
            "--forget: it is given together with --keep-runs",
        ),
        (["wrods", "--forget"], "there is no profile 'wrods'"),
    ],
)
def test_what_cannot_be_shown_or_forgotten_is_one_message(imported, words, heard):
    answer = sluice("profiles", *words, "--json")

    assert (2, "", 1) == (answer.code, answer.out, answer.err.count("\n"))
    assert heard in answer.err
    assert ["sort", "words"] == list(document("profiles")["profiles"])


def test_profiles_are_exported_as_csv(imported, tmp_path):
    answer = sluice("profiles", "--export", "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))

    assert "export: out.csv" in answer.err
    heard = [(row["profile"], row["phase"], row["tasks"]) for row in rows]
    assert [
        ("sort", "map", "4"), ("sort", "reduce", "2"), ("words", "map", "8"),
        ("words", "reduce", "2"),
    ] == heard  # fmt: skip
    assert {"10.0"} == {row["p95_s"] for row in rows if row["phase"] == "map"}


def test_names_in_an_export_are_no_formulas_of_a_spreadsheet(imported, tmp_path):
    name = '=HYPERLINK("http://example.org","open")'
    with Profiles.open() as profiles:
        profiles.add([past_run("@run", profile=name)])

    assert 0 == sluice("profiles", name, "--export", "out.csv").code

    (row,) = csv.DictReader((tmp_path / "out.csv").read_text().splitlines())
    assert (f"'{name}", "'@run") == (row["profile"], row["run_id"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_export_is_written_a_few_rows_at_a_time(imported, monkeypatch, ending):
    if ending == "parquet":
        required("pyarrow")
    sluice("profiles", "--newest", "1000", "--export", f"read-first.{ending}")
    monkeypatch.setattr(reading, "RUNS_AT_ONCE", 1)
    monkeypatch.setattr(result, "_ROWS_AT_ONCE", 1)

    assert 0 == sluice("profiles", "--export", f"streamed.{ending}").code
    assert _table(f"read-first.{ending}") == _table(f"streamed.{ending}")
    package.export_profiles(f"words.{ending}", "words")
    assert _table(f"words.{ending}") == [
        row for row in _table(f"streamed.{ending}") if row["profile"] == "words"
    ]


def test_an_export_says_how_far_it_is(imported, tmp_path):
    """The command shows the share and the time left, as the other commands that take long."""
    shares: list[float] = []
    package.export_profiles(tmp_path / "words.csv", "words", on_fraction=shares.append)
    package.export_profiles(tmp_path / "all.csv", on_fraction=shares.append)

    assert 1.0 == shares[-1]
    assert shares.count(1.0) == 2
    assert all(0 < share <= 1 for share in shares)


def _table(path):
    if path.endswith(".csv"):
        return list(csv.DictReader(Path(path).read_text().splitlines()))
    return importlib.import_module("pyarrow.parquet").read_table(path).to_pylist()


def test_profiles_are_exported_as_parquet_with_a_type_for_every_column(imported, tmp_path):
    pandas = required("pandas")
    required("pyarrow")
    assert 0 == sluice("profiles", "words", "--export", "out.parquet").code
    frame = pandas.read_parquet(tmp_path / "out.parquet")

    assert list(frame.columns) == list(package.profiles().to_frame().columns)
    assert ["map", "reduce"] == list(frame["phase"])
    assert "int64" == frame["tasks"].dtype
    assert "float64" == frame["cpu_s"].dtype, "also where all of it is unknown"


def test_a_run_in_which_nothing_ended_well_has_a_row_too(home):
    with Profiles.open() as profiles:
        profiles.add([package_run := past_run("r", succeeded=False)])
        profiles.add([_without_phases(package_run)])
    heard = package.profiles()

    assert [None] == [row.cells()["phase"] for row in heard.rows() if row.phase is None]
    assert "no task succeeded" in sluice("profiles", "failing").out


def _without_phases(run):
    from dataclasses import replace

    return replace(run, run_id="r2", profile="failing", phases=())


# --- forget ---------------------------------------------------------------------------------------


@pytest.fixture
def several(home):
    runs = [past_run(f"r{n}", phase_of(1.0 + n), submitted_at_s=float(n)) for n in range(3)]
    with Profiles.open() as profiles:
        profiles.add([*runs, past_run("other", profile="sort")])


def left():
    heard = document("profiles")["profiles"]
    return {name: [run["id"] for run in each["runs"]] for name, each in heard.items()}


def test_only_the_newest_runs_are_read_unless_a_table_of_all_is_written(
    several, monkeypatch, tmp_path
):
    monkeypatch.setattr("sluice.api.profiles.RUNS_READ", 2)
    heard = document("profiles", "words")["profiles"]["words"]
    assert (["r1", "r2"], 3) == ([run["id"] for run in heard["runs"]], heard["runs_total"])

    table = tmp_path / "words.csv"
    sluice("profiles", "words", "--export", table)
    with table.open(encoding="utf-8", newline="") as stream:
        assert {"r0", "r1", "r2"} == {row["run_id"] for row in csv.DictReader(stream)}


@pytest.fixture
def runs_read(several, monkeypatch):
    """The rows of runs that were read from a store with several."""
    read = []

    def noted(*row):
        read.append(row)
        return stored_summary(*row)

    monkeypatch.setattr("sluice.store.profiles.repository.stored_summary", noted)
    return read


def test_the_table_of_a_profile_reads_the_runs_that_it_shows_without_their_tasks(
    runs_read, monkeypatch
):
    monkeypatch.setattr("sluice.reporting.history.tables.ROWS_MAX", 2)
    shown = sluice("profiles", "words").out

    assert 2 == len(runs_read)
    assert "and 1 more" in shown


def test_of_very_many_profiles_only_those_that_are_shown_are_read(runs_read, monkeypatch):
    """With 100,000 profiles, `profiles` took 12 s of CPU and 1.1 GB for a table of 50 rows."""
    monkeypatch.setattr("sluice.reporting.history.tables.ROWS_MAX", 1)
    monkeypatch.setattr("sluice.api.profiles.RUNS_READ", 1)
    shown = sluice("profiles").out
    assert 1 == len(runs_read)
    assert "sort" in shown
    assert "and 1 more" in shown

    heard = document("profiles")["profiles"]
    assert {"sort": (1, 1), "words": (3, 0)} == {
        name: (one["runs_total"], len(one["runs"])) for name, one in heard.items()
    }
    every = document("profiles", "--newest", "9")["profiles"]
    assert {"sort": 1, "words": 3} == {name: len(one["runs"]) for name, one in every.items()}


def test_a_profile_is_forgotten_and_shown(several):
    heard = document("profiles", "sort", "--forget")

    assert {"profiles": {}, "forgotten": [{"profile": "sort", "source": "sluice", "id": "other"}],
            "store": heard["store"]} == result_of(heard)  # fmt: skip
    assert {"words": ["r0", "r1", "r2"]} == left()


def test_all_but_the_newest_are_forgotten(several):
    answer = sluice("profiles", "--keep-runs", "1")

    assert "forgotten: 2 runs of words" in answer.err
    assert {"sort": ["other"], "words": ["r2"]} == left()


def test_runs_are_forgotten_by_name(several):
    assert 0 == sluice("profiles", "words", "--forget-run", "r0", "--forget-run", "r2").code
    assert {"sort": ["other"], "words": ["r1"]} == left()


def test_nothing_is_old_enough_to_be_forgotten_on_its_first_day(several):
    assert "forgotten" not in document("profiles", "--older-than", "1")
    assert {"sort", "words"} == left().keys()


def test_programs_forget_as_the_command_line_does(several):
    gone = package.forget("words", older_than_days=0.0)

    assert ["r0", "r1", "r2"] == [each.run_id for each in gone.forgotten]
    for options in ({}, {"keep_runs": 1, "older_than_days": 2}):
        with pytest.raises(InvalidInput):
            package.forget(**options)


# --- lengths of jobs to come ----------------------------------------------------------------------


def test_a_job_asks_for_its_lengths_by_the_name_of_a_profile(imported, tmp_path):
    """Tasks that took 10 s and 5 s will take as long again; the trace's own workload shows it."""
    (tmp_path / "asking.yaml").write_text(ASKING)
    jobs = document("simulate", "asking.yaml")["jobs"]

    assert 25.0 == jobs["a"]["finished_at_s"]
    assert 0 == sluice("compare", "asking.yaml", "--seeds", "1").code
    assert "a ended at 25 s" in sluice("why", "a", "--file", "asking.yaml").out


def test_an_unknown_profile_is_refused_where_lengths_are_needed(imported, tmp_path):
    (tmp_path / "asking.yaml").write_text(ASKING.replace("profile: words", "profile: wods"))
    answer = sluice("simulate", "asking.yaml", "--json")

    assert (2, "") == (answer.code, answer.out)
    assert "asking.yaml, job 'a': no profile 'wods' is stored" in answer.err
    assert "Did you mean words?" in answer.err
    assert 0 == sluice("validate", "asking.yaml").code, "the file itself is in order"


@pytest.mark.slow
def test_a_run_is_learned_and_predicts_the_next(tmp_path, monkeypatch, home):
    """Twice for real: the first is history, the second is predicted, and then foretold by name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("b\na\nb\n" * 8)
    (tmp_path / "run.yaml").write_text(RUN)
    first = json.loads(sluice_process("run", "run.yaml", "--json").out)
    (run,) = document("profiles", "words")["profiles"]["words"]["runs"]
    maps, reduces = run["phases"]

    assert first["predicted_makespan_s"] is None
    assert f"{first['run_id']}/words" == run["id"]
    measured = first["measured"]["words"]["phases"]
    assert [p["avg_s"] for p in measured] == [maps["avg_s"], reduces["avg_s"]]
    assert (48, 0, 1) == (maps["input_bytes"], reduces["input_bytes"], reduces["tasks"])
    assert maps["shuffle_write_bytes"] == reduces["shuffle_read_bytes"] > 0
    assert {"map": 2, "reduce": 1} == run["slots"]

    (tmp_path / "run.yaml").write_text(RUN.replace("output: out", "output: out2"))
    second = json.loads(sluice_process("run", "run.yaml", "--json").out)
    assert second["predicted_makespan_s"] is not None
    assert 2 == len(document("profiles", "words")["profiles"]["words"]["runs"])
    (tmp_path / "ask.yaml").write_text(ASKING.replace("profile: sort", "profile: words"))
    assert document("simulate", "ask.yaml")["makespan_s"] > 0


@pytest.mark.slow
def test_a_run_goes_well_without_a_store(tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLUICE_STORE", "postgresql:///nowhere?host=" + str(tmp_path))
    (tmp_path / "in.txt").write_text("b\na\nb\n")
    (tmp_path / "run.yaml").write_text(RUN)
    answer = sluice_process("run", "run.yaml", "--json")

    assert 0 == answer.code
    assert "done" == json.loads(answer.out)["jobs"]["words"]["state"]
    assert "past runs are not used" in answer.err
    assert "was not kept in the profile store" in answer.err


# --- names of profiles ----------------------------------------------------------------------------


@pytest.fixture
def nights(home):
    """Two nights of a job whose name has a date, and another job."""
    with Profiles.open() as profiles:
        for day in (1, 2):
            name = f"load-2026-10-0{day}"
            profiles.add([past_run(f"app_{day}", profile="load", name=name)])
        profiles.add([past_run("app_3", profile="loader", submitted_at_s=5.0)])


def test_a_profile_is_renamed_and_stays_known(nights):
    answer = sluice("profiles", "load", "--rename", "nightly")

    assert (0, "renamed: load is now nightly\n") == (answer.code, answer.err)
    assert ["loader", "nightly"] == list(document("profiles")["profiles"])
    assert ["nightly"] == list(document("profiles", "load")["profiles"])


def test_profiles_are_merged(nights):
    heard = document("profiles", "load", "--merge", "loader")

    assert ["app_1", "app_2", "app_3"] == [run["id"] for run in heard["profiles"]["load"]["runs"]]
    assert ["load"] == list(document("profiles")["profiles"])


@pytest.mark.parametrize("name", ["load", "load-2026-10-02", "app_2"])
def test_a_profile_is_shown_by_the_name_or_id_of_a_run(nights, name):
    heard = document("profiles", name)

    assert ["load"] == list(heard["profiles"])
    assert "load-2026-10-01" == heard["profiles"]["load"]["runs"][0]["name"]
    assert "load-2026-10-01" in sluice("profiles", name).out
    assert ["load"] == list(document("calibrate", name)["profiles"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rename", "x"], "--rename: NAME is missing"),
        (["load", "--rename", "loader"], "sluice profiles loader --merge load"),
        (["load", "--rename", ""], "'' is not a name"),
        (["load", "--merge", "load"], "cannot be merged with itself"),
        (["load", "--merge", "lodaer"], "Did you mean loader?"),
        (["load-2026-10-02", "--forget"], "another name for 'load'"),
        (["load", "--rename", "x", "--merge", "loader"], "given together with"),
    ],
)
def test_names_that_do_not_fit_are_refused(nights, words, said):
    answer = sluice("profiles", *words)

    assert (2, "") == (answer.code, answer.out)
    assert said in " ".join(answer.err.split())
    assert ["load", "loader"] == list(document("profiles")["profiles"])


def test_a_workload_may_name_an_application(nights, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs = "jobs: [{id: a, profile: load-2026-10-02}, {id: b, profile: app_1}]"
    (tmp_path / "w.yaml").write_text(
        f"version: 1\ncluster: {{map_slots: 4, reduce_slots: 2}}\n{jobs}\n"
    )

    assert 0 == sluice("simulate", "w.yaml").code


def test_a_rule_names_profiles_on_import(trace):
    document("import", trace, "--set", "profile=w(.*)ds -> lines-\\1")

    assert ["lines-or", "sort"] == list(document("profiles")["profiles"])
    answer = sluice("import", trace, "--set", "profile=( -> x")
    assert (2, "") == (answer.code, answer.out)
    assert "not a regular expression" in answer.err


def test_the_part_of_a_stage_name_that_differs_is_shown(home, monkeypatch):
    """On a terminal of 80 columns; all of Spark SQL's stages end in the same words."""
    names = [f"stage {n}: {what} at NativeMethodAccessorImpl.java:0" for n, what in
             enumerate(("javaToPython", "showString"))]  # fmt: skip
    with Profiles.open() as profiles:
        profiles.add([past_run("app_1", *(phase_of(1.0, name=name) for name in names))])
    monkeypatch.setenv("COLUMNS", "80")
    answer = sluice("profiles", "words")

    assert "stage 0: javaToPython…" in answer.out
    assert "stage 1: showString…" in answer.out


def test_explain_takes_the_name_of_an_application(home):
    with Profiles.open() as profiles:
        for day in (1, 2):
            name = f"load-2026-10-0{day}"
            profiles.add([past_run(f"app_{day}", profile="load", name=name, elapsed_s=9.0,
                                   slots={"map": 2, "reduce": 2})])  # fmt: skip
        profiles.move(["load"], "loads")

    assert [0, 0, 0] == [
        sluice("explain", name).code for name in ("load-2026-10-01", "load", "app_1")
    ]
    assert "(app_1)" in sluice("explain", "load-2026-10-01").out
