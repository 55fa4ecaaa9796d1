"""An embedded Ray cluster for many tests: each engine is a later life of one driver."""

import time

from tests.engines.fault_proxy import FaultProxy
from tests.engines.test_local_engine import Bench, left_of, marked

from sluice.core.events import NodeJoined
from sluice.engines.cluster.managed import ManagedEngine
from sluice.engines.ray.bridge_process import BridgeProcess, RayPlace
from sluice.engines.ray.launcher import RayLauncher
from sluice.engines.ray.nodes import NodeRule

START_S = 120.0  # of all raylets and actors, on a machine that is very busy
GRACE_S = 300.0  # the other engines have their turn between two lives


class KeptLauncher(RayLauncher):
    """Leaves the bridge and the cluster to the next life, as a driver that crashes does.

    faults: those of the network to each node server, as of `FaultProxy`; None for a good network.
    """

    def __init__(self, *args, faults=None, **options):
        super().__init__(*args, **options)
        self.faults, self.proxies = faults, []
        self.bridge = None

    def open(self):
        super().open()
        self.bridge = self._manager

    def join(self, node, address):
        if self.faults is not None:
            self.proxies.append(FaultProxy(address, **self.faults))
            address = self.proxies[-1].address
        super().join(node, address)

    def close(self):
        self._manager = None
        super().close()
        if self.bridge is not None:
            self.bridge._channel.close()
        for proxy in self.proxies:
            proxy.close()


class RayLives:
    """A cluster with a raylet for each node, and the engines that drive it one after the other."""

    def __init__(self, folder, nodes):
        self.folder, self.scratch, self.nodes = folder, folder / "s", nodes
        self.epoch = 0
        self._place = RayPlace(raylets=len(nodes), grace_s=GRACE_S)
        self._zero_s = time.monotonic()
        self._bridges = []

    def clock(self):
        return time.monotonic() - self._zero_s

    def engine(self, *, clock=None, serves=None, **options):
        """The engine of the next life; it takes over what runs.

        serves: the epoch of the core, if it counts its own.
        """
        self.epoch += 1
        launcher = KeptLauncher(
            self.folder / "ray",
            self.scratch,
            self._place,
            NodeRule(embedded=self.nodes),
            epoch=self.epoch,
            **{"lease_s": 30.0} | options,
        )
        engine = ManagedEngine(launcher, serves or self.epoch, clock or self.clock)
        engine.launcher = launcher
        return engine

    def started(self, engine):
        """A bench on an engine whose nodes are all up."""
        engine.start()
        self._bridges.append(engine.launcher.bridge)
        bench = Bench(engine, self.clock, [], epoch=self.epoch, scratch=self.scratch)
        bench.wait_for(NodeJoined, count=len(self.nodes), patience_s=START_S)
        return bench

    def crash(self, engine):
        """Give an engine up as it is: nothing is ended, and its connections close."""
        for agent in engine._agents.values():
            agent._disconnect()
        engine._agents.clear()
        engine._is_stopped = True
        engine._board.shut()
        engine.launcher.close()

    def end(self):
        """End the cluster; nothing of it is left."""
        BridgeProcess(self.folder / "ray", self._place).stop()
        for bridge in self._bridges:
            if bridge._process is not None:
                bridge._process.wait()
        assert [] == left_of(marked(self.folder))
