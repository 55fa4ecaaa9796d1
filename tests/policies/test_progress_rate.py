"""The view that policies have of the attempts that report."""

from tests.policies.lending import Trackers
from tests.runs import map_reduce

from sluice.policies.copies.progress_rate import ProgressRates
from sluice.policies.orders.fair import Fair


def test_a_phase_has_changed_at_each_report_after_it_was_taken():
    trackers = Trackers((4, 0), policy=Fair())
    rates = ProgressRates(trackers.state)
    trackers.submit(map_reduce("a", 2), map_reduce("b", 1))
    first, second, other = sorted(trackers.beat("n1"), key=lambda launch: launch.key)

    def changed():
        return [one.phase.job_id for one in rates.take_changed()]

    assert [] == changed()
    trackers.report(first, 1.0, 0.1)
    trackers.report(second, 1.0, 0.1)
    assert ["a"] == changed()
    assert [] == changed()
    trackers.report(other, 2.0, 0.1)
    trackers.report(first, 2.0, 0.2)
    assert ["b", "a"] == changed()
