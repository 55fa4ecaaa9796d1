"""Lists of a service's jobs: what they hold, in which order, and where the next part begins."""

import itertools
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.bootstrap.service.job_lists import OPEN_STATES, ORDERS, STATES, JobFilter, JobLists
from sluice.bootstrap.service.readable import KnownJob
from sluice.bootstrap.service.views import Views
from sluice.model.errors import InvalidInput
from sluice.store.service import ended_jobs
from sluice.store.service.ended_jobs import NO_INSTANT

BEGAN_S = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


class Jobs:
    """Jobs of a service without one: a `Readable` as far as lists need it, and `JobFacts`."""

    def __init__(self):
        self.jobs, self.submitted, self.now = {}, [], {}

    def submit(self, *, state="waiting", ends_at=NO_INSTANT, kept=None, made_at_s=0.0, **fields):
        number = len(self.submitted)
        job_id = f"job-{number:06}"
        given = {"tenant": "a", "user": "u", "queue": "q", "name": "n", "profile": None,
                 "labels": {}, **fields}  # fmt: skip
        job = SimpleNamespace(pool=given["queue"], profile=given["profile"])
        submitted = SimpleNamespace(
            job_id=job_id, job=job, name=given["name"], user=given["user"], labels=given["labels"]
        )
        workload = SimpleNamespace(tenant=given["tenant"], made_at_s=BEGAN_S + made_at_s)
        self.jobs[job_id] = KnownJob(submitted, workload)
        self.submitted.append(job_id)
        self.now[job_id] = (state, ends_at, kept)
        return job_id

    def state_of(self, job_id):
        return self.now[job_id][0]

    def key_of_end(self, job_id):
        return self.now[job_id][1]

    def is_kept(self, job_id):
        return self.now[job_id][2]

    def listed(self, wanted, sort):
        """All of a list, by looking at every job."""
        found = [
            job_id
            for job_id, known in self.jobs.items()
            if wanted.passes(known)
            and (not wanted.states or self.state_of(job_id) in wanted.states)
            and (wanted.kept is None or self.is_kept(job_id) is wanted.kept)
            and (not wanted.broken or self.is_kept(job_id) is False)
        ][::-1]
        if sort == "submitted":
            return found
        if sort == "ended":
            over = [
                one for one in found
                if self.state_of(one) not in OPEN_STATES and self.key_of_end(one) != NO_INSTANT
            ]  # fmt: skip
            return sorted(over, key=self.key_of_end, reverse=True)
        return sorted(found, key=self.key_of_end)


def whole(lists, wanted, sort, limit):
    """All parts of a list, one after the other."""
    after, found = None, []
    while True:
        part = lists.part(wanted, sort, after, limit)
        assert len(part.jobs) <= limit
        found += part.jobs
        after = part.following
        if after is None:
            return found, part.total


values = st.sampled_from(["x", "y"])
instants = st.sampled_from(["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", NO_INSTANT])
lives = st.fixed_dictionaries(
    {
        "state": st.sampled_from(STATES),
        "ends_at": instants,
        "kept": st.sampled_from([None, True, False]),
        "made_at_s": st.sampled_from([0.0, 1.0, 2.0]),
        "tenant": values,
        "user": values,
        "queue": values,
        "name": values,
        "profile": st.none() | values,
        "labels": st.dictionaries(values, values, max_size=2),
    }
).map(lambda one: {**one, "kept": None if one["state"] in OPEN_STATES else one["kept"]})
filters = st.builds(
    JobFilter,
    states=st.lists(st.sampled_from(STATES), max_size=3),
    **dict.fromkeys(["tenant", "user", "queue", "name", "profile"], st.none() | values),
    label=st.sampled_from([None, None, "x", "y=x", "x="]),
    since=st.sampled_from([None, None, "2026-01-01T00:00:01Z"]),
    until=st.sampled_from([None, None, "2026-01-01T00:00:02+00:00"]),
    kept=st.sampled_from([None, None, None, True, False]),
    broken=st.sampled_from([False, False, False, True]),
)


@given(
    st.lists(lives, max_size=12), st.lists(lives, max_size=6), filters, st.sampled_from(ORDERS),
    st.integers(1, 5), st.randoms(use_true_random=False),
)  # fmt: skip
def test_the_parts_of_a_list_are_what_one_finds_by_looking_at_every_job(
    first, later, wanted, sort, limit, draw
):
    jobs = Jobs()
    lists = JobLists(jobs, jobs)
    for one in first:
        jobs.submit(**one)
    assert whole(lists, wanted, sort, limit) == (
        found := jobs.listed(wanted, sort), len(found)
    )  # fmt: skip
    for job_id in [one for one in jobs.submitted if jobs.state_of(one) in OPEN_STATES]:
        if draw.random() < 0.5:
            jobs.now[job_id] = ("done", "2026-01-01T00:00:03Z", draw.choice([None, True, False]))
    for one in later:
        jobs.submit(**one)

    assert whole(lists, wanted, sort, limit) == (
        found := jobs.listed(wanted, sort), len(found)
    )  # fmt: skip


def test_a_place_counts_although_its_job_has_ended_since():
    jobs = Jobs()
    ids = [jobs.submit() for _ in range(4)]
    lists = JobLists(jobs, jobs)
    first = lists.part(JobFilter(), "submitted", None, 2)
    assert first.jobs == ids[:1:-1]
    jobs.now[ids[2]] = ("done", "2026-01-01T00:00:03Z", None)

    assert lists.part(JobFilter(), "submitted", first.following, 2).jobs == ids[1::-1]


def test_a_place_that_no_list_has_is_refused():
    jobs = Jobs()

    with pytest.raises(InvalidInput, match="no list has the place"):
        JobLists(jobs, jobs).part(JobFilter(), "submitted", "!job-000009", 2)


def test_a_total_says_where_it_is_only_a_lower_bound(monkeypatch):
    monkeypatch.setattr(ended_jobs, "COUNTED_MAX", 3)
    monkeypatch.setattr("sluice.bootstrap.service.job_lists.COUNTED_MAX", 3)
    jobs = Jobs()
    lists = JobLists(jobs, jobs)
    totals = []
    for _ in range(5):
        jobs.submit(state="done", ends_at="2026-01-01T00:00:03Z")
        part = lists.part(JobFilter(), "submitted", None, 2)
        totals.append((part.total, part.total_is_exact))

    assert totals == [(1, True), (2, True), (3, True), (3, False), (3, False)]


def test_a_job_that_is_open_is_asked_for_again_and_one_that_is_over_never():
    jobs = Jobs()
    for state in ("done", "running"):
        jobs.submit(state=state)
    asked = []

    def state_of(job_id):
        asked.append(job_id)
        return jobs.state_of(job_id)

    facts = SimpleNamespace(
        state_of=state_of, key_of_end=jobs.key_of_end, is_kept=jobs.is_kept
    )  # fmt: skip
    lists = JobLists(jobs, facts)
    for _ in range(2):
        lists.part(JobFilter(), "submitted", None, 10)
    after_one_look = list(itertools.dropwhile(lambda one: one == "job-000000", asked))

    assert "job-000000" not in after_one_look[2:]
    assert asked.count("job-000001") == 2


def test_the_millionth_job_is_behind_those_before_it():
    """Its id has a digit more, and comes before theirs as text."""
    open_jobs = ["job-000007", "job-999998", "job-999999", "job-1000000", "job-1000001"]
    views = SimpleNamespace(_replica=SimpleNamespace(open_jobs=open_jobs))
    for number, job_id in enumerate(open_jobs):
        assert list(Views._ahead_of(views, job_id)) == open_jobs[:number]
    assert list(Views._ahead_of(views, "job-999997")) == open_jobs[:1]


def test_a_job_that_is_asked_for_by_its_name_is_named_by_its_id():
    jobs = Jobs()
    ids = [jobs.submit(name=name, tenant=tenant) for name, tenant in
           (("nightly", "a"), ("nightly", "a"), ("weekly", "a"), ("nightly", "b"))]  # fmt: skip
    views = Views(jobs)
    with pytest.raises(InvalidInput) as refused:
        views.job("nightly", "a")
    assert refused.value.hint == f"{ids[1]} is the newest of this name"
    with pytest.raises(InvalidInput) as refused:
        views.job("monthly", "a")
    assert "of this name" not in refused.value.hint
