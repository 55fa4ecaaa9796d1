"""Where blocks lie, and what distance costs. Source: dynamicmr spec, section 10 (locality)."""

import json
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.runs import even_nodes, map_reduce, simulate, totals

from sluice.model.cluster import Locality
from sluice.reporting.run.trace import lines
from sluice.simulation.placement import BlockPlacement
from sluice.simulation.settings import SimulationSettings

JOB = map_reduce("j", 200, 1.0, 3, 1.0)


def blocks(cluster, *, seed=0, job=JOB, **settings):
    return BlockPlacement(cluster, SimulationSettings(**settings), seed).of(job)[0]


@given(st.integers(3, 12), st.integers(2, 4), st.integers(1, 5), st.integers(0, 9))
def test_replicas_are_one_anywhere_and_the_others_in_one_other_rack(nodes, racks, replicas, seed):
    cluster = even_nodes(nodes, 1, 1, racks=racks)
    rack_of = {node.node_id: node.rack for node in cluster.nodes}
    sizes = Counter(rack_of.values())
    for first, *others in blocks(cluster, seed=seed, replicas=replicas):
        assert len({first, *others}) == 1 + len(others), "no node holds a block twice"
        if others:
            (rack,) = {rack_of[other] for other in others}
            assert rack != rack_of[first]
            assert min(replicas - 1, sizes[rack]) == len(others)
        else:
            assert replicas == 1 or len(sizes) == 1 or nodes < racks


@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 9), st.integers(0, 9))
@example(60, 1, 7, 0)  # `sample` draws six of 59 from a copy of the list
@example(99, 1, 7, 0)  # and six of 98 by number
def test_blocks_are_those_that_choice_and_sample_draw(nodes, racks, replicas, seed):
    """Placements of earlier versions stay, although the draws are no longer made one by one."""
    cluster = replace(even_nodes(nodes, 1, 1, racks=racks), has_racks=True)
    draw = random.Random(f"{seed}/placement/j")
    of_rack = {
        rack: [node.node_id for node in cluster.nodes if node.rack == rack]
        for rack in dict.fromkeys(node.rack for node in cluster.nodes)
    }
    expected = []
    for _ in range(JOB.phases[0].tasks):
        first = draw.choice(cluster.nodes)
        others = [rack for rack in of_rack if rack != first.rack]
        near = of_rack[draw.choice(others) if others else first.rack]
        rest = [node_id for node_id in near if node_id != first.node_id]
        more = draw.sample(rest, min(replicas - 1, len(rest)))
        expected.append((first.node_id, *more))

    assert tuple(expected) == blocks(cluster, seed=seed, replicas=replicas)


def test_every_node_gets_its_share_of_first_replicas():
    """200 blocks on 5 nodes: each first on 40 or so, four standard deviations at most off."""
    firsts = Counter(block[0] for block in blocks(even_nodes(5, 1, 1, racks=2)))

    assert 5 == len(firsts)
    assert all(abs(count - 40) <= 4 * (200 * 0.2 * 0.8) ** 0.5 for count in firsts.values())


def test_in_a_cluster_of_one_rack_any_other_nodes_will_do():
    cluster = replace(even_nodes(4, 1, 1, racks=1), has_racks=True)

    assert all(3 == len(set(block)) for block in blocks(cluster))


def test_place_means_nothing_without_racks_and_for_reduces():
    settings = SimulationSettings()
    with_racks = BlockPlacement(even_nodes(4, 1, 1, racks=2), settings, 0)

    assert {} == BlockPlacement(even_nodes(4, 1, 1), settings, 0).of(JOB)
    assert {} == BlockPlacement(totals(4, 4), settings, 0).of(JOB)
    assert {0} == with_racks.of(JOB).keys()


def test_blocks_lie_where_the_seed_and_the_job_say():
    cluster = even_nodes(6, 1, 1, racks=2)

    assert blocks(cluster) == blocks(cluster, jitter=0.3, p_slow=0.1)
    assert blocks(cluster) != blocks(cluster, seed=1)
    assert blocks(cluster) != blocks(cluster, job=replace(JOB, job_id="k"))


FACTORS = {Locality.NODE: 1.0, Locality.RACK: 1.25, Locality.ANY: 2.0}


@pytest.mark.parametrize("heartbeat_s", [0.0, 1.0])
def test_distance_lengthens_each_map_and_stands_in_the_trace(heartbeat_s):
    """One copy of each block on four nodes: some maps must run in the rack, some outside."""
    cluster = even_nodes(4, 1, 1, racks=2)
    job = map_reduce("j", 40, 8.0, 4, 3.0)
    state = simulate(
        cluster, [job], replicas=1, rack_factor=1.25, remote_factor=2.0, heartbeat_s=heartbeat_s
    )
    placed = BlockPlacement(cluster, SimulationSettings(replicas=1), 0).of(job)[0]
    rack_of = {node.node_id: node.rack for node in cluster.nodes}
    said = [json.loads(line) for line in lines(state.closed)]
    seen = set()
    for attempt, line in zip(state.closed, said, strict=True):
        took_s = attempt.finished_at_s - attempt.started_at_s
        if attempt.key.phase == 1:
            assert line["locality"] is None
            assert pytest.approx(took_s) == 3.0
            continue
        (home,) = placed[attempt.key.task]
        node = attempt.launch.node_id
        near = Locality.NODE if node == home else Locality.ANY
        if near is Locality.ANY and rack_of[node] == rack_of[home]:
            near = Locality.RACK
        seen.add(near)
        assert near is attempt.launch.locality
        assert near.name.lower() == line["locality"]
        assert 8.0 * FACTORS[near] == pytest.approx(took_s)
    assert {Locality.NODE, Locality.RACK, Locality.ANY} == seen


@pytest.mark.slow
def test_more_replicas_make_more_maps_local():
    def local(replicas):
        cluster = even_nodes(9, 1, 1, racks=3)
        state = simulate(cluster, [map_reduce("j", 300, 2.0)], replicas=replicas, jitter=0.3)
        return sum(attempt.launch.locality is Locality.NODE for attempt in state.closed)

    assert local(1) < local(3)
