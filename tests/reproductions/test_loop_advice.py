"""Advice judged in held-out worlds, and what its page says."""

import json
import math
from dataclasses import replace

import pytest

from sluice.api.sources import parse_workload
from sluice.bootstrap.advising import candidates
from sluice.bootstrap.advising.candidates import OBJECTIVES_KNOWN, everyone, portfolio
from sluice.bootstrap.advising.day_runs import simulated
from sluice.bootstrap.advising.measures import over_common_jobs
from sluice.bootstrap.scheduler_rows import row_of
from sluice.reproductions.loop import judging, training
from sluice.reproductions.loop.advice_worlds import RANGES, WORLDS_EACH, advice_world
from sluice.reproductions.loop.day import TENANTS, Day
from sluice.reproductions.loop.judging import (
    OBJECTIVES,
    SINGLE_BEST,
    Judged,
    JudgeTask,
    advice_views,
    judged,
    summaries,
)
from sluice.reproductions.loop.other_views import training_views
from sluice.reproductions.loop.training import Trained, spreads, table, trained

pytestmark = pytest.mark.no_invariants


def choice(rule, regret, *, world=0, history=0, abstained=False, why=""):
    return Judged(
        world=world, seed=0, objective="bill_usd", history=history, rule=rule, scheduler=rule,
        regret=regret, abstained=abstained, why=why,
    )  # fmt: skip


@pytest.mark.parametrize("kind", RANGES)
def test_worlds_are_within_their_ranges_and_half_are_contended(kind):
    worlds = [advice_world(kind, number) for number in range(WORLDS_EACH)]
    ranges = RANGES[kind]
    assert len({(world.load, world.cv) for world in worlds}) == WORLDS_EACH
    assert [world.contention for world in worlds].count("shared") == WORLDS_EACH // 2
    for world in worlds:
        low, high = ranges.load
        assert low * 0.74 <= world.load <= high
        assert ranges.deadlines[0] <= world.deadlines <= ranges.deadlines[1]
        assert sum(tenant.work for tenant in world.tenants) == pytest.approx(1)


def test_held_out_worlds_have_tenants_that_no_training_world_has():
    assert all(advice_world("training", number).tenants == TENANTS for number in range(12))
    held_out = [advice_world("held-out", number) for number in range(12)]
    assert all(world.tenants != TENANTS for world in held_out)
    assert {len(world.tenants) for world in held_out} == {3, 4}


def test_single_bests_are_schedulers_and_known_to_advice():
    known = {one.text for one in everyone(is_contended=False)}
    for text in SINGLE_BEST.values():
        assert row_of(text)[0] == text
        assert text in known


def test_what_training_shows_is_a_mean_of_worlds_and_two_spreads():
    one = Trained(is_contended=False, name="S", measure="bill_usd", worlds=[[-1, -2], [-3, -6]])
    assert one.mean == pytest.approx(-3)
    assert one.between == pytest.approx(math.sqrt(2 * 1.5**2))
    assert one.within == pytest.approx(math.sqrt((0.5 + 4.5) / 2))
    alone = replace(one, worlds=[[-1]])
    assert (alone.between, alone.within) == (0, 0)


def test_a_training_world_is_judged_like_a_race(monkeypatch):
    known = portfolio(is_contended=False)
    assert "ALS" in known
    few = {name: known[name] for name in ("S", "LS", "GS")}
    monkeypatch.setattr(training, "portfolio", lambda **_: few)
    found = trained(1, worlds=[0])
    rows = list(table(found))
    assert {row["parts"] for row in rows} == set(few)
    bills = [float(row["bill_usd"]) for row in rows]
    assert bills == sorted(bills)
    assert bills[0] < -0.1, "some combination is cheaper than fair"
    assert [row["measure"] for row in spreads(found)] == list(OBJECTIVES_KNOWN)
    page, _ = training_views(found, 1)
    assert page.rows == tuple(rows)


def test_summaries_are_geometric_means_and_the_share_of_the_gap():
    rows = [
        choice("single best", 2.0), choice("single best", 8.0, world=1),
        choice("advise", 1.0, history=3), choice("advise", 2.0, world=1, history=3, abstained=True),
    ]  # fmt: skip
    single, advise = summaries(rows)
    assert single.regret == pytest.approx(4.0)
    assert (single.worst, single.gap_closed) == (8.0, 0.0)
    assert advise.regret == pytest.approx(math.sqrt(2))
    assert advise.gap_closed == pytest.approx(0.75)
    assert (advise.abstained, advise.choices) == (1, 2)


def test_the_page_lists_what_was_missed_and_why():
    rows = [choice("single best", 1.0), choice("advise", 1.0, history=1),
            choice("advise", 1.5, world=1, history=1, why="the best was not tried")]  # fmt: skip
    page, missed = advice_views(rows, 1)
    assert page.rows[1]["choice"] == "advise, 1 days"
    assert "1 of 2 choices" in page.why
    assert [row["why"] for row in missed.rows] == ["the best was not tried"]
    assert len(advice_views(rows[:2], 1)) == 1


def test_combinations_that_refuse_jobs_are_compared_by_bills_only():
    """Where a refused job costs nothing, the jobs that are taken would have its room."""
    day = parse_workload(json.dumps(Day(hours=0.1, nodes=1, load=0.9, seed=1).document()))
    fair, refusing = "order=fair", "admission=capacity+slots=lent+order=fair"
    runs = {text: simulated(day, text, 0) for text in (fair, refusing)}
    assert runs[refusing].refused
    assert set(judging._costs(runs, "bill_usd")) == {fair, refusing}
    slowdowns = judging._costs(runs, "slowdown_p95")
    assert slowdowns == {fair: over_common_jobs([runs[fair]])[0]["slowdown_p95"]}
    assert "admission=" in judging._full("bill_usd")
    assert "admission=" not in judging._full("slowdown_p95")


def test_a_small_world_from_end_to_end(monkeypatch):
    small = replace(advice_world("held-out", 0), hours=0.1, nodes=1)
    monkeypatch.setattr(judging, "advice_world", lambda *_: small)
    monkeypatch.setattr(judging, "HISTORIES", {"bill_usd": (1, 2), "slowdown_p95": (1,)})
    monkeypatch.setattr(judging, "_SECONDS", 0.2)
    few = everyone(is_contended=False)[:5]
    monkeypatch.setattr(judging, "everyone", lambda **_: few)
    monkeypatch.setattr(candidates, "_FEWEST", 3)
    found = judged(JudgeTask(0, 0))
    assert json.dumps([one.document() for one in found])
    assert {one.objective for one in found} == set(OBJECTIVES)
    for objective, histories in (("bill_usd", [1, 2]), ("slowdown_p95", [1])):
        rows = [one for one in found if one.objective == objective]
        assert [one.history for one in rows if one.rule == "advise"] == histories
        assert {"fair", "full", "single best", "random"} <= {one.rule for one in rows}
        assert all(one.regret >= 1 for one in rows)
        assert all(one.regret > 1 or one.why == "" for one in rows if one.rule == "advise")
