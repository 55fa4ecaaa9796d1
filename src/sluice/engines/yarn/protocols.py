"""The requests of an ApplicationMaster to the ResourceManager and to NodeManagers.

Source: Hadoop's `yarn_service_protos.proto` and `yarn_protos.proto`; numbers are those of fields
there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from sluice.engines.yarn.credentials import Token, token_of
from sluice.engines.yarn.hadoop_rpc import HadoopConnection
from sluice.engines.yarn.protobuf import BadMessage, Fields, Message, Value

_MASTER = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
_CONTAINERS = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
_EPOCH_BITS = 40
_SUCCEEDED, _FAILED = 1, 2


class NodeState(IntEnum):
    """States of a node, with the numbers of `NodeStateProto`."""

    NEW = 1
    RUNNING = 2
    UNHEALTHY = 3
    DECOMMISSIONED = 4
    LOST = 5
    REBOOTED = 6
    DECOMMISSIONING = 7
    SHUTDOWN = 8


class ExitStatus(IntEnum):
    """Why the ResourceManager says that a container is over; others are the command's own."""

    ABORTED = -100  # its node is lost, or the application released it
    DISKS_FAILED = -101
    PREEMPTED = -102


GONE = frozenset(
    {NodeState.UNHEALTHY, NodeState.DECOMMISSIONED, NodeState.LOST, NodeState.SHUTDOWN}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Size of a container or a node. memory_mb in mebibytes."""

    memory_mb: int
    vcores: int

    def fields(self) -> Fields:
        """A `ResourceProto`."""
        return [(1, self.memory_mb), (2, self.vcores)]

    @classmethod
    def of(cls, said: Message) -> Size:
        """From a `ResourceProto`."""
        return cls(memory_mb=said.number(1), vcores=said.number(2))

    def within(self, most: Size) -> Size:
        """The part of it that is no larger than `most`, whose zeros are no limits."""
        return Size(
            memory_mb=min(self.memory_mb, most.memory_mb or self.memory_mb),
            vcores=min(self.vcores, most.vcores or self.vcores),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A granted container. raw_id: its `ContainerIdProto`.  token: starts it, once."""

    raw_id: bytes = field(repr=False)
    node_id: str
    priority: int
    token: Token = field(repr=False)

    @property
    def name(self) -> str:
        """The name as YARN writes it, and as the container's CONTAINER_ID says."""
        return container_name(self.raw_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """A node of the cluster that changed. node_id: `host:port`."""

    node_id: str
    rack: str
    size: Size
    used: Size
    state: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A container that is over."""

    name: str
    exit_status: int
    diagnostics: str

    @property
    def why(self) -> str:
        """A text for the driver."""
        if self.exit_status == ExitStatus.PREEMPTED:
            return "YARN took its container back for another queue"
        said = f": {self.diagnostics}" if self.diagnostics else ""
        return f"its container ended with {self.exit_status}{said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One container on one node, and on no other."""

    node_id: str
    rack: str
    size: Size
    priority: int

    def requests(self, count: int = 1) -> list[tuple[int, Value]]:
        """Return what YARN wants: a request for the node, one for its rack, and one for any place.

        count: 0 takes the request back.
        """
        host = self.node_id.rpartition(":")[0]
        return [
            (1, [(1, [(1, self.priority)]), (2, name), (3, self.size.fields()), (4, count),
                 (5, is_own)])
            for name, is_own in ((host, True), (self.rack, False), ("*", False))
        ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The answer to a heartbeat. node_tokens: by node, each sent only once.

    earlier: containers of an ApplicationMaster before this one.
    """

    granted: tuple[Container, ...] = ()
    earlier: tuple[Container, ...] = ()
    ended: tuple[Ended, ...] = ()
    nodes: tuple[NodeReport, ...] = ()
    node_tokens: Mapping[str, Token] = field(default_factory=dict)


class ResourceManager:
    """The ResourceManager as an ApplicationMaster sees it, over one connection.

    addresses: of the one, or of all of which one is active; a standby does not listen there.
    Every call raises OSError, RpcFault or BadMessage.
    """

    def __init__(self, addresses: Iterable[tuple[str, int]], token: Token) -> None:
        self._addresses, self._token = list(addresses), token
        self._rpc = self._connected()
        self._answered = 0  # the last heartbeat that was answered
        self.own_host = self._rpc.own_host
        self.largest = Size(memory_mb=0, vcores=0)

    def connect_again(self) -> None:
        """After a connection that broke: with another one first, if there are several."""
        self._rpc.close()
        self._addresses.append(self._addresses.pop(0))
        self._rpc = self._connected()

    def _connected(self) -> HadoopConnection:
        """A connection with the first address that takes one."""
        for _ in self._addresses[1:]:
            with contextlib.suppress(OSError):
                return HadoopConnection(self._addresses[0], _MASTER, self._token)
            self._addresses.append(self._addresses.pop(0))
        return HadoopConnection(self._addresses[0], _MASTER, self._token)

    def register(self, host: str, port: int) -> Allocation:
        """Say where this ApplicationMaster is; returns the containers of the one before."""
        said = self._rpc.call("registerApplicationMaster", [(1, host), (2, port), (3, "")])
        self.largest = Size.of(said.message(1))
        self._answered = 0
        return Allocation(
            earlier=tuple(_container(each) for each in said.messages(4)),
            node_tokens=_node_tokens(said.messages(6)),
        )

    def allocate(
        self, asks: Iterable[tuple[int, Value]] = (), release: Iterable[bytes] = ()
    ) -> Allocation:
        """The heartbeat. asks: of `Ask.requests`.  release: ids of containers to give back."""
        returned = [(2, raw_id) for raw_id in release]
        said = self._rpc.call("allocate", [*asks, *returned, (4, self._answered), (5, 0.5)])
        self._answered = said.number(2)
        if said.bytes(12):  # the key behind the tokens was changed
            self._token = token_of(said.message(12))
        return Allocation(
            granted=tuple(_container(each) for each in said.messages(3)),
            earlier=tuple(_container(each) for each in said.messages(17)),
            ended=tuple(
                Ended(
                    name=container_name(each.bytes(1)),
                    exit_status=each.number(4, -1000),
                    diagnostics=each.text(3).strip(),
                )
                for each in said.messages(4)
            ),
            nodes=tuple(_node_report(each) for each in said.messages(6)),
            node_tokens=_node_tokens(said.messages(9)),
        )

    def finish(self, *, has_succeeded: bool, why: str = "") -> bool:
        """Say that the application is over; to be called again until it returns true."""
        status = _SUCCEEDED if has_succeeded else _FAILED
        said = self._rpc.call("finishApplicationMaster", [(1, why), (2, ""), (3, status)])
        return bool(said.number(1))

    def close(self) -> None:
        """Close the connection."""
        self._rpc.close()


def start_container(
    container: Container, node_token: Token, command: str, environment: Mapping[str, str],
    credentials: bytes,
) -> None:  # fmt: skip
    """Start a command in a granted container. Raises OSError, RpcFault or BadMessage.

    command: of a shell, without double quotes.  credentials: the content of the container's file.
    """
    context: Fields = [
        (2, credentials),
        *((4, [(1, name), (2, value)]) for name, value in environment.items()),
        (5, command),
    ]
    token = container.token
    raw_token: Fields = [
        (1, token.identifier), (2, token.password), (3, token.kind), (4, token.service),
    ]  # fmt: skip
    rpc = HadoopConnection(_address_of(token), _CONTAINERS, node_token)
    try:
        said = rpc.call("startContainers", [(1, [(1, context), (2, raw_token)])])
    finally:
        rpc.close()
    for failed in said.messages(3):
        raise BadMessage(failed.message(2).text(1) or "the NodeManager refused the container")


def container_name(raw_id: bytes) -> str:
    """The name of a container from its `ContainerIdProto`. Raises BadMessage.

    >>> from sluice.engines.yarn.protobuf import encoded
    >>> application = [(1, 7), (2, 1700000000000)]
    >>> container_name(encoded([(2, [(1, application), (2, 1)]), (3, 2)]))
    'container_1700000000000_0007_01_000002'
    """
    said = Message(raw_id)
    attempt, number = said.message(2), said.number(3)
    application = attempt.message(1)
    epoch, number = number >> _EPOCH_BITS, number & (1 << _EPOCH_BITS) - 1
    return (
        f"container_{f'e{epoch:02d}_' if epoch else ''}{application.number(2)}_"
        f"{application.number(1):04d}_{attempt.number(2):02d}_{number:06d}"
    )


def address_of(service: str) -> tuple[str, int]:
    """The parts of `host:port`. Raises BadMessage."""
    host, _, port = service.rpartition(":")
    if not host or not port.isdigit():
        raise BadMessage(f"{service!r} is no address")
    return host.strip("[]"), int(port)


def _address_of(token: Token) -> tuple[str, int]:
    """Where a container's NodeManager is: the ResourceManager has looked its name up already."""
    return address_of(token.service)


def _container(said: Message) -> Container:
    return Container(
        raw_id=said.bytes(1),
        node_id=_node_id(said.message(2)),
        priority=said.message(5).number(1),
        token=token_of(said.message(6)),
    )


def _node_report(said: Message) -> NodeReport:
    return NodeReport(
        node_id=_node_id(said.message(1)),
        rack=said.text(3),
        used=Size.of(said.message(4)),
        size=Size.of(said.message(5)),
        state=said.number(7),
    )


def _node_id(said: Message) -> str:
    return f"{said.text(1)}:{said.number(2)}"


def _node_tokens(found: Iterable[Message]) -> dict[str, Token]:
    return {_node_id(each.message(1)): token_of(each.message(2)) for each in found}
