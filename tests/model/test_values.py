"""A value that exists is valid; other input is refused with the field name and a hint."""

import copy
import math
import re
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.model.cluster import NODES_MAX, SLOTS_MAX, Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import ID_LENGTH_MAX, checked_id
from sluice.model.job import TASKS_MAX, Demand, Job, Phase, RunSpec
from sluice.model.lengths import (
    ConstantLengths,
    ListedLengths,
    TableLengths,
    WorkLengths,
    changed_lengths,
)
from sluice.model.members import Member
from sluice.model.prices import Prices, billed_units
from sluice.model.queues import Pool
from sluice.model.resources import RESOURCE_NAMES, Resources
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

NAN, INF = math.nan, math.inf

NODE = Node(node_id="n", map_slots=1)
POOL = Pool(pool_id="p")
PHASE = Phase(name="map", kind=SlotKind.MAP, tasks=1)
JOB = Job(job_id="j", pool="p", phases=(PHASE,))
PRICES = Prices(vm_hour_usd=1.0)


def refused(make):
    """Return the error; each must say what is wrong, where, and how to fix it."""
    with pytest.raises(InvalidInput) as caught:
        make()
    error = caught.value
    assert error.what
    assert error.where
    assert error.hint
    assert str(error).startswith(f"{error.where}: {error.what}. ")
    assert re.search(r"\. [A-Z].*\.$", str(error)), "the hint is a sentence"
    return error


# --- one wrong field at a time --------------------------------------------------------------------

WRONG = [
    (NODE, "map_slots", -1, "node 'n'"),
    (NODE, "map_slots", SLOTS_MAX + 1, "node 'n'"),
    (NODE, "reduce_slots", -1, "node 'n'"),
    (NODE, "containers", SLOTS_MAX + 1, "node 'n'"),
    *[(POOL, "weight", weight, "pool 'p'") for weight in (0.0, -1.0, NAN, INF)],
    (POOL, "map_slots_min", -1, "pool 'p'"),
    (POOL, "reduce_slots_min", -1, "pool 'p'"),
    (POOL, "map_slots_max", 0, "pool 'p'"),
    (POOL, "reduce_slots_max", -3, "pool 'p'"),
    *[(PHASE, "tasks", tasks, "map") for tasks in (0, -1, TASKS_MAX + 1)],
    *[(PHASE, "units", units, "map") for units in (0.0, -1.0, NAN, INF)],
    *[(PHASE, "unit_weight", weight, "map") for weight in (0.0, -1.0, NAN, INF)],
    *[(JOB, "submitted_at_s", at_s, "job 'j'") for at_s in (-1.0, NAN, INF)],
    *[(JOB, "deadline_at_s", at_s, "job 'j'") for at_s in (0.0, -5.0, NAN)],
    *[(JOB, "weight", weight, "job 'j'") for weight in (0.0, -1.0, NAN, INF)],
    *[(PRICES, "vm_hour_usd", usd, "prices") for usd in (-1.0, NAN, INF)],
    *[(PRICES, "billing_s", span_s, "prices") for span_s in (-1.0, NAN, INF)],
    *[(Resources(), name, -1.0, name) for name in RESOURCE_NAMES],
    *[(Resources(), name, NAN, name) for name in RESOURCE_NAMES],
    (Resources(), "memory", INF, "memory"),
    *[(ConstantLengths(2.0, 3.0), "average_s", wrong, "avg_s") for wrong in (0.0, -1.0, NAN, INF)],
    *[(ConstantLengths(2.0, 3.0), "longest_s", wrong, "max_s") for wrong in (1.9, NAN, INF)],
    *[(ListedLengths((1.0,)), "durations_s", (1.0, wrong), "durations_s") for wrong in (0.0, NAN)],
    (ListedLengths((1.0,)), "durations_s", (), "durations_s"),
    *[(WorkLengths(1.0, 1.0), "fixed_s", wrong, "fixed_s") for wrong in (-1.0, NAN, INF)],
    *[(WorkLengths(1.0, 1.0), "work_s", wrong, "work_s") for wrong in (-1.0, NAN, INF)],
    *[(WorkLengths(1.0, 1.0), "max_factor", wrong, "max_factor") for wrong in (0.9, NAN, INF)],
]


@pytest.mark.parametrize(
    ("value", "field", "wrong", "where"),
    WRONG,
    ids=[f"{type(value).__name__}.{field}={wrong}" for value, field, wrong, _ in WRONG],
)
def test_a_wrong_field_is_named_with_its_value_and_owner(value, field, wrong, where):
    error = refused(lambda: replace(value, **{field: wrong}))
    names = {"average_s": "avg_s", "longest_s": "max_s"}  # as the workload file calls them

    assert error.what.startswith(names.get(field, field))
    shown = wrong if not isinstance(wrong, tuple) else (wrong or ["empty"])[-1]
    assert str(shown) in error.what
    assert where == error.where


def test_a_fault_of_several_fields_names_one_of_them():
    assert (
        "rows has the task counts [2, 2]"
        == refused(lambda: TableLengths(((2, 1.0, 1.0), (2, 1.0, 1.0)))).what
    )
    assert "[0]" in refused(lambda: TableLengths(((0, 1.0, 1.0),))).what
    assert "rows is empty" == refused(lambda: TableLengths(())).what
    assert "rows, max_s" == refused(lambda: TableLengths(((1, 2.0, 1.0),))).where
    assert "rows, avg_s" == refused(lambda: TableLengths(((1, NAN, 1.0),))).where
    assert "both 0" in refused(lambda: WorkLengths(0.0, 0.0)).what


def test_a_deadline_error_shows_the_submission_instant():
    late = replace(JOB, submitted_at_s=50.0, deadline_at_s=51.0)
    error = refused(lambda: replace(late, deadline_at_s=50.0))

    assert "deadline_at_s is 50.0, not after submission at 50.0" == error.what
    assert "deadline_s" in error.hint


@pytest.mark.parametrize("after", [(0,), (1,), (-1,)])
def test_a_phase_follows_only_earlier_phases(after):
    error = refused(lambda: replace(JOB, phases=(replace(PHASE, after=after),)))

    assert "job 'j'" == error.where
    assert "phase 'map'" in error.what


def test_a_repeated_name_is_reported():
    assert "node 'n' is listed twice" == refused(lambda: Cluster(nodes=(NODE, NODE))).what
    assert (
        "job id 'j' is used twice" == refused(lambda: Workload(cluster=None, jobs=(JOB, JOB))).what
    )
    assert "the cluster has no node" == refused(lambda: Cluster(nodes=())).what


def test_a_missing_cluster_is_reported_when_it_is_needed():
    error = refused(Workload(cluster=None, jobs=(), source="w.yaml").required_cluster)

    assert ("cluster is missing", "w.yaml") == (error.what, error.where)


def test_limit_values_are_allowed():
    replace(NODE, map_slots=SLOTS_MAX)
    replace(PHASE, tasks=TASKS_MAX)
    replace(JOB, deadline_at_s=1e-9)
    assert Prices(vm_hour_usd=0.0, billing_s=0.0).rent_usd(100.0) == 0.0
    assert NODES_MAX >= 10_000


@pytest.mark.parametrize("value", [NODE, POOL, PHASE, JOB, PRICES, Resources()])
def test_values_do_not_change(value):
    field = next(iter(type(value).__slots__))
    with pytest.raises(FrozenInstanceError):
        setattr(value, field, None)


def test_an_error_can_be_given_an_outer_place():
    inner = InvalidInput("cpu is -1", where="cpu", hint="give 0 or more")

    assert "job 'a', cpu: cpu is -1. Give 0 or more." == str(inner.within("job 'a'"))
    assert "x." == str(InvalidInput("x"))
    assert "a: x." == str(InvalidInput("x").within("a"))


def test_an_error_that_quotes_another_message_ends_in_one_period():
    inner = InvalidInput("x", hint="give y")

    assert "a: x. Give y." == str(InvalidInput(str(inner), where="a"))
    assert "a: x. Give y. Or z?" == str(InvalidInput(str(inner), where="a", hint="or z?"))


# --- ids ------------------------------------------------------------------------------------------


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"]), min_size=1, max_size=200))
def test_printable_text_can_be_an_id(text):
    """`../..`, spaces and commas are valid too: an id is never used as a path."""
    assert text == checked_id(text, what="job")


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    ],
)
def test_an_id_may_be_written_with_joiners(text):
    """A family of emoji, and a Persian word."""
    assert text == checked_id(text, what="job")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\u200db", r"invisible character '\u200d' (zero width joiner) at position 2"),
        ("\U0001f468\u200d", r"invisible character '\u200d' (zero width joiner) at position 2"),
        ("\u200c\u0645", "zero width non-joiner) at position 1"),
        ("\u0645\u200d\u200d\u0645", "at position 2"),
        ("ab\u200b", "(zero width space) at position 3"),
        ("a\x07", r"control character '\x07' at position 2"),
    ],
)
def test_an_id_with_a_hidden_character_is_refused_with_its_name_and_place(text, problem):
    with pytest.raises(InvalidInput) as caught:
        checked_id(text, what="job")
    assert problem in caught.value.what


@pytest.mark.parametrize(
    "text",
    ["", "x" * (ID_LENGTH_MAX + 1), "a\nb", "a\tb", "\x00", "\x7f", "\x9b31m", "a\u2028b",
     "a\u2029b", "\u202egnp.exe", "\u200b", "\ud800", "\ue000"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda text: replace(JOB, job_id=text), "job"),
        (lambda text: replace(NODE, node_id=text), "node"),
        (lambda text: replace(POOL, pool_id=text), "pool"),
    ],
)
def test_characters_that_break_or_fake_a_line_are_refused_in_ids(make, what, text):
    """Control characters, line separators, direction overrides, invisible ones, surrogates."""
    error = refused(lambda: make(text))

    assert what == error.where
    assert str(error).isprintable(), "the message must not contain the raw characters"


# --- lengths --------------------------------------------------------------------------------------

ROWS = ((10, 30.0, 40.0), (20, 20.0, 28.0), (60, 12.0, 28.0))


@pytest.mark.parametrize(
    ("tasks", "avg_s", "max_s"),
    [(1, 30, 40), (10, 30, 40), (15, 25, 34), (20, 20, 28), (30, 18, 28), (60, 12, 28),
     (10**6, 12, 28)],
)  # fmt: skip
def test_a_table_is_linear_between_its_rows_and_constant_outside(tasks, avg_s, max_s):
    table = TableLengths(ROWS)

    assert (avg_s, max_s) == (table.avg_s(tasks), table.max_s(tasks))


rows = st.lists(
    st.tuples(st.integers(1, 500), st.floats(0.01, 1e6), st.floats(1, 5)),
    min_size=1,
    max_size=8,
    unique_by=lambda row: row[0],
).map(lambda some: tuple(sorted((n, avg_s, avg_s * more) for n, avg_s, more in some)))


@given(rows, st.integers(1, 600))
def test_a_table_never_leaves_the_rows_around_it(rows, tasks):
    table = TableLengths(rows)
    left = [row for row in rows if row[0] <= tasks][-1:] or rows[:1]
    right = [row for row in rows if row[0] >= tasks][:1] or rows[-1:]
    for column, length_s in ((1, table.avg_s(tasks)), (2, table.max_s(tasks))):
        ends_s = sorted((left[0][column], right[0][column]))
        rounding_s = 1e-12 * ends_s[1]
        assert ends_s[0] - rounding_s <= length_s <= ends_s[1] + rounding_s
    assert all(row[1:] == (table.avg_s(row[0]), table.max_s(row[0])) for row in rows)
    assert table.avg_s(tasks) <= table.max_s(tasks) + 1e-12 * rows[0][2]


def test_work_is_divided_among_tasks_and_the_fixed_part_is_not():
    lengths = WorkLengths(fixed_s=2.0, work_s=100.0, max_factor=1.5)

    assert pytest.approx([102.0, 12.0, 2.1]) == [lengths.avg_s(n) for n in (1, 10, 1000)]
    assert pytest.approx([153.0, 18.0, 3.15]) == [lengths.max_s(n) for n in (1, 10, 1000)]


def test_listed_lengths_do_not_depend_on_the_task_count():
    lengths = ListedLengths((1.0, 2.0, 6.0))

    assert (3.0, 6.0) == (lengths.avg_s(3), lengths.max_s(1000))


# --- prices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("billing_s", "length_s", "usd"),
    [(3600, 0, 2.0), (3600, 1, 2.0), (3600, 3600, 2.0), (3600, 3601, 4.0), (60, 61, 2 * 2 / 60),
     (0, 0, 0.0), (0, 1, 2 / 3600), (0, 5400, 3.0)],
)  # fmt: skip
def test_rent_is_rounded_up_to_whole_billing_units(billing_s, length_s, usd):
    """The price is $2 an hour. A rented VM pays for at least one billing unit."""
    prices = Prices(vm_hour_usd=2.0, billing_s=float(billing_s))

    assert pytest.approx(usd) == prices.rent_usd(float(length_s))


def test_rounding_does_not_cost_another_unit():
    """A sum such as ten times 360.00000000000006 s is billed as one hour."""
    hourly = Prices(vm_hour_usd=1.0, billing_s=3600.0)
    assert 1.0 == hourly.rent_usd(3600.0000000000005)
    assert 2.0 == hourly.rent_usd(3600.001)


def test_numbers_without_a_fraction_are_billed_as_they_are():
    """From 2**52 on; below, a billionth may be rounding. No number is too large."""
    for units in (2.0**52, 2.0**60, INF):
        assert units == billed_units(units)
    assert pytest.approx(2.0**52, rel=2e-9) == billed_units(2.0**52 - 1)
    assert billed_units(2.0**52 - 1) < 2.0**52 - 1


@given(st.floats(0, 1e7), st.floats(0, 1e7), st.sampled_from([0.0, 1.0, 60.0, 3600.0]))
def test_longer_is_never_cheaper(one_s, other_s, billing_s):
    prices = Prices(vm_hour_usd=3.0, billing_s=billing_s)
    short_s, long_s = sorted((one_s, other_s))

    assert prices.rent_usd(short_s) <= prices.rent_usd(long_s)
    assert prices.rent_usd(long_s) >= 3.0 * long_s / 3600 * (1 - 1e-9)


# --- clusters and resources -----------------------------------------------------------------------


def test_every_slot_can_serve_as_a_container():
    node = Node(node_id="n", map_slots=3, reduce_slots=2, containers=4)

    assert [3, 2, 9] == [node.slots(kind) for kind in SlotKind]
    assert 18 == Cluster(nodes=(node, replace(node, node_id="m"))).slots(SlotKind.CONTAINER)


def test_pool_guarantees_and_caps_depend_on_the_slot_kind():
    pool = Pool(pool_id="p", map_slots_min=3, reduce_slots_min=2, map_slots_max=7)

    assert [3, 2, 5] == [pool.slots_min(kind) for kind in SlotKind]
    assert [7, INF, INF] == [pool.slots_max(kind) for kind in SlotKind]


amounts = st.builds(Resources, **dict.fromkeys(RESOURCE_NAMES, st.floats(0, 1e9)))


@given(amounts, amounts, st.floats(0, 100))
def test_resources_add_and_scale_one_by_one(one, other, factor):
    assert (one + other).amounts() == tuple(
        a + b for a, b in zip(one.amounts(), other.amounts(), strict=True)
    )
    assert one.scaled(factor).amounts() == tuple(a * factor for a in one.amounts())
    assert one.is_zero == (one == Resources())


def test_a_job_is_maps_and_reduces_if_the_reduces_read_the_maps():
    reading, apart = (
        Phase(name="reduce", kind=SlotKind.REDUCE, tasks=1, after=after) for after in [(0,), ()]
    )

    assert replace(JOB, phases=(PHASE, reading)).is_map_reduce
    assert not replace(JOB, phases=(PHASE, apart)).is_map_reduce
    assert replace(JOB, phases=(apart,)).is_map_reduce


def test_one_task_that_demands_resources_is_a_demand_of_the_workload():
    demanding = replace(PHASE, name="more", demand=Demand(work=Resources(cpu=1)))

    assert not Workload(cluster=None, jobs=(JOB,)).has_demands
    jobs = (JOB, replace(JOB, job_id="k", phases=(PHASE, demanding)))
    assert Workload(cluster=None, jobs=jobs).has_demands


def test_a_job_counts_the_tasks_of_all_phases():
    two = replace(JOB, phases=(replace(PHASE, tasks=3), replace(PHASE, tasks=4, after=(0,))))

    assert 7 == two.tasks


def test_values_of_the_environment_are_not_part_of_a_representation():
    spec = RunSpec(folder="/", input=(), output="out", env=(("TOKEN", "secret"),))

    assert "output='out'" in repr(spec)
    assert "secret" not in repr(spec)


@pytest.mark.parametrize(
    "lengths",
    [
        ConstantLengths(2.0, 3.0),
        ListedLengths((1.0, 4.0)),
        TableLengths(((1, 2.0, 3.0), (5, 1.0, 2.0))),
        WorkLengths(1.0, 10.0),
    ],
)
def test_every_form_of_lengths_is_changed_at_any_task_count(lengths):
    changed = changed_lengths(lengths, factor=3.0, more_s=0.5)
    for tasks in (1, 3, 50):
        assert changed.avg_s(tasks) == pytest.approx(3 * lengths.avg_s(tasks) + 0.5)
        assert changed.max_s(tasks) == pytest.approx(3 * lengths.max_s(tasks) + 0.5)


@pytest.mark.parametrize("weight", [0, -1, INF, NAN])
def test_a_member_has_a_finite_weight_above_0(weight):
    with pytest.raises(InvalidInput, match="weight is"):
        Member(member_id="m", weight=weight, demands=(1,))


def test_the_average_of_listed_lengths_is_added_up_once(monkeypatch):
    """Policies ask for it at each decision, of phases with thousands of tasks."""
    lengths = ListedLengths((1.0, 2.0, 6.0))
    other = copy.copy(lengths)
    monkeypatch.setattr(math, "fsum", None)

    assert [3.0, 3.0] == [one.avg_s(3) for one in (lengths, other)]
    assert lengths == other
    assert repr(lengths) == "ListedLengths(durations_s=(1.0, 2.0, 6.0))"


def test_lengths_whose_sum_is_beyond_floats_average_to_infinity():
    assert math.inf == ListedLengths((1e308, 1e308)).avg_s(2)


def test_jobs_whose_tasks_name_the_same_resources_are_not_copied():
    work = Resources(other=(("gpu", 1.0),))
    one = replace(PHASE, demand=Demand(work=work).with_names(("gpu",)))
    other = replace(PHASE, demand=Demand(work=replace(work, other=(("gpu", 2.0),))))
    jobs = (replace(JOB, phases=(one,)), replace(JOB, job_id="k", phases=(one, one)))

    assert Workload(cluster=None, jobs=jobs).jobs is jobs
    mixed = Workload(cluster=None, jobs=(*jobs, replace(JOB, job_id="l", phases=(other,)))).jobs
    assert mixed[:2] == jobs
    assert mixed[2].phases[0].demand.fetch.other == (("gpu", 0.0),)


def test_a_demand_is_zero_if_each_part_of_it_is():
    some = Resources(io=1.0)

    assert Demand().is_zero
    for part in ("work", "fetch", "fetch_per_map"):
        assert not Demand(**{part: some}).is_zero
        others = dict.fromkeys({"work", "fetch", "fetch_per_map"} - {part}, some)
        assert not Demand(**others).is_zero
    for name in ("cpu", "io", "memory", "network"):
        assert not Resources(**{name: 1.0}).is_zero
