"""Counter-offers of a round of admission: each does, and no smaller one does."""

import math
from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.runs import map_reduce

from sluice.core.protocols import Admit
from sluice.policies.admission.capacity_round import Round, Vm, Wish
from sluice.policies.admission.container_needs import ContainerNeeds

AGO_S = 10.0  # how long each job has waited


@st.composite
def rounds(draw):
    """Two to six jobs on few containers; a VM has two."""
    slots, vm = draw(st.integers(1, 12)), Vm(2.0, draw(st.sampled_from([0.0, 0.25, 2.0])))
    wishes = []
    for number in range(draw(st.integers(2, 6))):
        law = ContainerNeeds(
            work_s=draw(st.integers(1, 60)), fixed_s=1.0, tasks_max=10**6, longest_s=2.0
        )
        job = map_reduce(f"j{number}", 1, 10.0)
        cents = draw(st.none() | st.integers(0, 400))
        job = replace(job, penalty_usd=None if cents is None else cents / 100)
        wishes.append(wish_of(job, law, draw(st.integers(2, 12)), vm))
    return wishes, slots, draw(st.integers(0, slots)), vm


def wish_of(job, law, left_s, vm):
    """A job without a penalty costs ten rents; an infinite one if no containers are enough."""
    containers = law.containers(left_s)
    vms = containers / vm.containers
    penalty_usd = 10.0 * vms if job.penalty_usd is None else job.penalty_usd
    return Wish(job, law, left_s, containers, penalty_usd, vms * vm.rent_usd)


def verdicts_of(wishes, slots, free, vm):
    """The answers of a round of its own, by job."""

    def ask(wish, left_s):
        return wish_of(wish.job, wish.law, left_s, vm)

    held = Round(wishes, AGO_S, AGO_S + 1.0, slots, free, vm, ask)
    return {wish.job.job_id: verdict for wish, verdict in held.verdicts()}, held.free


@settings(max_examples=300, deadline=None)
@given(rounds())
def test_each_counter_offer_does_and_a_smaller_one_does_not(case):
    wishes, slots, free, vm = case
    verdicts, _ = verdicts_of(*case)
    for wish in wishes:
        verdict = verdicts[wish.job.job_id]
        if not isinstance(verdict, Admit):
            others = [one for one in wishes if one is not wish]
            check_offers(dict(verdict.reason.numbers), wish, others, (slots, free, vm))


@settings(max_examples=300, deadline=None)
@given(rounds())
def test_a_change_that_would_do_is_enough_when_the_job_is_asked_about_again(case):
    """Then the jobs of the round have their containers, and the others ask again with it."""
    wishes, slots, _, vm = case
    verdicts, left = verdicts_of(*case)
    waiting = [one for one in wishes if not isinstance(verdicts[one.job.job_id], Admit)]
    for wish in waiting:
        others = [one for one in waiting if one is not wish]
        offers = dict(verdicts[wish.job.job_id].reason.numbers)
        now, _, then = offers["change"].rpartition(" would do at once")
        event(f"offers for the round only: {bool(then)}")

        def does(changed, more=0.0, others=others):
            found, _ = verdicts_of([*others, changed], slots, left + more, vm)
            return isinstance(found[changed.job.job_id], Admit)

        for what, number in offers.items():
            if what.endswith("_deadline_s"):
                is_enough = does(wish_of(wish.job, wish.law, number + 1e-6 - AGO_S, vm))
                is_shown = f"a deadline of {math.ceil(number - 1e-6)} s" in now
                # Two deadlines may be shown as the same number of seconds.
                assert is_enough is is_shown or (is_shown and "lasting_deadline_s" in offers)
            elif what.endswith("_penalty"):
                assert does(wish._replace(penalty_usd=number + 1e-6)) is ("a penalty" in now)
            elif what.endswith("_more_vms"):
                assert does(wish, number * vm.containers) is (f"{number:g} more VM" in now)


def check_offers(offers, wish, others, room):
    """Each kind of change, with its number or without one, in rounds of their own."""
    slots, free, vm = room

    def does(changed, more=0.0):
        found, _ = verdicts_of([*others, changed], slots, free + more, vm)
        return isinstance(found[wish.job.job_id], Admit)

    def with_deadline(deadline_s):
        return wish_of(wish.job, wish.law, deadline_s - AGO_S, vm)

    def with_penalty(penalty_usd):
        return wish._replace(penalty_usd=penalty_usd)

    event(f"offers: {sorted(name for name in offers if name.startswith('enough'))}")
    deadline_s = offers.get("enough_deadline_s", 1e9)
    assert does(with_deadline(deadline_s + 1e-6)) is ("enough_deadline_s" in offers)
    assert not does(with_deadline(deadline_s - 0.001))
    penalty_usd = offers.get("enough_penalty", 1e9)
    assert does(with_penalty(penalty_usd + 1e-6)) is ("enough_penalty" in offers)
    assert not does(with_penalty(penalty_usd - 1e-6))
    vms = int(offers.get("enough_more_vms", 100))
    assert does(wish, vms * vm.containers) is ("enough_more_vms" in offers)
    assert not any(does(wish, fewer * vm.containers) for fewer in range(vms))
