"""How tasks on one node share it. Golden: RAS spec, G6."""

from itertools import pairwise

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from sluice.model.resources import Resources
from sluice.simulation.sharing import Load, Losses, load_of, rates_of

TRACKER = Resources(cpu=100, io=100, memory=100)
SORT = Resources(cpu=30, io=45, memory=25)
COMBINE = Resources(cpu=25, io=10, memory=10)
SELECT = Resources(cpu=15, io=20, memory=10)

NO_LOSS = Losses(cpu=0, io=0, network=0, memory=0)
SHARED = ("cpu", "io", "network")


def map_load(demand, capacity=TRACKER, peak=1.25, thread_cpu=50.0):
    return load_of(demand, capacity, peak=peak, thread_cpu=thread_cpu)


def amounts():
    """Shares of a node: none, a little, or far more than all."""
    return st.one_of(st.just(0.0), st.floats(1e-4, 3.0))


def loads():
    return st.builds(
        Load,
        cpu=amounts(),
        io=amounts(),
        network=amounts(),
        memory=amounts(),
        rate_max=st.floats(0.1, 2.0),
    )


def crowds():
    return st.dictionaries(loads(), st.integers(1, 12), min_size=1, max_size=6)


def all_losses():
    kappa = st.one_of(st.just(0.0), st.floats(0.0, 3.0))
    return st.builds(Losses, cpu=kappa, io=kappa, network=kappa, memory=kappa)


def asked(crowd, name):
    return sum(count * getattr(load, name) for load, count in crowd.items())


def room(crowd, losses, name):
    return 1 / (1 + getattr(losses, name) * max(0.0, asked(crowd, name) - 1))


def speeds(crowd, losses):
    """Rates before thrashing, of the tasks that take something."""
    thrashing = 1 + losses.memory * max(0.0, asked(crowd, "memory") - 1)
    rates = rates_of(crowd, losses)
    return {load: rates[load] * thrashing for load in crowd if not load.is_free}


def use(crowd, losses, name):
    return sum(
        crowd[load] * getattr(load, name) * speed for load, speed in speeds(crowd, losses).items()
    )


@pytest.mark.parametrize(
    ("tasks", "printed"),
    [
        ([SORT], "1.25"),
        ([SORT] * 2, "1.111"),
        ([SORT] * 4, "0.397"),
        ([SORT] * 8, "0.0403"),
        ([COMBINE] * 4, "1.0"),
        ([COMBINE] * 6, "0.635"),
        ([SORT, COMBINE, COMBINE, SELECT], "1.053"),
    ],
)
def test_the_printed_rates_come_out_to_the_last_digit(tasks, printed):
    """RAS spec, section 7, G6: default values of the model."""
    crowd = {map_load(task): tasks.count(task) for task in tasks}

    rates = rates_of(crowd, Losses())

    digits = len(printed.split(".")[1])
    assert {f"{rate:.{digits}f}" for rate in rates.values()} == {printed}


def test_four_sort_maps_by_hand():
    """RAS spec, G6: io load 1.8, capacity 100 / (1 + 0.5 * 0.8) = 71.43, 71.43 / 180."""
    load = map_load(SORT)

    assert rates_of({load: 4}, Losses())[load] == pytest.approx(100 / 1.4 / 180, rel=1e-12)


def test_the_alternative_node_of_the_other_paper_shares_cores_by_number():
    """The dynamicmr spec, section 10: 12 cpu units, 1 each; shares of one disk; peak 1."""
    node = Resources(cpu=12, io=1)
    load = load_of(Resources(cpu=1, io=0.1), node, peak=1.0, thread_cpu=50.0)
    losses = Losses(cpu=0, io=0.25, network=0.25, memory=0)

    assert rates_of({load: 8}, losses)[load] == 1.0
    assert rates_of({load: 12}, losses)[load] == pytest.approx(1 / (1 + 0.25 * 0.2) / 1.2)


def test_a_task_with_much_cpu_is_bound_by_its_one_thread():
    """RAS spec, section 10: thread 50 % = one of two CPUs."""
    assert map_load(Resources(cpu=80)).rate_max == 50 / 80
    assert map_load(Resources(cpu=30)).rate_max == 1.25


def test_what_a_node_does_not_limit_slows_nobody_down():
    """A capacity of 0 says that nobody has measured it."""
    assert map_load(SORT, Resources()).is_free
    assert map_load(Resources(io=5), Resources(cpu=100)).is_free
    assert rates_of({map_load(SORT, Resources()): 1000}, Losses()) == {Load(): 1.0}


def test_a_task_without_demand_keeps_its_speed_in_any_crowd():
    """It takes nothing, so neither full disks nor thrashing touch it."""
    free, sort = Load(), map_load(SORT)

    rates = rates_of({free: 3, sort: 8}, Losses())

    assert rates[free] == 1.0
    assert rates[sort] == rates_of({sort: 8}, Losses())[sort]


def test_a_task_at_rest_keeps_its_memory_only():
    """A task that waits takes no turn at disk or processor."""
    assert map_load(SORT).at_rest() == Load(memory=0.25)


@given(crowds(), all_losses())
def test_no_resource_gives_more_than_it_has(crowd, losses):
    """Nothing is promised twice."""
    for name in SHARED:
        assert use(crowd, losses, name) <= room(crowd, losses, name) * (1 + 1e-9)


@given(crowds(), all_losses())
def test_no_task_runs_above_its_limit(crowd, losses):
    """A thread is a thread, on however empty a node."""
    for load, rate in rates_of(crowd, losses).items():
        assert 0 < rate <= load.rate_max


@given(crowds(), all_losses())
def test_every_task_is_at_its_limit_or_uses_up_something(crowd, losses):
    """Sharing conserves work: nobody is held back by what is left over."""
    full = {
        name
        for name in SHARED
        if use(crowd, losses, name) >= room(crowd, losses, name) * (1 - 1e-9)
    }
    event(f"resources used up: {len(full)}")

    for load, speed in speeds(crowd, losses).items():
        at_limit = speed >= load.rate_max * (1 - 1e-9)
        assert at_limit or any(getattr(load, name) for name in full)


@given(crowds(), all_losses())
def test_a_slower_task_was_stopped_by_what_it_uses_itself(crowd, losses):
    """Max-min: a task below another is at its limit or uses a full resource with none above it
    that could give way to it.
    """
    by_speed = sorted(speeds(crowd, losses).items(), key=lambda item: item[1])
    full = [
        name
        for name in SHARED
        if use(crowd, losses, name) >= room(crowd, losses, name) * (1 - 1e-9)
    ]
    for (slower, speed), (_, above) in pairwise(by_speed):
        if speed < above * (1 - 1e-6) and speed < slower.rate_max * (1 - 1e-9):
            bottlenecks = [
                name
                for name in full
                if getattr(slower, name)
                and not any(
                    getattr(other, name) and other_speed > speed * (1 + 1e-6)
                    for other, other_speed in by_speed
                )
            ]
            assert bottlenecks


@given(crowds(), all_losses(), st.randoms(use_true_random=False))
def test_the_order_of_the_crowd_does_not_matter(crowd, losses, shuffler):
    """Rates belong to the set of tasks."""
    items = list(crowd.items())
    shuffler.shuffle(items)

    assert rates_of(dict(items), losses) == pytest.approx(rates_of(crowd, losses), rel=1e-9)


@given(
    st.lists(
        st.builds(
            Resources,
            cpu=st.floats(0.1, 300),
            io=st.floats(0.1, 300),
            memory=st.floats(0, 300),
            network=st.floats(0, 300),
        ),
        min_size=1,
        max_size=5,
    ),
    st.floats(1e-3, 1e6),
)
def test_the_unit_of_the_resources_does_not_matter(demands, factor):
    """Percent, cores or bytes: only shares count."""
    node = Resources(cpu=100, io=100, memory=100, network=100)
    plain = [load_of(demand, node, peak=1.25, thread_cpu=50.0) for demand in demands]
    scaled = [
        load_of(demand.scaled(factor), node.scaled(factor), peak=1.25, thread_cpu=50.0 * factor)
        for demand in demands
    ]

    rates = rates_of({load: plain.count(load) for load in plain}, Losses())
    same = rates_of({load: scaled.count(load) for load in scaled}, Losses())

    for one, other in zip(plain, scaled, strict=True):
        assert same[other] == pytest.approx(rates[one], rel=1e-6)


@given(st.lists(st.tuples(st.floats(0.01, 2), st.floats(0.2, 2)), min_size=2, max_size=6))
def test_with_one_resource_and_no_loss_a_newcomer_speeds_nobody_up(tasks):
    """Where all share the one thing, more tasks mean less for each."""
    everyone = [Load(cpu=share, rate_max=limit) for share, limit in tasks]
    before = {load: everyone[1:].count(load) for load in everyone[1:]}
    after = {load: everyone.count(load) for load in everyone}

    slow, fast = rates_of(after, NO_LOSS), rates_of(before, NO_LOSS)

    assert all(slow[load] <= fast[load] * (1 + 1e-9) for load in before)


def test_with_two_resources_a_newcomer_may_speed_somebody_up():
    """True of progressive filling and no fault: C slows B down on the disk, and what B then leaves
    of the processor goes to A.
    """
    a, b, c = Load(cpu=1.0, rate_max=9), Load(cpu=1.0, io=1.0, rate_max=9), Load(io=3.0, rate_max=9)

    without = rates_of({a: 1, b: 1}, NO_LOSS)
    with_c = rates_of({a: 1, b: 1, c: 1}, NO_LOSS)

    assert (without[a], without[b]) == (0.5, 0.5)
    assert (with_c[b], with_c[a]) == (0.25, 0.75)


@given(loads(), st.integers(2, 200), all_losses())
def test_alike_tasks_counted_run_as_alike_tasks_distinguished(load, count, losses):
    """Tasks that are alike are counted; limits of their own make them differ here, by a hair."""
    apart = {load._replace(rate_max=load.rate_max * (1 + i * 1e-13)): 1 for i in range(count)}

    rates = set(rates_of(apart, losses).values())

    together = rates_of({load: len(apart)}, losses)[load]
    assert min(rates) == pytest.approx(together, rel=1e-9)
    assert max(rates) == pytest.approx(together, rel=1e-9)


def even_crowds():
    """Few tasks of a like size: with these, a drop too much here is few drops too little there."""
    share = st.one_of(st.just(0.0), st.floats(0.2, 1.5))
    load = st.builds(Load, share, share, share, share, st.floats(0.1, 2.0))
    return st.dictionaries(load, st.integers(1, 3), min_size=1, max_size=3)


@given(even_crowds(), all_losses())
def test_filling_agrees_with_raising_all_rates_drop_by_drop(crowd, losses):
    """The definition itself, in small steps."""
    drop = 1 / 2048
    rising = {load: count for load, count in crowd.items() if not load.is_free}
    left = {name: room(crowd, losses, name) for name in SHARED}
    level = dict.fromkeys(rising, 0.0)
    while rising:
        for load, count in rising.items():
            level[load] += drop
            for name in SHARED:
                left[name] -= count * getattr(load, name) * drop
        for load in list(rising):
            is_full = any(getattr(load, name) and left[name] <= 0 for name in SHARED)
            if is_full or level[load] >= load.rate_max:
                del rising[load]

    for load, speed in speeds(crowd, losses).items():
        assert level[load] == pytest.approx(speed, abs=100 * drop)
