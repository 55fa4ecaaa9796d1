"""Settings of real runs. Source: engines spec, section 8 (limits of real attempts)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.core.settings import TimeoutSettings
from sluice.engines.base import Limits
from sluice.model.settings import SettingKind, declared, number, whole, word

if TYPE_CHECKING:
    from sluice.engines.node_weights import NodeWeights
    from sluice.engines.tls_files import TlsFiles
    from sluice.engines.unix_users import CustomerUsers


@dataclass(frozen=True, kw_only=True)
class TaskLimitSettings(TimeoutSettings):
    """Limits of each attempt and node. An attempt that exceeds a limit is ended and has failed."""

    task_wall_s: float | None = number(
        None,
        "seconds after which a real attempt is ended",
        above=0.0,
        reason="a limit of the site, for commands that may never end",
    )
    task_output_bytes_max: int | None = whole(
        None,
        "bytes that a real attempt may write",
        low=1,
        high=2.0**60,
        reason="a limit of the site, against a full disk",
    )
    task_memory_bytes_max: int | None = whole(
        None,
        "bytes of memory that a real attempt may use",
        low=1,
        high=2.0**60,
        reason="a limit of the site, against a machine out of memory",
    )

    node_lease_s: float | None = number(
        10.0,
        "seconds without a heartbeat after which a node of a real run is lost",
        above=0.0,
        may_be_none=True,
        reason="networks differ in how long a heartbeat may be late",
    )
    node_limits: str = word(
        "auto",
        "hold the tasks of a real run to the cpu, memory and io of their node where cgroup v2"
        " allows it, or never",
        "auto",
        "off",
    )
    io_bytes_per_s: float | None = number(
        None, "bytes that the disk of this machine moves in a second: 100 % of `io`", above=0.0
    )

    customer_users: str = declared(
        SettingKind.TEXT,
        "",
        "unix user of each customer, as in 'acme=alice, globex=bob': their tasks run as these users"
        " and read no file of each other",
    )
    customer_python: str = declared(
        SettingKind.TEXT,
        "",
        "Python that runs the tasks of these users, if they may not run that of Sluice",
        reason="goes with customer_users, where their users cannot read this Python",
    )

    reattach_s: float = number(
        60.0,
        "seconds that the nodes of a cluster go on without a driver, for --resume",
        reason="how long a restart of the driver takes differs by site",
    )
    unit_weights: str = declared(
        SettingKind.TEXT,
        "",
        "what a unit on a node of a cluster counts in long-term sharing, by its host, VM type or"
        " rack, as in 'm5=2, r7=1.5'; 1 for other nodes",
    )
    ray_map_slots_per_cpu: float = number(1.0, "map slots of a Ray node for each of its processors")
    ray_reduce_slots_per_cpu: float = number(
        1.0, "reduce slots of a Ray node for each of its processors"
    )
    ray_rack_label: str = declared(
        SettingKind.TEXT, "rack", "label of a Ray node that names its rack"
    )
    ray_type_label: str = declared(
        SettingKind.TEXT,
        "",
        "label of a Ray node that names its VM type; without it nodes have none",
    )

    ray_tls_certificate: str = declared(
        SettingKind.TEXT,
        "",
        "PEM file with the certificate of each machine of a Ray cluster; with it, what agents and"
        " data servers send is encrypted",
    )
    ray_tls_key: str = declared(
        SettingKind.TEXT, "", "PEM file with the key of that certificate, if it is not in it"
    )
    ray_tls_authority: str = declared(
        SettingKind.TEXT, "", "PEM file of the certificates to trust, if not that one"
    )
    ray_tls_name: str = declared(
        SettingKind.TEXT, "", "name in all these certificates, if not the address of each machine"
    )

    def tls(self) -> TlsFiles | None:
        """The files for TLS; None for none. Raises InvalidInput if they cannot be used."""
        if not self.ray_tls_certificate:
            return None
        from sluice.engines.tls_files import TlsFiles

        files = TlsFiles(
            certificate=self.ray_tls_certificate,
            key=self.ray_tls_key,
            authority=self.ray_tls_authority,
            name=self.ray_tls_name,
        )
        files.check()
        return files

    def node_weights(self) -> NodeWeights:
        """The weights of the nodes of a cluster. Raises InvalidInput if they cannot be read."""
        from sluice.engines.node_weights import NodeWeights

        return NodeWeights.of_words(self.unit_weights)

    def customers(self) -> CustomerUsers | None:
        """The users of customers who are kept apart; None for none. Raises InvalidInput."""
        from sluice.engines.unix_users import CustomerUsers

        return CustomerUsers.of_words(self.customer_users, self.customer_python)

    def limits(self) -> Limits:
        """The limits as the driver takes them."""
        return Limits(
            idle_s=self.task_timeout_s,
            wall_s=self.task_wall_s,
            output_bytes=self.task_output_bytes_max,
            memory_bytes=self.task_memory_bytes_max,
        )
