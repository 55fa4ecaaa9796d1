"""Ties between pools go to the one with the earliest job it still has. dynamicmr spec, 5.1."""

from tests.runs import map_reduce, simulate, totals

from sluice.policies.orders.fair import Fair


def test_a_pool_is_as_old_as_its_oldest_job_that_is_left():
    """`late` comes while `gone` makes its pool older; at 10 s that is long over."""
    jobs = [
        map_reduce("long", maps=1, map_s=10.0, pool="other"),
        map_reduce("gone", reduces=1, reduce_s=4.0, pool="etl"),
        map_reduce("adhoc", maps=1, pool="adhoc", at_s=1.0),
        map_reduce("late", maps=1, pool="etl", at_s=2.0),
    ]

    state = simulate(totals(1, 1), jobs, Fair())

    assert {"adhoc": 10.0, "late": 11.0} == {
        job_id: state.jobs[job_id].started_at_s for job_id in ("adhoc", "late")
    }
