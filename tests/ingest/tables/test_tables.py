"""Tables of jobs and prices: columns and units, cells, stages, and what is refused."""

import contextlib
import csv
import gzip
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.skips import required

import sluice
from sluice.api.tables import load_table
from sluice.ingest.document import read_document
from sluice.ingest.price_lists import load_price_list
from sluice.ingest.tables.cells import CellError, instant_s, number
from sluice.ingest.tables.columns import JOB_FIELDS, PRICE_FIELDS, recognised
from sluice.ingest.tables.jobs import jobs_document
from sluice.ingest.tables.rows import is_table, looks_like_table, read_table
from sluice.model.errors import InvalidInput


def keys(headers, fields=JOB_FIELDS, chosen=None):
    found = recognised(headers, fields, chosen or {}, "t.csv")
    return {column.key: (column.header, column.factor) for column in found}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (["name", "tasks", "seconds"], {"seconds": ("seconds", 1)}),
        (["Job Name", "N_Tasks", "Duration (min)"], {"seconds": ("Duration (min)", 60)}),
        (["jobId", "numTasks", "runtime_h"], {"seconds": ("runtime_h", 3600)}),
        (["job_id", "n_tasks", "avg_task_seconds"], {"seconds": ("avg_task_seconds", 1)}),
        (["job", "tasks", "avg ms"], {"seconds": ("avg ms", 0.001)}),
        (["job", "tasks", "minutes", "memGB"], {"memory_bytes": ("memGB", 1e9)}),
        (["job", "tasks", "s", "RAM [MiB]"], {"memory_bytes": ("RAM [MiB]", 2**20)}),
        (["job", "tasks", "s", "deadline_h"], {"deadline_s": ("deadline_h", 3600)}),
        (["job", "tasks", "s", "vCPUs"], {"cpus": ("vCPUs", 1)}),
        (["job", "tasks", "s", "submit time"], {"submitted_at_s": ("submit time", 1)}),
        (["job", "tasks", "minutes per task"], {"seconds": ("minutes per task", 60)}),
        (["job", "tasks", "s", "depends on"], {"after": ("depends on", 1)}),
    ],
)
def test_columns_are_recognised_by_name_and_unit(headers, expected):
    found = keys(headers)

    assert {"name", "tasks", "seconds"} <= found.keys()
    assert expected.items() <= found.items()


def test_columns_of_prices_are_recognised():
    found = keys(["Instance type", "vCPU", "Memory (GiB)", "Price per hour"], PRICE_FIELDS)

    assert found["hour_usd"] == ("Price per hour", 1)
    assert found["memory_bytes"] == ("Memory (GiB)", 2**30)


def test_what_is_not_recognised_is_said_by_the_user():
    assert keys(["who", "tasks", "n"], chosen={"name": "who", "seconds": "n"})["name"] == ("who", 1)
    with pytest.raises(InvalidInput, match="no column is name; the table has who, tasks, s"):
        keys(["who", "tasks", "s"])
    with pytest.raises(InvalidInput, match="has no column 'wh'"):
        keys(["who", "tasks", "s"], chosen={"name": "wh"})
    with pytest.raises(InvalidInput, match=r"'nmae' is not a column\. Did you mean name"):
        keys(["who", "tasks", "s"], chosen={"nmae": "who"})


def test_two_columns_that_could_be_the_same_are_an_error_until_one_is_chosen():
    headers = ["job", "tasks", "minutes", "seconds "]
    with pytest.raises(InvalidInput, match="--map seconds="):
        keys(["job", "tasks", "hours", "minutes"])
    assert keys(headers, chosen={"seconds": "minutes"})["seconds"] == ("minutes", 60)
    with pytest.raises(InvalidInput, match="is there twice"):
        keys(["job", "tasks", "s", "job"])


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("5", 5), ("1,200", 1200), ("2 min", 120), ("1.5h", 5400), ("8GB", 8e9), ("0:02:30", 150),
        ("1-00:00:10", 86410), ("2,5", 2.5), ("1,234,567.5", 1_234_567.5), ("1_000", 1000),
        ("$0.75", 0.75), (3, 3), ("1e3", 1000),
    ],
)  # fmt: skip
def test_cells_may_have_units_of_their_own(cell, value):
    assert number(cell) == value


@pytest.mark.parametrize(
    ("header", "length_s", "shown"),
    [
        ("Duration (min)", 90, "Duration (min) x 60 as m:ss"),
        ("Elapsed [mm:ss]", 90, "Elapsed [mm:ss] x 60 as m:ss"),
        ("runtime_h", 5400, "runtime_h x 3600 as h:mm"),
        ("Duration (h:mm)", 5400, "Duration (h:mm) x 3600 as h:mm"),
    ],
)
def test_the_unit_of_the_header_says_what_two_numbers_of_a_clock_are(header, length_s, shown):
    notes: list[str] = []
    rows = [{"job": "a", "tasks": 1, header: "1:30"}, {"job": "b", "tasks": 1, header: "1:30:00"}]
    first, second = load_table(rows, on_message=notes.append).jobs
    assert first.phases[0].lengths.avg_s(1) == length_s
    assert second.phases[0].lengths.avg_s(1) == 5400
    assert f"seconds={shown}" in notes[0]


@pytest.mark.parametrize("header", ["seconds", "duration", "Duration (hh:mm:ss)", "duration_ms"])
def test_two_numbers_of_a_clock_without_a_unit_are_refused(header):
    """They were hours and minutes, also in a column of seconds."""
    with pytest.raises(InvalidInput, match="minutes and seconds, or hours and minutes") as refusal:
        load_table([{"job": "a", "tasks": 1, header: "1:05"}])
    assert "0:01:05 or 1:05:00" in str(refusal.value)


def test_a_submission_may_be_a_time_of_day():
    rows = [{"job": "a", "tasks": 1, "s": 5, "submitted": time} for time in ("9:30", "10:00")]
    notes: list[str] = []
    jobs = load_table(rows, on_message=notes.append).jobs
    assert [job.submitted_at_s for job in jobs] == [34_200, 36_000]
    assert "submitted_at_s=submitted as h:mm" in notes[0]


@pytest.mark.parametrize(
    "cell",
    [
        "abc",
        "5 parsecs",
        "2:30",
        "1,2,3",
        "1,50.5",
        "1.2.3",
        "1-2:30",
        True,
        "nan",
        float("inf"),
        "--",
    ],
)
def test_cells_that_are_no_number_are_refused(cell):
    with pytest.raises(CellError):
        number(cell)


def test_between_semicolons_a_comma_is_the_decimal_point():
    table = "Job Name;Tasks;Duration (min);RAM (GB);after\na;1,500;2,5;1.234,5;\nb;2;1,5 h;8;a\n"
    plain = table.replace("1.234,5", "1234.5").replace(",", ".").replace("1.500", "1500")
    first, second = (jobs_document(read_table(text.encode(), "t.csv")) for text in (table, plain))
    assert first.value == second.value
    stage = first.value["jobs"][0]["phases"][0]
    assert (stage["tasks"], stage["avg_s"]) == (1500, 150)
    assert stage["demand"]["resources"]["memory_bytes"] == 1234.5e9


def test_times_may_be_in_micro_and_nanoseconds():
    """Without the unit, 1.5 s in nanoseconds would be 48 years."""
    for header, cell in (("duration_ns", 1.5e9), ("duration (us)", 1.5e6), ("time", "1.5e6 us")):
        row = {"ns": "prod", "US": 7, "job": "a", "tasks": 1, header: cell}
        (job,) = load_table([row]).jobs
        assert job.phases[0].lengths.avg_s(1) == pytest.approx(1.5)


def test_runs_of_one_name_are_jobs_of_their_own():
    rows = [{"job": name, "tasks": 1, "s": 5} for name in ("a", "a-2", "a", "b", "a")]
    notes: list[str] = []
    workload = load_table(rows, on_message=notes.append)
    assert [job.job_id for job in workload.jobs] == ["a", "a-2", "a-3", "b", "a-4"]
    assert "names that are there more than once get a number, as in a-3" in notes


def test_deadlines_may_be_dates_where_submissions_are():
    row = {"job": "a", "tasks": 1, "s": 5, "due": "2026-01-01 01:30"}
    (job,) = load_table([{**row, "submitted": "2026-01-01T00:00"}]).jobs
    assert job.deadline_at_s == 5400
    (job,) = load_table([{**row, "due": "90 min", "submitted": "2026-01-01T00:00"}]).jobs
    assert job.deadline_at_s == 5400


def test_submissions_may_be_dates():
    early, is_date = instant_s("2026-01-01 00:00:00")
    late, _ = instant_s("2026-01-01T01:00:00Z")
    assert is_date
    assert late - early == 3600
    rows = [
        {"job": "b", "tasks": 1, "s": 5, "submitted": "2026-01-01 01:00"},
        {"job": "a", "tasks": 1, "s": 5, "submitted": "2026-01-01 00:00"},
    ]
    assert {str(job.job_id): job.submitted_at_s for job in load_table(rows).jobs} == {
        "a": 0,
        "b": 3600,
    }


def test_rows_of_one_name_are_stages_of_one_job():
    text = """job,stage,tasks,seconds,after,queue
etl,load,3,10,join,prod
etl,scan,4,20,,prod
etl,join,2,5,scan,prod
ads,train,1,7,,dev
"""
    (etl, ads) = load_table(read(text)).jobs

    assert [phase.name for phase in etl.phases] == ["scan", "join", "load"]
    assert [phase.after for phase in etl.phases] == [(), (0,), (1,)]
    assert (str(etl.pool), str(ads.pool), ads.tasks) == ("prod", "dev", 1)


def read(text):
    table = read_table(text.encode(), "t.csv")
    return [dict(zip(table.headers, row, strict=True)) for row in table.rows]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,tasks,seconds\na,0,5\n", "line 2, column tasks: 0 is too small"),
        ("name,tasks,seconds\na,1.5,5\n", "line 2, column tasks: '1.5' is not a whole number"),
        ("name,tasks,seconds\n\na,1,x\n", "line 3, column seconds: 'x' is not a number"),
        ("name,tasks,seconds\na,1,-5\n", "line 2, column seconds: -5 is too small"),
        ("name,tasks,seconds\na,1\n", "line 2, column seconds: is empty"),
        ("name,tasks,seconds\na,1,5,6\n", "line 2: it has 4 cells under 3 headers"),
        ("name,stage,tasks,seconds\na,x,1,5\na,x,1,5\n", "stage 'x' of job 'a' is there twice"),
        (
            "name,tasks,seconds,after\na,1,5,\na,1,5,\nb,1,5,a\n",
            "line 4, column after: 'a' is the name of 2 jobs",
        ),
        (
            "name,tasks,seconds,due\na,1,5,2026-01-01 06:00\n",
            "line 2, column due: it is a date, and the submission is none",
        ),
        (
            "name,tasks,seconds,due,submitted\na,1,5,2026-01-01,2026-01-02\n",
            "line 2, column due: it is not after the submission",
        ),
        (
            "name,tasks,seconds,submitted\na,1,5,2026-01-01 10:00\nb,1,5,\nc,1,5,30\n",
            "line 4, column submitted: '30' is not a date, unlike those above",
        ),
        (
            "name,tasks,seconds,submitted\na,1,5,30\nb,1,5,2026-01-01\n",
            "line 3, column submitted: '2026-01-01' is a date, unlike those above",
        ),
        ("name;tasks;seconds\na;1.500;5\n", "line 2, column tasks: '1.500' is not a whole number"),
        ("name,tasks,seconds\n", "it has no rows"),
        ("name,stage,tasks,seconds,after\na,x,1,5,y\na,y,1,5,x\n", "in a circle"),
        ("name,tasks,seconds\n\xff", "line 2"),
        (
            "name,tasks,seconds,after\na,1,5,\nb,1,5,c\n",
            "line 3, column after: 'c' is no other job",
        ),
        ("name,tasks,seconds\na,1e300,5\n", "line 2, column tasks: 1e[+]300 is too large"),
        ("name,tasks,seconds\na,1,1e300\n", "line 2, column seconds: 1e[+]300 is too large"),
        ("name,tasks,seconds\n" + "a" * 150_000 + ",1,5\n", "line 2: a cell has over 131072"),
        ("", "it is empty. Give headers, such as name, tasks, seconds"),
        (
            "name,tasks,seconds,after\na,1,5,c\nb,1,5,\nc,1,5,d\nd,1,5,c\n",
            'line 4, job "c": after forms a circle: "c" after "d" after "c"',
        ),
        (
            "name,stage,tasks,seconds,after\na,x,1,5,y\na,y,1,5,z\na,z,1,5,y\n",
            "line 3, column after: the stages wait for each other in a circle",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_column(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode("latin-1"))

    with pytest.raises(InvalidInput, match=message):
        sluice.simulate(str(path))


def test_files_frames_lists_and_dicts_give_the_same_workload(tmp_path):
    pandas = required("pandas")
    rows = [{"name": "a", "tasks": 3, "seconds": 10}, {"name": "b", "tasks": 2, "seconds": 5}]
    frame = pandas.DataFrame(rows)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet")
    columns = {name: list(frame[name]) for name in frame}
    files = [str(tmp_path / f"t.{kind}") for kind in ("csv", "tsv", "parquet")]

    digests = {sluice.simulate(one).digest for one in (rows, frame, columns, *files)}

    assert len(digests) == 1


def test_a_mapping_with_jobs_is_a_workload_file():
    document = {
        "version": 1,
        "cluster": {"containers": 2},
        "jobs": [{"id": "x", "maps": {"tasks": 3, "avg_s": 2}}],
    }
    assert sluice.simulate(document).makespan_s == 4


@pytest.mark.parametrize("text", ["version: 1\njobs: []\n", "name m r tm tr\nj1 2 3 4 5\n", "{}"])
def test_other_files_are_no_tables(text):
    assert not is_table(text.encode())


def test_a_type_has_as_many_containers_as_the_largest_task_fits(tmp_path):
    path = tmp_path / "vms.csv"
    path.write_text("type,cpus,memory_gb,hour_usd\ntiny,1,2,0.1\nbig,16,64,0.8\n")

    plain = load_price_list(str(path))
    needed = load_price_list(str(path), {"cpus": 2, "memory_bytes": 10e9})

    assert [one.shape.containers for one in plain.offers] == [1, 16]
    assert [(one.vm_type, one.shape.containers) for one in needed.offers] == [("big", 6)]
    with pytest.raises(InvalidInput, match="no type holds a task, which needs 99 cpus"):
        load_price_list(str(path), {"cpus": 99})


@given(st.binary(max_size=300))
def test_no_bytes_give_a_traceback(content):
    head = b"name,tasks,seconds\n"
    for text in (content, head + content, b"PAR1" + content):
        with contextlib.suppress(InvalidInput):
            load_table(_rows_of(text))


def _rows_of(content):
    table = read_table(content, "t.csv")
    return [dict(zip(table.headers, row, strict=True)) for row in table.rows]


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(min_codepoint=48, max_codepoint=122, categories=["L", "N"]),
                    min_size=1, max_size=8),
            st.integers(1, 50),
            st.integers(1, 10_000),
        ),
        min_size=1, max_size=30, unique_by=lambda row: row[0],
    )
)  # fmt: skip
def test_counts_are_those_of_a_second_reader(rows):
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerows([("job", "tasks", "minutes"), *rows])
    expected = list(csv.DictReader(io.StringIO(stream.getvalue())))

    jobs = load_table(read(stream.getvalue())).jobs

    assert len(jobs) == len(expected)
    assert sum(job.tasks for job in jobs) == sum(int(row["tasks"]) for row in expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "table: it is empty"),
        ({}, "version is missing"),
        ([{"name": "a", "tasks": 1, "seconds": 5}, {"name": "b"}], "table row 2, column tasks"),
    ],
)
def test_data_in_memory_is_named_by_its_row(given, message):
    with pytest.raises(InvalidInput, match=message):
        sluice.simulate(given)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"name,tasks,seconds\na,1,5\n"), "t: it is compressed by gzip. Unpack it"),
        (b"PK\x03\x04\x14\x00\xff", "it is a zip archive or an Excel workbook. Save a workbook"),
        (b"name,tasks,seconds\nM\xfcller,1,5\n", "t line 2: byte 20 (0xfc) is not UTF-8"),
    ],
    ids=["gzip", "zip", "latin-1"],  # bytes are no names: a compressed file has its instant
)
def test_what_is_not_text_is_said_with_what_it_is(content, message):
    """Both as a table and as a document of a workload: the bytes do not show which was meant."""
    with pytest.raises(InvalidInput, match=re.escape(message)):
        read_table(content, "t")
    with pytest.raises(InvalidInput, match=re.escape(message)):
        read_document(content, source="t")


def test_files_may_be_compressed_by_gzip(tmp_path):
    table = b"name,tasks,avg_task_seconds\na,4,5\n"
    prices = b"type,vcpus,memory_gb,hourly_price\nm5,4,16,0.192\n"
    document = b"version: 1\njobs: [{id: a, maps: {tasks: 4, avg_s: 5}}]"
    for name, content in (("jobs.csv", table), ("jobs.yaml", document), ("prices.csv", prices)):
        (tmp_path / name).write_bytes(content)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    jobs, packed = tmp_path / "jobs.csv", tmp_path / "jobs.csv.gz"

    assert sluice.load_workload(packed).jobs == sluice.load_workload(jobs).jobs
    assert looks_like_table(str(packed))
    plain = sluice.load_workload(tmp_path / "jobs.yaml")
    assert sluice.load_workload(tmp_path / "jobs.yaml.gz").jobs == plain.jobs
    offers = load_price_list(str(tmp_path / "prices.csv")).offers
    assert load_price_list(str(tmp_path / "prices.csv.gz")).offers == offers


def test_damaged_and_swollen_gzip_is_refused_in_one_sentence(tmp_path, monkeypatch):
    path = tmp_path / "jobs.csv.gz"
    packed = gzip.compress(b"name,tasks,seconds\na,4,5\n")
    for content in (packed[:-9], packed[:12] + b"\xff" * 8 + packed[20:]):
        path.write_bytes(content)
        looks_like_table(str(path))
        with pytest.raises(InvalidInput, match=r"gz: its gzip data is damaged .*byte"):
            sluice.load_workload(path)

    monkeypatch.setattr("sluice.ingest.reading.FILE_BYTES_MAX", 1000)
    path.write_bytes(gzip.compress(b"name,tasks,seconds\n" + b"a,4,5\n" * 1000))
    with pytest.raises(InvalidInput, match="it is larger than"):
        sluice.load_workload(path)


# --- maps and reduces -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        ("maps", "map_seconds", "reduces", "reduce_seconds"),
        ("map tasks", "map time", "reduce tasks", "reduce time"),
        ("mapsTotal", "avgMapTime", "reducesTotal", "avgReduceTime"),
        ("num_mappers", "mapper duration (s)", "num_reducers", "reducer duration (s)"),
        ("Maps", "Map (s)", "Reduces", "Reduce (s)"),
    ],
)
def test_a_row_may_be_a_job_of_maps_and_reduces(headers):
    text = f"job,{','.join(headers)},GB mem\na,4,10,2,30,1\nb,3,5,0,,2\nTotal,7,,2,,\n"
    table = read_table(text.encode(), "t.csv")

    found = jobs_document(table)

    assert is_table(text.encode())
    assert found.value["cluster"]["node"]["containers"] == 4
    first, second = found.value["jobs"]
    assert first["maps"] == {"tasks": 4, "avg_s": 10}
    assert first["reduces"] == {"tasks": 2, "avg_s": 30}
    assert first["demand"] == {
        kind: {"resources": {"memory_bytes": 1e9}} for kind in ("map", "reduce")
    }
    assert second["maps"] == {"tasks": 3, "avg_s": 5}
    assert "reduces" not in second
    assert second["demand"].keys() == {"map"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("job,maps,reduces\na,1,1\n", "no column is map_seconds"),
        ("job,maps,map s,reduces\na,1,1,1\n", "no column is reduce_seconds"),
        ("job,maps,map s,reduces,reduce s\na,0,1,1,1\n", "column maps: 0 is too small"),
        ("job,maps,map s,reduces,reduce s\na,1,1,1,\n", "column reduce s: is empty"),
        ("job,maps,map s,reduces,reduce s\na,1,1,-1,2\n", "column reduces: -1 is too small"),
        ("job,maps,map s,reduces,reduce s\na,1,1,x,2\n", "column reduces: 'x'"),
    ],
)
def test_maps_and_reduces_that_cannot_be_read_are_refused(text, what):
    with pytest.raises(InvalidInput, match=re.escape(what)):
        jobs_document(read_table(text.encode(), "t.csv"))


def test_a_job_that_is_refused_is_named_by_its_line_in_the_table(tmp_path):
    """Its fault shows only once the rows have become jobs."""
    rows = [{"job": "a", "tasks": 1, "s": 5}, {"job": "b" * 300, "tasks": 1, "s": 5}]
    file = tmp_path / "jobs.csv"
    file.write_text("job,tasks,s\n" + "".join(f"{row['job']},1,5\n" for row in rows))

    with pytest.raises(InvalidInput, match=r"^\S*jobs.csv line 3, job .*300 characters"):
        sluice.load_workload(str(file))
    with pytest.raises(InvalidInput, match=r"^table row 2, job .*300 characters"):
        load_table(rows)


def test_maps_and_reduces_are_simulated_and_ordered():
    """On the 2 containers of the largest phase, b waits for a; ordered, it is first."""
    rows = [
        {"job": "a", "maps": 2, "map s": 10, "reduces": 1, "reduce s": 10},
        {"job": "b", "maps": 1, "map s": 30, "reduces": 0, "reduce s": 0},
    ]

    assert sluice.simulate(rows).makespan_s == 40
    assert sluice.order(rows).makespan_s == 30
    assert sluice.order(rows, map_slots=2, reduce_slots=1).makespan_s == 30


@pytest.mark.parametrize(("tasks", "cluster"), [(1, "1 container"), (3, "3 containers")])
def test_the_note_on_the_cluster_counts_its_containers(tasks, cluster):
    notes: list[str] = []
    load_table([{"job": "a", "tasks": tasks, "seconds": 5}], on_message=notes.append)

    assert f"the cluster has {cluster}, as many as the largest stage has tasks" in notes
