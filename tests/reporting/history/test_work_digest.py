"""The digest by which runs of the same work are found again."""

from dataclasses import replace

from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, RunSpec
from sluice.reporting.history.past_runs import work_digest

SPEC = RunSpec(folder="/f", input=("in",), output="out", mapper=("cat",), reducer=("cat",))


def test_the_digest_is_that_of_older_releases():
    """Runs in existing stores are still found."""
    assert work_digest(SPEC) == "bffe5c49fad87493198ca4e7cdf45684"


def test_values_of_the_environment_are_not_in_the_digest():
    """The journal has no values, and the file has; both must give the same digest."""
    spec = replace(SPEC, env=(("TOKEN", "swordfish"), ("LANG", "C")))
    job = Job(job_id=JobId("a"), pool=PoolId("p"), phases=(), run=spec)

    hidden = job.without_env_values()
    assert hidden.without_env_values() == hidden
    assert work_digest(hidden.run) == work_digest(spec) != work_digest(SPEC)
    assert "swordfish" not in repr(job)


def test_a_clean_environment_is_other_work():
    assert work_digest(replace(SPEC, inherit_env=False)) != work_digest(SPEC)
