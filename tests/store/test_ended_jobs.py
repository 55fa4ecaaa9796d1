"""Lists of jobs by when they were submitted."""

import random

import pytest

from sluice.store.service import ended_jobs
from sluice.store.service.ended_jobs import COUNTED_MAX, NO_INSTANT, EndedJob, EndedJobs, Wanted

JOBS = 20_000  # many blocks of neighbouring numbers
PART = 100
SPANS = {
    "all": (None, None), "newest": (29_300.0, None), "oldest": (None, 10_200.0),
    "around the clock's change": (13_400.0, 14_100.0), "none": (90_000.0, None),
}  # fmt: skip


def some():
    """Jobs a second apart, of two tenants. The clock is set back once; a few have no end."""
    draw = random.Random(7)
    for number in range(JOBS):
        at_s = 10_000.0 + number - (500 if number > 4_000 else 0)
        end_s = at_s + draw.choice([5, 50, 700])
        yield EndedJob(
            number=number, job_id=f"job-{number}", tenant=f"tenant-{number % 2}", user="anna",
            queue="root", name="count", profile=None, state="done", made_at_s=at_s,
            ended_at=f"{end_s:09.1f}" if draw.random() < 0.99 else NO_INSTANT, kept=None,
            labels={"team": f"team-{number % 4}"},
        )  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return list(some())


@pytest.fixture(scope="module")
def table(made):
    found = EndedJobs()
    found.add(made)
    return found


@pytest.mark.parametrize("sort", ["submitted", "eta", "ended"])
@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("equal", [{}, {"tenant": "tenant-1"}], ids=["any", "tenant"])
def test_a_span_has_the_jobs_that_were_submitted_in_it(table, made, sort, span, equal):
    since_s, until_s = SPANS[span]
    expected = [
        job for job in made
        if (since_s is None or job.made_at_s >= since_s)
        and (until_s is None or job.made_at_s < until_s)
        and all(getattr(job, name) == value for name, value in equal.items())
        and (sort != "ended" or job.ended_at != NO_INSTANT)
    ]  # fmt: skip
    expected.sort(key=lambda job: -job.number)
    if sort != "submitted":
        expected.sort(key=lambda job: job.ended_at, reverse=sort == "ended")
    wanted = Wanted(equal=equal, since_s=since_s, until_s=until_s)

    found = [job_id for _, job_id in table.page(wanted, sort, None, JOBS)]

    assert found == [job.job_id for job in expected]
    assert table.count(wanted, sort) == min(len(expected), COUNTED_MAX + 1)


@pytest.mark.parametrize("sort", ["submitted", "eta", "ended"])
@pytest.mark.parametrize("equal", [{}, {"tenant": "tenant-1"}], ids=["any", "tenant"])
@pytest.mark.parametrize("span", ["newest", "oldest"])
def test_a_page_of_a_span_reads_no_jobs_far_from_it(table, sort, equal, span):
    """Counted in steps of SQLite: reading all jobs takes more than four for each."""
    steps = []
    wanted = Wanted(equal=equal, since_s=SPANS[span][0], until_s=SPANS[span][1])
    table._database.set_progress_handler(lambda: steps.append(1), 100)
    try:
        table.page(wanted, sort, None, PART)
    finally:
        table._database.set_progress_handler(None, 0)

    assert 100 * len(steps) < 3 * JOBS


def steps_of(table, ask):
    """The answer to a question, and the steps of SQLite that it took."""
    steps = []
    table._database.set_progress_handler(lambda: steps.append(1), 10)
    try:
        return ask(), 10 * len(steps)
    finally:
        table._database.set_progress_handler(None, 0)


@pytest.mark.parametrize("sort", ["submitted", "eta", "ended"])
@pytest.mark.parametrize("value", ["team-1", ""])
@pytest.mark.parametrize("equal", [{}, {"tenant": "tenant-1"}], ids=["any", "tenant"])
def test_the_first_jobs_of_a_label_are_found_without_the_others(table, made, sort, value, equal):
    """The label of 5,000 jobs is counted; finding each of them takes over ten steps more."""
    wanted = Wanted(equal=equal, label=("team", value))
    expected = [
        job for job in reversed(made)
        if value in {"", job.labels["team"]} and (sort != "ended" or job.ended_at != NO_INSTANT)
        and all(getattr(job, name) == one for name, one in equal.items())
    ]  # fmt: skip
    if sort != "submitted":
        expected.sort(key=lambda job: job.ended_at, reverse=sort == "ended")

    found, steps = steps_of(table, lambda: table.page(wanted, sort, None, PART))
    assert [job_id for _, job_id in found] == [job.job_id for job in expected[:PART]]
    if value:  # in the order of an index
        assert 0 < steps < 10 * len(expected)
    whole = [place for place, _ in table.page(wanted, sort, None, JOBS)]
    half = len(whole) // 2
    following = table.page(wanted, sort, whole[half - 1], PART)
    assert [place for place, _ in following] == whole[half : half + PART]
    assert table.count(wanted, sort) == min(len(expected), COUNTED_MAX + 1)


@pytest.mark.parametrize("sort", ["submitted", "eta", "ended"])
@pytest.mark.parametrize(
    "wanted",
    [Wanted(), Wanted(states=("done", "failed")), Wanted(equal={"queue": "root"})],
    ids=["all", "states", "queue"],
)
def test_jobs_of_queues_and_states_are_counted_without_reading_any(table, made, sort, wanted):
    count, steps = steps_of(table, lambda: table.count(wanted, sort))
    ended = [job for job in made if sort != "ended" or job.ended_at != NO_INSTANT]
    assert (count, steps) == (min(len(ended), COUNTED_MAX + 1), 0)
    none = Wanted(equal={"queue": "root", "state": "failed"})
    assert table.count(none, sort) == 0


def test_each_filter_has_an_index_of_its_own_and_one_by_the_end():
    """Without, a list of a million jobs is as right, and takes a second."""
    rows = EndedJobs()._database.execute("SELECT name FROM sqlite_master WHERE type = 'index'")
    names = {name for (name,) in rows}

    for column in ended_jobs._FILTERED:
        assert {f"jobs_by_{column}", f"jobs_by_{column}_and_end"} <= names
    assert len(ended_jobs._FILTERED) > 2
