"""The limits of a live run: those of each attempt, and its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from sluice.engines.base import Limits
from sluice.engines.retention import FORGET_S
from sluice.engines.segments import SegmentLimits
from sluice.model.ids import NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSettings:
    """The limits of a live run.

    patience_s: how long nothing may run and nothing be due before the run is given up.
    nodes: those that the first jobs wait for, so that who orders or admits them sees them all.
    nodes_s: how long a node may take to come up, or to come back when a run is resumed, before the
    run goes on without it.
    reattach_s: how long attempts go on without a driver. A pause up to that is time of the run: it
    is part of the length of what ran on. A longer one is not.  forget_s: with an intake, how long a
    job that is over is kept.  segments: how long a part of the journal grows, with an intake.
    """

    limits: Limits = field(default=Limits())
    patience_s: float = 30.0
    nodes: tuple[NodeId, ...] = ()
    nodes_s: float = 10.0
    reattach_s: float = 0.0
    forget_s: float = FORGET_S
    segments: SegmentLimits = field(default=SegmentLimits())
