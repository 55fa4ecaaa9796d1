"""Tables as spreadsheets, trackers, price lists and data frames export them."""

import dataclasses
import datetime as dt
import io

import pytest
from tests.skips import required

import sluice
from sluice.api.tables import load_table
from sluice.ingest.price_lists import load_price_list
from sluice.ingest.tables.cells import CellError, number
from sluice.ingest.tables.columns import (
    BYTE_UNITS,
    CPU_UNITS,
    JOB_FIELDS,
    PRICE_FIELDS,
    TIME_UNITS,
    recognised,
)
from sluice.ingest.tables.jobs import jobs_document
from sluice.ingest.tables.rows import read_table, table_of
from sluice.model.errors import InvalidInput


def columns(headers, fields=JOB_FIELDS):
    return {one.key: (one.header, one.factor) for one in recognised(headers, fields, {}, "t.csv")}


def jobs(text, name="t.csv"):
    content = text if isinstance(text, bytes) else text.encode()
    return jobs_document(read_table(content, name)).value["jobs"]


def lengths(text):
    return {job["id"]: job["phases"][0]["avg_s"] for job in jobs(text)}


@pytest.mark.parametrize(
    ("header", "factor"),
    [
        ("dur_ms", 0.001), ("Avg task time (s)", 1), ("mean_runtime_sec", 1), ("time_taken", 1),
        ("Task length (mins)", 60), ("Estimated run time [h]", 3600), ("avg_task_duration", 1),
        ("execution time (ms)", 0.001), ("walltime_hours", 3600), ("time per task", 1),
        ("elapsed time", 1), ("average_ms", 0.001),
    ],
)  # fmt: skip
def test_lengths_go_by_many_names(header, factor):
    assert columns(["job", "tasks", header])["seconds"] == (header, factor)


@pytest.mark.parametrize(
    "header",
    ["total_seconds", "cpu_hours", "wait time", "submit time", "start time", "queue time (s)",
     "p95_s", "max_s", "end_time", "slot_seconds"],
)  # fmt: skip
def test_other_lengths_are_not_those_of_a_task(header):
    with pytest.raises(InvalidInput, match="no column is seconds"):
        columns(["job", "tasks", header])


@pytest.mark.parametrize(
    ("header", "key", "factor"),
    [
        ("# Tasks", "tasks", 1), ("Total tasks", "tasks", 1), ("No. of tasks", "tasks", 1),
        ("Memory per task (MB)", "memory_bytes", 1e6), ("CPU cores", "cpus", 1),
        ("cpus_per_task", "cpus", 1), ("mem (GiB)", "memory_bytes", 2**30),
        ("requested_memory_mb", "memory_bytes", 1e6), ("Created at", "submitted_at_s", 1),
        ("arrival_ms", "submitted_at_s", 0.001), ("Due date", "deadline_s", 1),
        ("user_id", "user", 1), ("Owner name", "user", 1), ("Pool name", "queue", 1),
        ("Team", "queue", 1), ("project_name", "queue", 1), ("Namespace", "queue", 1),
    ],
)  # fmt: skip
def test_other_columns_go_by_many_names(header, key, factor):
    headers = ["job", "s", header] if key == "tasks" else ["job", "s", "tasks", header]
    assert columns(headers)[key] == (header, factor)


def test_a_share_of_a_processor_is_no_number_of_processors():
    assert "cpus" not in columns(["job", "tasks", "s", "cpu %"])
    assert "cpus" not in columns(["job", "tasks", "s", "cpu_time"])


def test_columns_that_are_not_read_are_named():
    table = read_table(b"job,tasks,s,colour,start_date\na,1,5,red,x\n", "t.csv")
    assert jobs_document(table).notes[0].endswith("seconds=s; not used: colour, start_date")


@pytest.mark.parametrize(
    ("cell", "units", "value"),
    [
        ("3m 20s", TIME_UNITS, 200), ("1h30m", TIME_UNITS, 5400), ("2 d 4 h", TIME_UNITS, 187_200),
        ("12 m 00 s", TIME_UNITS, 720), ("PT1M30S", TIME_UNITS, 90),
        ("1.5 hours", TIME_UNITS, 5400.0),
        ("512Mi", BYTE_UNITS, 2**29), ("2 Gi", BYTE_UNITS, 2**31), ("500m", CPU_UNITS, 0.5),
        ("2 vCPUs", CPU_UNITS, 2), ("0 days 00:01:30", TIME_UNITS, 90),
        (dt.timedelta(minutes=2), TIME_UNITS, 120),
    ],
)  # fmt: skip
def test_a_cell_has_a_unit_of_its_column(cell, units, value):
    assert number(cell, units=units) == pytest.approx(value)


@pytest.mark.parametrize(
    ("cell", "units"),
    [("8GB", TIME_UNITS), ("3 min", BYTE_UNITS), ("2h", CPU_UNITS), ("5 s", {}),
     ("20s 3m", TIME_UNITS),
     ("1:30", BYTE_UNITS), ("3m20", TIME_UNITS), ("1m 2m", TIME_UNITS), ("PT", TIME_UNITS),
     (dt.timedelta(minutes=2), BYTE_UNITS)],
)  # fmt: skip
def test_a_unit_of_another_kind_is_refused(cell, units):
    with pytest.raises(CellError):
        number(cell, units=units)


@pytest.mark.parametrize(
    "content",
    [
        b"sep=;\r\njob;tasks;seconds\r\na;2;3,5\r\n",
        "job\ttasks\tseconds\r\na\t2\t3.5\r\n".encode("utf-16"),
        b"Jobs of March,,\r\n,,\r\nJob,Tasks,Seconds\r\na,2,3.5\r\n",
        b'job,tasks,"Duration\n(s)"\na,2,3.5\n',
        b"job,tasks,seconds\na,2,3.5,\n",
        b"# exported 2026-03-01\njob,tasks,seconds\na,2,3.5\n",
        b"job;tasks;seconds\na;2;3.5\n",
        b"job,tasks,seconds,\na,2,3.5,\n",
        b"\n\n job , tasks , seconds \n a , 2 , 3.5 \n",
    ],
)
def test_exports_are_read_as_they_are_meant(content):
    (job,) = jobs(content)
    assert (job["id"], job["phases"][0]["tasks"], job["phases"][0]["avg_s"]) == ("a", 2, 3.5)


def test_points_of_thousands_are_read_where_commas_are_decimal():
    text = "job;tasks;seconds\na;1.200;1.500\nb;2;0,125\n"
    assert lengths(text) == {"a": 1500, "b": 0.125}
    assert jobs(text)[0]["phases"][0]["tasks"] == 1200
    assert lengths("job;tasks;seconds\na;1;1.500\nb;2;0.125\n") == {"a": 1.5, "b": 0.125}


def test_a_line_is_named_under_a_title():
    with pytest.raises(InvalidInput, match=r"t\.csv line 4, column tasks"):
        jobs("Jobs,,\n\njob,tasks,seconds\na,x,3\n")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2026-03-01T10:00:00Z", "2026-03-01T12:05:00+02:00"),
        ("2026-03-01 10:00:00 UTC", "2026-03-01 10:05"),
        ("2026/03/01 10:00", "2026-03-01T10:05:00+0000"),
        ("1772359200", "1772359500"), ("1772359200000", "1772359500000"),
        (1772359200.0, 1772359500),
        (dt.date(2026, 3, 1), dt.datetime(2026, 3, 1, 0, 5, tzinfo=dt.UTC)),
    ],
)  # fmt: skip
def test_instants_count_from_the_first(first, second):
    rows = [
        {"job": "b", "tasks": 1, "s": 5, "submitted": second},
        {"job": "a", "tasks": 1, "s": 5, "submitted": first, "due": "600"},
    ]
    found = {str(job.job_id): job for job in load_table(rows).jobs}
    assert (found["a"].submitted_at_s, found["b"].submitted_at_s) == (0, 300)
    assert found["a"].deadline_at_s == 600


def test_a_deadline_may_be_an_instant():
    rows = [{"job": "a", "tasks": 1, "s": 5, "submitted": 1772359200, "due": 1772359800}]
    assert jobs_document(table_of(rows)).value["jobs"][0]["deadline_s"] == 600


@pytest.mark.parametrize(
    "after", [["a", "b, c"], ("a", "b, c"), "a;b, c", '["a", "b, c"]', "['a', 'b, c']"]
)
def test_dependencies_may_be_lists(after):
    rows = [{"job": name, "tasks": 1, "s": 5} for name in ("a", "b, c")]
    rows.append({"job": "d", "tasks": 1, "s": 5, "after": after})
    assert jobs_document(table_of(rows)).value["jobs"][2]["after"] == ["a", "b, c"]


def test_a_name_with_a_comma_is_one_job():
    assert jobs('job,tasks,s,after\n"a, b",1,5,\nc,1,5,"a, b"\n')[1]["after"] == ["a, b"]


def test_an_empty_list_is_no_dependency():
    rows = [{"job": "a", "tasks": 1, "s": 5, "after": []}]
    assert "after" not in jobs_document(table_of(rows)).value["jobs"][0]


@dataclasses.dataclass
class Record:
    job: str
    tasks: int
    s: float


def test_mappings_and_records_are_rows():
    given = [
        {"a": {"tasks": 1, "s": 5}, "b": {"tasks": 2, "s": 6}},
        {"job": {0: "a", 1: "b"}, "tasks": {0: 1, 1: 2}, "s": {0: 5, 1: 6}},
        {0: {"job": "a", "tasks": 1, "s": 5}, 1: {"job": "b", "tasks": 2, "s": 6}},
        [Record("a", 1, 5), Record("b", 2, 6)],
    ]
    found = [
        [
            (str(job.job_id), job.tasks, job.phases[0].lengths.avg_s(1))
            for job in load_table(one).jobs
        ]
        for one in given
    ]
    assert found == [[("a", 1, 5), ("b", 2, 6)]] * len(given)


def test_frames_have_an_index_missing_cells_and_lengths():
    pandas = required("pandas")
    frame = pandas.DataFrame(
        {
            "tasks": pandas.array([1, 2], dtype="Int64"),
            "duration": pandas.to_timedelta(["90s", "2min"]),
            "submitted": pandas.to_datetime(["2026-01-01", None]),
            "deadline": pandas.array([None, 600], dtype="Int64"),
            "cpus": [None, 2.0],
        },
        index=pandas.Index(["a", "b"], name="job"),
    )
    stream = io.BytesIO()
    frame.to_parquet(stream)
    for table in (table_of(frame), read_table(stream.getvalue(), "t.parquet")):
        first, second = jobs_document(table).value["jobs"]
        assert (first["phases"][0]["avg_s"], second["phases"][0]["avg_s"]) == (90, 120)
        assert (first["submitted_at_s"], second["deadline_s"]) == (0, 600)
        assert "submitted_at_s" not in second
        assert "deadline_s" not in first


def test_prices_are_read_as_catalogues_have_them(tmp_path):
    listed = tmp_path / "vms.csv"
    for text in (
        "Instance,vCPU,Memory (GiB),Linux On Demand cost\nm5.large,2,8 GiB,$0.096 hourly\n",
        'Name,API Name,RAM,vCPUs,On Demand\nm5.large,m5,8.0 GiB,2 vCPUs,"$0,096 hourly"\n',
        "sku;cores;ram_gib;USD/h\nm5.large;2;8;0,096\n",
        "machine type,vcpus,memory_gb,price (USD/hour)\nm5.large,2,8,0.096 USD/h\n",
    ):
        listed.write_text(text)
        (offer,) = load_price_list(str(listed)).offers
        assert (offer.vm_type, offer.shape.containers, offer.hour_usd) == ("m5.large", 2, 0.096)


@pytest.mark.parametrize(("cell", "size"), [("2G", 2**31), ("512m", 2**29), ("1.5T", 1.5 * 2**40)])
def test_a_letter_alone_is_a_unit_of_memory_as_slurm_and_java_have_it(tmp_path, cell, size):
    jobs = tmp_path / "jobs.csv"
    jobs.write_text(f"job,tasks,seconds,memory\na,4,60,{cell}\n")
    (job,) = load_table(str(jobs)).jobs

    assert dict(job.phases[0].demand.work.other) == {"memory_bytes": size}


def test_prices_of_another_time_are_refused(tmp_path):
    listed = tmp_path / "vms.csv"
    listed.write_text("type,cpus,price\nm5,2,$70 monthly\n")
    with pytest.raises(InvalidInput, match="line 2, column price"):
        load_price_list(str(listed))
    listed.write_text("type,cpus,monthly price\nm5,2,70\n")
    with pytest.raises(InvalidInput, match="no column is hour_usd"):
        load_price_list(str(listed))
    with pytest.raises(InvalidInput, match="no column is hour_usd"):
        columns(["type", "cpus", "spot price", "windows price"], PRICE_FIELDS)


@pytest.mark.parametrize(
    ("cell", "value"), [("0,096", 0.096), ("1,096", 1096), ("-0,5", -0.5), ("0,125,000", None)]
)
def test_no_thousands_begin_with_a_zero(cell, value):
    if value is None:
        with pytest.raises(CellError):
            number(cell)
    else:
        assert number(cell) == value


@pytest.mark.parametrize("start", ["", "\ufeff\n  "])
def test_a_file_may_be_a_list_of_objects(start, tmp_path):
    rows = '[{"job": "a", "tasks": 2, "s": 3},\n {"job": "b", "tasks": 1, "s": 1, "after": ["a"]}]'
    path = tmp_path / "rows.json"
    path.write_text(start + rows)
    assert sluice.simulate(str(path)).makespan_s == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"job": "a", "tasks": 2, "s": 3}', "it is not JSON"),
        ('[{"job": "a", "tasks": 2, "s": 3}, 4]', "row 2 is int"),
        ('[{"job": "a", "tasks": 2}]', "no column is seconds"),
        ('[{"job": "a", "tasks": {"x": 1}, "s": 3}]', "row 1, column tasks"),
    ],
)
def test_a_list_that_is_no_table_is_refused(text, message, tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        sluice.simulate(str(path))


@pytest.mark.parametrize(
    ("first", "second", "later_s"),
    [
        ("03/04/2021 10:00", "03/25/2021 10:00", 21 * 86_400),
        ("3/4/2021 9:05 PM", "3/25/2021 12:05 AM", 21 * 86_400 - 21 * 3600),
        ("03/04/2021", "25/04/2021", 22 * 86_400),
        ("03.04.2021 10:00:30", "04.04.2021 10:00:30", 86_400),
        ("05/05/2021 10:00", "05/05/2021 11:00", 3600),
        ("2021-03-04 10:00 EST", "2021-03-04T15:30 UTC", 1800),
        ("2021-07-04 12:00 Europe/Berlin", "2021-07-04 12:30 (CEST)", 1800),
        ("03/04/2021 10:00:00 PST", "03/25/2021 11:00:00 PDT", 21 * 86_400),
    ],
)
def test_dates_of_spreadsheets_are_read_by_the_order_that_the_table_shows(first, second, later_s):
    listed = jobs(f'job,tasks,s,submitted\na,1,5,"{first}"\nb,1,5,"{second}"\n')
    assert [job["submitted_at_s"] for job in listed] == [0, later_s]


def test_a_deadline_has_the_order_of_the_submissions():
    [job, _] = jobs(
        "job,tasks,s,submitted,due\n"
        "a,1,5,03/04/2021 10:00,03/05/2021 10:00\nb,1,5,03/25/2021 10:00,\n"
    )
    assert job["deadline_s"] == 86_400


@pytest.mark.parametrize(("order", "days"), [("day-first", 30), ("month-first", 1)])
def test_the_order_of_a_date_can_be_chosen(order, days):
    text = "job,tasks,s,submitted\na,1,5,03/04/2021\nb,1,5,03/05/2021\n"
    found = jobs_document(read_table(text.encode(), "t.csv"), {"dates": order})
    assert found.value["jobs"][1]["submitted_at_s"] == days * 86_400


@pytest.mark.parametrize(
    ("dates", "message"),
    [
        (("03/04/2021", "03/05/2021"), "line 2, column submitted.*--map dates=day-first, or"),
        (("13/04/2021", "03/15/2021"), "do not have day and month in one order"),
        (("2021-03-04 10:00 CST", ""), "'CST' is not a zone that is known for sure"),
        (("2021-03-04 10:00 Mars/Base", ""), "'Mars/Base' is not a zone"),
        (("2021-03-04 10:00+01:00 CET", ""), "two zones"),
        (("03/32/2021", ""), "not a date"),
        (("03/25/2021 13:00 PM", ""), "not a date"),
    ],
)
def test_a_date_that_is_not_clear_is_refused(dates, message):
    rows = "".join(f"{name},1,5,{date}\n" for name, date in zip("ab", dates, strict=True))
    with pytest.raises(InvalidInput, match=message):
        jobs(f"job,tasks,s,submitted\n{rows}")


@pytest.mark.parametrize("end", ["Total,8,30", "Grand Total:,8,", ",8,30", "total,,", "Sum,,12"])
def test_a_row_of_totals_at_the_end_is_left_out(end):
    found = jobs_document(read_table(f"job,tasks,s\na,5,10\nb,3,20\n{end}\n".encode(), "t.csv"))
    assert [job["id"] for job in found.value["jobs"]] == ["a", "b"]
    assert "t.csv line 4 is left out: it is the total of the rows above it" in found.notes


def test_a_job_may_have_the_name_of_a_total():
    assert list(lengths("job,tasks,s\na,5,10\nb,3,20\ntotal,4,30\n")) == ["a", "b", "total"]
    assert list(lengths("job,tasks,s\ntotal,4,30\n")) == ["total"]
    assert next(iter(lengths("job,tasks,s\nTotal,8,30\na,5,10\nb,3,20\n"))) == "Total"


def test_an_empty_name_that_is_no_total_is_refused():
    with pytest.raises(InvalidInput, match="column job: is empty"):
        jobs("job,tasks,s\na,5,10\nb,3,20\n,7,30\n")
