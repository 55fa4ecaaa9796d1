"""Heartbeats of nodes, and the reports that each heartbeat carries."""

from __future__ import annotations

import math
from typing import Final

from sluice.core.entries import Attempt
from sluice.core.events import NodeHeartbeat, TaskFailed, TaskFinished
from sluice.core.state import ClusterState
from sluice.model.cluster import Cluster
from sluice.model.ids import NodeId
from sluice.simulation.agenda import HEARTBEAT_RANK, Agenda

# What a heartbeat reports; an attempt is one that ended well.
Report = TaskFinished | TaskFailed | Attempt

_HAIR: Final = 1e-9  # of an interval: an end this soon after a heartbeat is reported with it


class Heartbeats:
    """The schedule: node i of n first at i/n of the interval, then once each interval."""

    def __init__(self, cluster: Cluster, interval_s: float, agenda: Agenda) -> None:
        self.interval_s = interval_s
        self._agenda = agenda
        self._share_s = interval_s / len(cluster.nodes)
        self._offset_s = {node.node_id: i * self._share_s for i, node in enumerate(cluster.nodes)}
        self._armed: set[NodeId] = set()
        # Neither armed nor silent. Kept, because a search of all nodes at each instant would make
        # each heartbeat as dear as the cluster is large.
        self._idle: dict[NodeId, None] = dict.fromkeys(self._offset_s)
        self.silent: set[NodeId] = set()  # nodes that are down
        self._reports: dict[NodeId, list[Report]] = {}

    def keep(self, node_id: NodeId, report: Report, now_s: float) -> None:
        """Keep a report for the node's next heartbeat."""
        reports = self._reports.get(node_id)
        if reports is None:
            reports = self._reports[node_id] = []
        reports.append(report)
        self.arm(node_id, now_s, at_once=True)

    def take(self, node_id: NodeId) -> list[Report] | None:
        """The node's reports at its heartbeat; None if the node is down."""
        self._armed.discard(node_id)
        if node_id in self.silent:
            return None
        self._idle[node_id] = None
        return self._reports.pop(node_id, [])

    def has_more(self, to_come: int) -> bool:
        """Whether the agenda, of `to_come` events, has more than heartbeats of idle nodes."""
        return to_come > len(self._armed) or bool(self._reports)

    def silence(self, node_id: NodeId) -> None:
        """The node went down, and its reports are lost."""
        self.silent.add(node_id)
        self._idle.pop(node_id, None)
        self._reports.pop(node_id, None)

    def awaken(self, node_id: NodeId) -> None:
        """The node is up, again or for the first time."""
        if node_id not in self._offset_s:  # it shares the instants of those that were there
            place = len(self._offset_s)
            self._offset_s[node_id] = (place * self._share_s) % (self.interval_s or 1.0)
        self.silent.discard(node_id)
        if node_id not in self._armed:
            self._idle[node_id] = None

    def arm(self, node_id: NodeId, now_s: float, *, at_once: bool = False) -> None:
        """Schedule the node's next heartbeat; `at_once` allows the current instant."""
        if node_id not in self._idle:
            return
        del self._idle[node_id]
        self._armed.add(node_id)
        offset_s = self._offset_s[node_id]
        # Counted in whole intervals, so that rounding cannot repeat a past heartbeat.
        count = max(0, math.floor((now_s - offset_s) / self.interval_s + 0.5))
        at_s = offset_s + count * self.interval_s
        hair_s = _HAIR * self.interval_s
        if at_s < now_s - hair_s or (at_s <= now_s + hair_s and not at_once):
            at_s = offset_s + (count + 1) * self.interval_s
        at_s = max(now_s, at_s)
        self._agenda.add(at_s, HEARTBEAT_RANK, NodeHeartbeat(at_s, node_id))

    def arm_all(self, state: ClusterState, now_s: float) -> None:
        """Schedule a heartbeat of every node that is up."""
        if self._idle:
            for node_id in list(self._idle):
                if state.nodes[node_id].is_up:
                    self.arm(node_id, now_s, at_once=True)
