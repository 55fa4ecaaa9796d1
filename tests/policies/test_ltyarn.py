"""LTYARN's queue tree: orders, shares, head of line, rounds, peers, and what it explains."""

import json

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.policies.ltyarn_worlds import running_at, starts, workload

import sluice
from sluice.model.ids import PoolId
from sluice.model.queues import Queue
from sluice.policies.ltyarn.rules import ShareRules

TREE = [
    {"id": "org", "order": "ltrf"},
    {"id": "a", "parent": "org", "order": "fifo"},
    {"id": "b", "parent": "org", "order": "fifo"},
    {"id": "guest", "order": "fifo"},
]
POLICIES = ("ltyarn", "mlrf", "ltrf", "karma", "decay")


@pytest.mark.slow
def test_a_tree_of_three_levels_shares_at_each_level():
    """Org and guest share evenly, and so do a and b inside org."""
    apps = [("x", "a", 0, [1] * 400), ("y", "b", 0, [1] * 400), ("z", "guest", 0, [1] * 400)]

    result = sluice.simulate(workload(8, TREE, apps), tasks="ltyarn")

    assert {"a": 2.0, "b": 2.0, "guest": 4.0} == running_at(result, 20.5)


@pytest.mark.slow
def test_weights_divide_containers_and_use():
    queues = [{"id": "a", "weight": 3}, {"id": "b", "weight": 1}]
    apps = [("x", "a", 0, [1] * 200), ("y", "b", 0, [1] * 200)]

    for policy in POLICIES:
        result = sluice.simulate(workload(8, queues, apps), tasks=policy)
        assert {"a": 6.0, "b": 2.0} == running_at(result, 10.5), policy


def test_fifo_inside_a_queue_keeps_the_order_of_arrival():
    apps = [("late", "a", 1, [2, 2]), ("early", "a", 0, [2, 2, 2])]

    found = starts(sluice.simulate(workload(1, [{"id": "a"}], apps), tasks="ltyarn"))

    assert {"early": [0, 2, 4], "late": [6, 8]} == found


def a_wide_task_in_front():
    """A holds three of four containers until 10 s; B needs three; C needs one at a time."""
    wide = ("B", "b", 1, [5], {"units": 3})
    apps = [("A", "a", 0, [10, 10, 10]), wide, ("C", "c", 2, [2, 2, 2, 2])]
    return workload(4, [{"id": queue} for queue in "abc"], apps)


def test_a_task_that_does_not_fit_keeps_no_container_that_it_does_not_need():
    for policy in POLICIES:
        found = starts(sluice.simulate(a_wide_task_in_front(), tasks=policy))

        assert {"A": [0, 0, 0], "B": [10], "C": [2, 4, 6, 8]} == found, policy


def test_small_tasks_do_not_starve_a_wide_one():
    """B needs all four containers, so those of C that come after three passes wait for it."""
    wide = ("B", "b", 1, [5], {"units": 4})
    apps = [("A", "a", 0, [10, 10, 10]), wide, ("C", "c", 2, [2] * 20)]

    found = starts(sluice.simulate(workload(4, [{"id": q} for q in "abc"], apps), tasks="ltyarn"))

    assert [10] == found["B"]
    assert [2, 4, 6, 15] == found["C"][:4]


def test_a_node_that_can_never_hold_the_wide_task_is_not_kept_for_it():
    """Three single-container nodes run C all the time; B waits for its own node of three."""
    jobs = [
        {"id": "A", "pool": "a", "maps": {"durations_s": [20.0]}},
        {"id": "B", "pool": "b", "submitted_at_s": 1, "maps": {"durations_s": [5.0], "units": 3}},
        {"id": "C", "pool": "c", "submitted_at_s": 2, "maps": {"durations_s": [2.0] * 12}},
    ]
    groups = [
        {"id": "wide", "nodes": 1, "containers": 3},
        {"id": "thin", "nodes": 1, "containers": 1},
    ]
    document = {"version": 1, "cluster": {"node_groups": groups}, "jobs": jobs}
    load = sluice.parse_workload(json.dumps(document))

    thin = [
        attempt.started_at_s
        for attempt in sluice.simulate(load, tasks="ltyarn").attempts
        if str(attempt.node.node_id).startswith("thin")
    ]

    assert [float(at_s) for at_s in range(2, 20, 2)] == thin[:9]


@pytest.mark.slow
def test_lenders_are_paid_back_by_the_long_term_rules_only():
    """A is idle for 50 s; then it runs alone until it has caught up, but not under mlrf."""
    apps = [("busy", "b", 0, [1] * 600), ("late", "a", 50, [1] * 300)]
    load = workload(4, [{"id": "a"}, {"id": "b"}], apps)
    options = {"decay": {"decay.half_life_s": 1e6}}

    for policy in ("ltyarn", "ltrf", "karma", "decay"):
        result = sluice.simulate(load, tasks=policy, settings=options.get(policy, {}))
        assert {"a": 4.0} == running_at(result, 75.5), policy
        assert {"a": 2.0, "b": 2.0} == running_at(result, 105.5), policy
    assert {"a": 2.0, "b": 2.0} == running_at(sluice.simulate(load, tasks="mlrf"), 75.5)


@pytest.mark.slow
def test_a_short_half_life_forgets_the_loan():
    apps = [("busy", "b", 0, [1] * 600), ("late", "a", 50, [1] * 300)]
    load = workload(4, [{"id": "a"}, {"id": "b"}], apps)

    result = sluice.simulate(load, tasks="decay", settings={"decay.half_life_s": 1.0})

    assert {"a": 2.0, "b": 2.0} == running_at(result, 60.5)


@pytest.mark.slow
def test_a_round_forgets_the_loan():
    apps = [("busy", "b", 0, [1] * 600), ("late", "a", 50, [1] * 300)]
    load = workload(4, [{"id": "a"}, {"id": "b"}], apps)

    result = sluice.simulate(load, tasks="ltyarn", settings={"ltyarn.round_s": 60})

    assert {"a": 4.0} == running_at(result, 55.5)
    assert {"a": 2.0, "b": 2.0} == running_at(result, 65.5)


@pytest.mark.slow
def test_who_arrives_as_a_round_begins_owes_nothing():
    """At 60 s all is forgotten, so that the newcomer has half of the containers at once."""
    apps = [("busy", "b", 0, [1] * 600), ("late", "a", 60, [1] * 300)]
    load = workload(4, [{"id": "a"}, {"id": "b"}], apps)

    result = sluice.simulate(load, tasks="ltyarn", settings={"ltyarn.round_s": 60})

    for at_s in (61.5, 65.5, 90.5):
        assert {"a": 2.0, "b": 2.0} == running_at(result, at_s), at_s


@pytest.mark.slow
def test_karma_without_a_shared_part_never_takes_the_guaranteed_part():
    """With alpha = 0 the late queue gets its own part at once, and not more."""
    apps = [("busy", "b", 0, [1] * 600), ("late", "a", 50, [1] * 300)]
    load = workload(4, [{"id": "a"}, {"id": "b"}], apps)

    result = sluice.simulate(load, tasks="karma", settings={"karma.alpha": 0})

    assert {"a": 2.0, "b": 2.0} == running_at(result, 75.5)


@pytest.mark.slow
def test_minimum_shares_come_before_debts_and_maximum_shares_hold():
    queues = [{"id": "a", "share_min": 3}, {"id": "b"}, {"id": "c", "share_max": 1}]
    apps = [("x", "a", 0, [1] * 300), ("y", "b", 0, [1] * 300), ("z", "c", 0, [1] * 300)]

    result = sluice.simulate(workload(6, queues, apps), tasks="ltyarn")

    assert {"a": 3.0, "b": 2.0, "c": 1.0} == running_at(result, 30.5)


def test_a_wide_task_must_fit_below_the_maximum_share():
    """Queue c has two of its three containers, and its next task needs two more."""
    queues = [{"id": "a"}, {"id": "c", "share_max": 3}]
    apps = [("x", "a", 0, [3] * 2), ("z", "c", 0, [3] * 6, {"units": 2})]

    result = sluice.simulate(workload(6, queues, apps), tasks="ltyarn")

    assert {"a": 2.0, "c": 2.0} == running_at(result, 1.5)


@pytest.mark.parametrize("least", [0.5, 1])
def test_a_minimum_share_of_one_container_comes_before_debts(least):
    """By its weight, queue a would wait for b, but for the first container."""
    queues = [{"id": "a", "share_min": least, "weight": 1e-6}, {"id": "b"}]
    apps = [("x", "a", 0, [1] * 20), ("y", "b", 0, [1] * 20)]

    result = sluice.simulate(workload(3, queues, apps), tasks="ltyarn")

    assert {"a": 1.0, "b": 2.0} == running_at(result, 5.5)


def test_wide_tasks_take_their_units():
    apps = [("wide", "a", 0, [2] * 4, {"units": 3}), ("thin", "b", 0, [2] * 20)]

    result = sluice.simulate(workload(4, ["a", "b"], apps), tasks="ltyarn")

    for tick in range(int(result.makespan_s)):
        assert sum(running_at(result, tick + 0.5).values()) <= 4


def test_skip_fills_what_wait_leaves_idle():
    """The chosen task needs 3 of 4 units while 2 run: skip starts a thin task, wait does not."""
    apps = [("long", "a", 0, [8, 8]), ("wide", "b", 1, [4], {"units": 3}), ("thin", "c", 1, [4])]
    load = workload(4, ["a", "b", "c"], apps)

    found = {
        mode: starts(sluice.simulate(load, tasks="ltyarn", settings={"head_of_line": mode}))
        for mode in ("skip", "wait")
    }

    assert ([1], [8]) == (found["skip"]["thin"], found["skip"]["wide"])
    assert [8] == found["wait"]["wide"]
    assert found["wait"]["thin"][0] > 1


def test_skip_drops_the_first_in_turn_and_goes_on():
    """The one container that is left is C's while B, whose turn it is, needs three."""
    apps = [
        ("A", "a", 0, [10, 10, 10]),
        ("B", "b", 1, [5, 5], {"units": 3}),
        ("C", "c", 2, [2, 2, 2, 2]),
    ]
    load = workload(4, ["a", "b", "c"], apps)

    found = starts(sluice.simulate(load, tasks="ltyarn", settings={"head_of_line": "skip"}))

    assert [2, 4, 6, 8] == found["C"]
    assert [10, 15] == found["B"]
    for tasks in POLICIES:
        said = sluice.why("C", source=load, tasks=tasks, at_s=5).reason.text()
        assert said == (
            "it is the turn of B, whose next task needs 3 containers,"
            " and no node has more than 0 free"
        )


def test_a_wide_task_does_not_starve():
    """After it was passed over three times it is waited for, although thin tasks never end."""
    apps = [("thin", "a", 0, [3, 2] * 60), ("wide", "b", 1, [2], {"units": 2})]

    found = starts(sluice.simulate(workload(2, ["a", "b"], apps), tasks="ltyarn"))

    assert found["wide"][0] < 20


def test_unit_weights_count_in_use_but_take_no_room():
    """A unit of weight 2 counts double, so that its queue runs half as often."""
    apps = [("fast", "a", 0, [1] * 90, {"unit_weight": 2}), ("slow", "b", 0, [1] * 90)]

    result = sluice.simulate(workload(3, ["a", "b"], apps), tasks="ltyarn")

    used = result.document()["accounts"]
    at_30 = [running_at(result, tick + 0.5) for tick in range(30)]
    assert 30 == sum(row.get("a", 0) for row in at_30)
    assert 60 == sum(row.get("b", 0) for row in at_30)
    assert used["a"]["used_container_s"] == 180


TWO_NODES = {
    "node_groups": [
        {"id": "fast", "containers": 1, "unit_weight": 2},
        {"id": "slow", "containers": 1},
    ]
}


@pytest.mark.parametrize(
    ("unit_weight", "fast_turns"),
    [(2, ["a", "b", "a", "b", "a", "b"]), (1, ["a"] * 6), (3, ["a", "b", "a", "b", "a", "b"])],
)
def test_a_unit_counts_by_the_node_that_it_is_on(unit_weight, fast_turns):
    """By hand, with weight 2: after 10 s a has counted 20 and b 10, so that b goes first, and the
    first in turn gets the first node. After 20 s both have 30, and a is first by its name.
    """
    fast, slow = TWO_NODES["node_groups"]
    cluster = {"node_groups": [{**fast, "unit_weight": unit_weight}, slow]}
    apps = [("x", "a", 0, [10] * 6), ("y", "b", 0, [10] * 6)]

    result = sluice.simulate(
        workload(cluster, ["a", "b"], apps), tasks="ltyarn", settings={"ltyarn.adaptive": False}
    )

    on_fast = sorted(
        (one.started_at_s, str(one.phase.job.pool.pool_id))
        for one in result.attempts
        if one.node.node_id == "fast-1"
    )
    assert on_fast == [(10.0 * turn, queue) for turn, queue in enumerate(fast_turns)]
    used = result.document()["accounts"]
    total = 6 * 10 * (unit_weight + 1)
    assert used["a"]["used_container_s"] + used["b"]["used_container_s"] == total


def test_what_a_queue_is_due_counts_by_the_nodes_too():
    """The capacity is three units, so that at the end of 60 s each is due half of 180."""
    apps = [("x", "a", 0, [10] * 6), ("y", "b", 0, [10] * 6)]
    result = sluice.simulate(
        workload(TWO_NODES, ["a", "b"], apps),
        tasks="ltyarn",
        settings={"ltyarn.adaptive": False, "ltyarn.probe_s": [60]},
    )
    accounts = result.document()["accounts"]
    assert [accounts[name]["used_container_s"] for name in ("a", "b")] == [90, 90]


@pytest.mark.parametrize(
    ("quanta", "expected"),
    [
        ({}, {"a": 2, "b": 1}),
        ({"a": 10}, {"a": 1, "b": 2}),
        ({"b": 10}, {"a": 2, "b": 1}),
        ({"a": 10, "b": 10}, {"a": 2, "b": 1}),
    ],
)
def test_a_queue_may_have_its_own_quantum(quanta, expected):
    """Of three containers at once: a is first by its name and counts its quantum, b is next; the
    third goes to the one with the smaller quantum, or to a.
    """
    queues = [{"id": name, "order": "ltrf"} for name in ("a", "b")]
    for queue in queues:
        if queue["id"] in quanta:
            queue["quantum_s"] = quanta[queue["id"]]
    apps = [("x", "a", 0, [20] * 6), ("y", "b", 0, [20] * 6)]

    result = sluice.simulate(workload(3, queues, apps), tasks="ltyarn")

    assert running_at(result, 0.5) == expected


def test_a_quantum_goes_down_the_tree_to_those_without_their_own():
    queues = [
        {"id": "top", "order": "ltrf"},
        {"id": "a", "parent": "top", "order": "ltrf", "quantum_s": 10},
        {"id": "a1", "parent": "a", "order": "ltrf"},
        {"id": "b", "parent": "top", "order": "ltrf"},
    ]
    apps = [("x", "a1", 0, [20] * 6), ("y", "b", 0, [20] * 6)]
    result = sluice.simulate(workload(3, queues, apps), tasks="ltyarn")

    assert running_at(result, 0.5) == {"a1": 1, "b": 2}


def test_without_queues_each_pool_is_a_queue():
    load = sluice.parse_workload(
        '{"version": 1, "cluster": {"containers": 2}, "jobs": ['
        '{"id": "x", "maps": {"tasks": 40, "avg_s": 1}},'
        '{"id": "y", "maps": {"tasks": 40, "avg_s": 1}}]}'
    )

    assert {"x": 1.0, "y": 1.0} == running_at(sluice.simulate(load, tasks="ltyarn"), 5.5)


def test_it_explains_whose_turn_it_is_and_why():
    apps = [("busy", "etl", 0, [3600] * 700), ("late", "ads", 180_000, [3600] * 300)]
    load = workload(4, ["etl", "ads"], apps)

    why = sluice.why("busy", source=load, tasks="ltyarn", at_s=182_000)

    assert "etl used 99 container-hours more than it paid for; ads is owed 99" in why.reason.text()


@st.composite
def worlds(draw):
    """Small clusters with a tree, tasks of unit size, and arrivals at any time."""
    names = ["a", "b", "guest"]
    apps = []
    for number in range(draw(st.integers(1, 5))):
        lengths = draw(st.lists(st.sampled_from([0.5, 1, 2, 3.3, 7]), min_size=1, max_size=12))
        arrival_s = draw(st.sampled_from([0, 0, 1, 2.5, 9]))
        apps.append((f"j{number}", draw(st.sampled_from(names)), arrival_s, lengths))
    options = {
        "ltyarn.round_s": draw(st.sampled_from([None, 4.0])),
        "ltyarn.discount_price": draw(st.sampled_from([1.0, 0.5])),
        "ltyarn.queue_par": draw(st.booleans()),
        "head_of_line": draw(st.sampled_from(["skip", "wait"])),
        "adaptive": draw(st.booleans()),
        "quantum_s": draw(st.sampled_from([0.3, 1.0, 20.0])),
    }
    order = draw(st.sampled_from(["fifo", "mlrf", "ltrf"]))
    tree = [dict(queue, order=order) for queue in TREE]
    return draw(st.integers(1, 5)), tree, apps, options


@settings(max_examples=60, deadline=None)
@given(worlds(), st.sampled_from(POLICIES))
def test_no_container_idles_while_a_task_waits(world, policy):
    """Acceptance (iv): with unit tasks sum g = min(R, demand), whatever the order."""
    containers, tree, apps, options = world
    if policy != "ltyarn":
        options = {key: value for key, value in options.items() if "." not in key}
    result = sluice.simulate(workload(containers, tree, apps), tasks=policy, settings=options)

    spans = [(one.started_at_s, one.finished_at_s, one.tasks) for one in result.attempts]
    arrived = {name: arrival_s for name, _, arrival_s, _ in apps}
    waits = [(arrived[str(one.key.job_id)], one.started_at_s, one.tasks) for one in result.attempts]
    for instant in sorted({start for start, _, _ in spans} | {end for _, end, _ in spans}):
        running = sum(tasks for start, end, tasks in spans if start <= instant < end)
        waiting = sum(tasks for start, end, tasks in waits if start <= instant < end)
        assert running <= containers
        assert not waiting or running == containers
        event(f"some wait: {waiting > 0}")


@settings(max_examples=40, deadline=None)
@given(worlds())
def test_probes_change_nothing(world):
    """Reading counters at odd instants gives the same run."""
    containers, tree, apps, options = world
    load = workload(containers, tree, apps)

    plain = sluice.simulate(load, tasks="ltyarn", settings=options)
    probed = sluice.simulate(
        load, tasks="ltyarn", settings=options | {"probe_s": [0.1, 1.7, 4, 5.55, 40]}
    )

    assert plain.digest == probed.digest
    assert 5 == len(probed.document()["probes"])


def test_with_equal_weights_and_no_history_the_first_step_is_memoryless():
    """Acceptance (v), for tasks."""
    apps = [("x", "a", 0, [4] * 9), ("y", "b", 0, [4] * 9), ("z", "guest", 0, [4] * 2)]
    load = workload(7, ["a", "b", "guest"], apps)
    first = [
        running_at(sluice.simulate(load, tasks=policy), 0.5)
        for policy in ("mlrf", "ltrf", "ltyarn")
    ]

    assert first[0] == first[1] == first[2]


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"queues": [{"id": "a", "parent": "no"}]}, "parent"),
        ({"queues": [{"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}]}, "parent"),
        ({"queues": [{"id": "a"}, {"id": "a"}]}, "id is given twice"),
        ({"queues": [{"id": "a", "weight": 0}]}, "weight"),
        ({"queues": [{"id": "a", "order": "lifo"}]}, "order"),
        ({"queues": [{"id": "a", "share_min": 2, "share_max": 1}]}, "share_max"),
        ({"queues": [{"id": "a", "share_min": 3}, {"id": "b", "share_min": 2}]}, "share_min"),
        ({"queues": [{"id": "a"}, {"id": "c", "parent": "a"}]}, "pool"),
        ({"units": 5}, "units"),
        ({"units": 0}, "units"),
        ({"unit_weight": 0}, "unit_weight"),
        ({"settings": {"ltyarn.round_s": 0}}, "round_s"),
        ({"settings": {"ltyarn.quantum_s": 0}}, "quantum_s"),
        ({"settings": {"ltyarn.discount_price": 0}}, "discount_price"),
        ({"settings": {"ltyarn.probe_s": [-1]}}, "probe_s"),
        ({"settings": {"karma.alpha": 2}}, "alpha"),
        ({"settings": {"ltyarn.head_of_line": "run"}}, "head_of_line"),
    ],
)
def test_bad_input_names_its_field(change, fragment):
    phase = {key: change.pop(key) for key in ("units", "unit_weight") if key in change}
    queues = change.get("queues", [{"id": "a"}])

    with pytest.raises(sluice.InvalidInput, match=fragment):
        workload(4, queues, [("x", "a", 0, [1], phase)], change.get("settings"))


@settings(max_examples=40, deadline=None)
@given(worlds(), st.sampled_from([0.3, 1.0, 4.0, 20.0]))
def test_counted_use_is_that_of_the_equation_at_any_instant(world, quantum_s):
    """Equation (15): a finished task counts its length, a running one at least the quantum."""
    containers, tree, apps, _ = world
    instants = [0.1, 1.7, 4, 5.55, 9, 14.2, 40]
    options = {"quantum_s": quantum_s, "adaptive": False, "probe_s": instants}
    result = sluice.simulate(workload(containers, tree, apps), tasks="ltrf", settings=options)

    for at_s in instants:
        found = result.document()["probes"][f"{at_s:g}"]["f"]
        used = dict.fromkeys(found, 0.0)
        for one in result.attempts:
            ran_s = min(at_s, one.finished_at_s) - one.started_at_s
            if one.finished_at_s > at_s:
                ran_s = max(quantum_s, ran_s) if one.started_at_s < at_s else 0.0
            for name in (str(one.key.job_id), str(one.phase.job.pool.pool_id)):
                if name in used:  # it has arrived
                    used[name] += one.tasks * max(0.0, ran_s)
        used["org"] = used["a"] + used["b"]
        assert found == {name: pytest.approx(units, abs=1e-9) for name, units in used.items()}


@settings(max_examples=60, deadline=None)
@given(worlds(), st.tuples(*[st.sampled_from([None, "none", 3.0, 4.0, 7.5])] * 3))
def test_each_queue_counts_its_children_in_its_own_round(world, rounds):
    """Equations (13) and (15), with the round of the queue above (thesis, 5.5.2.3).

    The queue org has a and b below it; guest is next to org. Charges of late arrivals are left out.
    """
    containers, _, apps, _ = world
    queues = [
        {"id": "top", "order": "ltrf"},
        {"id": "org", "parent": "top", "order": "ltrf"},
        {"id": "a", "parent": "org", "order": "ltrf"},
        {"id": "b", "parent": "org", "order": "ltrf"},
        {"id": "guest", "parent": "top", "order": "ltrf"},
    ]
    own = dict(zip(("top", "org", "a"), rounds, strict=True))
    for queue in queues:
        if own.get(queue["id"]) is not None:
            queue["round_s"] = own[queue["id"]]
    of_top = 5.0 if own["top"] is None else own["top"]
    of_org = of_top if own["org"] is None else own["org"]
    below = {"top": of_top, "org": of_org, "guest": of_top, "b": of_org}
    below["a"] = of_org if own["a"] is None else own["a"]
    parent = {"org": "top", "a": "org", "b": "org", "guest": "top"}
    instants = [0.1, 1.7, 4, 5.55, 9, 14.2, 40]
    quantum_s = 1.5
    options = {"ltyarn.round_s": 5, "ltyarn.quantum_s": quantum_s, "ltyarn.adaptive": False}
    load = workload(containers, queues, apps, options | {"ltyarn.probe_s": instants})

    result = sluice.simulate(load, tasks="ltyarn")

    for at_s in instants:
        probe = result.document()["probes"][f"{at_s:g}"]
        used = dict.fromkeys(probe["f"], 0.0)
        for one in result.attempts:
            leaf = str(one.phase.job.pool.pool_id)
            above = {str(one.key.job_id): leaf, leaf: parent[leaf], parent[leaf]: "top"}
            above.pop("top", None)
            for name, above_it in above.items():
                if name in used and one.started_at_s < at_s:
                    length_s = below[above_it]
                    from_s = 0.0 if length_s == "none" else at_s // length_s * length_s
                    from_s = max(from_s, one.started_at_s)
                    ran_s = min(at_s, one.finished_at_s) - from_s
                    if one.finished_at_s > at_s:
                        ran_s = max(quantum_s, ran_s)
                    used[name] += one.tasks * max(0.0, ran_s)
        counted = {name: probe["f"][name] - probe["phi"][name] for name in used}
        assert counted == {name: pytest.approx(units, abs=1e-9) for name, units in used.items()}


def test_a_queue_with_a_short_round_forgets_within_it_what_the_others_remember():
    """Of two containers, org and c have one each all the time. Within org, x has used 60 s when y
    arrives: by the endless round y would get all of org for a minute, were it not charged.
    """
    queues = [
        {"id": "org", "order": "ltrf", "round_s": 50},
        {"id": "a", "parent": "org", "order": "ltrf"},
        {"id": "b", "parent": "org", "order": "ltrf"},
        {"id": "c", "order": "ltrf"},
    ]
    apps = [("x", "a", 0, [1] * 200), ("y", "b", 61, [1] * 200), ("z", "c", 0, [1] * 400)]
    load = workload(2, queues, apps, {"ltyarn.probe_s": [110.5]})

    result = sluice.simulate(load, tasks="ltyarn")
    f = result.document()["probes"]["110.5"]["f"]

    assert (f["a"], f["b"]) == (pytest.approx(5.5, abs=1), pytest.approx(5.5, abs=1))
    assert f["org"] == pytest.approx(111, abs=1)
    assert f["c"] == pytest.approx(111, abs=1)


def test_use_is_only_kept_for_queues_whose_parent_never_forgets():
    queues = (
        Queue(queue_id=PoolId("org"), round_s=60.0),
        Queue(queue_id=PoolId("a"), parent=PoolId("org")),
        Queue(queue_id=PoolId("b"), parent=PoolId("org"), round_s=0.0),
        Queue(queue_id=PoolId("b1"), parent=PoolId("b")),
    )

    assert ShareRules(counts_in_rounds=True).remembered(queues) == {"org", "b1"}
    assert ShareRules(counts_in_rounds=True, round_s=9.0).remembered(queues) == {"b1"}
    assert ShareRules().remembered(queues) == {"org", "a", "b", "b1"}


def test_why_says_how_wide_a_task_is_and_how_much_is_free():
    """One of four containers is free, and the next task needs three."""
    apps = [("x", "a", 0, [10] * 3), ("y", "b", 1, [5] * 2, {"units": 3})]
    load = workload(4, ["a", "b"], apps)
    for policy in POLICIES:
        said = sluice.why("y", source=load, tasks=policy, at_s=1.5).reason.text()
        assert "its next task needs 3 containers, and no node has more than 1 free" in said


def test_a_task_gets_old_although_an_earlier_one_of_its_job_has_ended():
    """At 9 s: 1 and 0.5 s of two ended tasks, 8.5 s of a third, and a quantum of 4 s of y."""
    apps = [("x", "a", 0, [1, 0.5, 10]), ("y", "a", 8, [4])]
    options = {"quantum_s": 4.0, "adaptive": False, "probe_s": [4.2, 9]}

    result = sluice.simulate(workload(2, ["a"], apps), tasks="ltrf", settings=options)

    assert {"a": 14.0, "x": 10.0, "y": 4.0} == result.document()["probes"]["9"]["f"]


def test_the_quantum_of_a_queue_is_the_mean_of_many_active_jobs():
    """Of 90 jobs, some of which end between the probes; lengths are whole seconds."""
    lengths = {f"j{n}": [1 + (n + k) % 5 for k in range(2 + n % 3)] for n in range(90)}
    apps = [(name, "a", 0, one) for name, one in lengths.items()]
    options = {"probe_s": [2, 3, 5, 7, 9]}

    result = sluice.simulate(workload(50, ["a"], apps), tasks="ltrf", settings=options)

    for at_s, probe in result.document()["probes"].items():
        quanta = probe["quantum_s"]
        ended = dict.fromkeys(lengths, 0)
        for one in result.attempts:
            ended[str(one.key.job_id)] += one.finished_at_s <= float(at_s)
        active = [name for name, count in ended.items() if count < len(lengths[name])]
        assert quanta["a"] == pytest.approx(sum(quanta[name] for name in active) / len(active))
        assert len(active) > 64 or at_s != "2"


def test_the_quantum_of_a_tree_is_the_mean_of_many_queues_whose_quanta_change():
    """Each of 70 queues takes the mean of the tasks of its job that have ended."""
    names = [f"q{n}" for n in range(70)]
    apps = [(f"j{n}", name, 0, [1 + n % 3, 4 + n % 5, 99]) for n, name in enumerate(names)]

    result = sluice.simulate(
        workload(70, names, apps), tasks="ltrf", settings={"probe_s": [2.5, 6.5, 20]}
    )

    for probe in result.document()["probes"].values():
        quanta = probe["quantum_s"]
        (top,) = (name for name in quanta if name not in {*names, *(app[0] for app in apps)})
        assert quanta[top] == pytest.approx(sum(quanta[name] for name in names) / 70)


def test_a_queue_that_has_just_ended_its_last_job_keeps_its_quantum():
    """And the others take the mean of theirs at the same instant."""
    apps = [("x", "a", 0, [1]), ("y", "b", 0, [1, 5]), ("z", "b", 0, [3, 5])]
    options = {"quantum_s": 4.0, "probe_s": [1.5]}

    result = sluice.simulate(workload(3, ["a", "b"], apps), tasks="ltrf", settings=options)

    quanta = result.document()["probes"]["1.5"]["quantum_s"]
    assert {"a": 4.0, "b": 2.5, "y": 1.0, "z": 4.0} == {name: quanta[name] for name in "abyz"}
