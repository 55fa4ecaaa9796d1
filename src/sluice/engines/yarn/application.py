"""The YARN application of a run as the driver sees it: its id, its ApplicationMaster, a record.

The record in the run's folder holds the token and the id. A resumed run reads it, and finds the
application of the run that was interrupted. An ApplicationMaster that dies is found again at the
address that the ResourceManager names next; the driver gives it what it knows of the containers.
"""

from __future__ import annotations

import base64
import contextlib
import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.cluster.run_record import RunRecord
from sluice.engines.cluster.wire import BrokenConnection
from sluice.engines.yarn.nodes import MASTER_MEMORY_MB, MASTER_VCORES, reported, usable
from sluice.engines.yarn.orders import ORDERS_VARIABLE, SECRET_NAME, command, written
from sluice.engines.yarn.peers import DRIVER, MasterLink
from sluice.engines.yarn.protobuf import BadMessage
from sluice.engines.yarn.protocols import address_of
from sluice.engines.yarn.rest import OVER, ResourceManagerRest, RestFault
from sluice.engines.yarn.settings import YarnSettings
from sluice.model.errors import EngineUnavailable
from sluice.store.private import make_private_folder

YARN_FOLDER = "yarn"  # in the folder of a run
RECORD_NAME = "application.json"
LOOK_S = 0.1  # between two questions where the ApplicationMaster is
END_S = 20.0
ATTEMPTS_MAX = 3  # ApplicationMasters that YARN starts for one run
_SCHEDULER = "yarn.resourcemanager.scheduler.address"
_SCHEDULER_PORT = 8030
_HAS_PAIR, _PAIR = "yarn.resourcemanager.ha.enabled", "yarn.resourcemanager.ha.rm-ids"
_HOST = "yarn.resourcemanager.hostname"
_FREE = ("free_memory_mb", "free_vcores")  # of a report of a node


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationRecord(RunRecord):
    """app_id: "" before it is submitted.  address: of the ResourceManager."""

    file = RECORD_NAME
    app_id: str = ""
    address: str = ""


class YarnApplication:
    """folder: of the run, for its application; private.  epoch: the life of the driver.

    grace_s: how long all goes on without driver. Raises EngineUnavailable or OSError.
    """

    def __init__(
        self,
        folder: Path,
        rest: ResourceManagerRest,
        settings: YarnSettings,
        *,
        epoch: int,
        grace_s: float,
    ) -> None:
        make_private_folder(folder)
        self._folder, self._rest, self._settings = folder, rest, settings
        self._epoch, self._grace_s = epoch, grace_s
        self.token = token_of(folder)
        self._app_id = (
            ApplicationRecord.read(folder) or ApplicationRecord(token=self.token)
        ).app_id
        if not self._app_id or self._is_over():
            self._submit()
        self._link: MasterLink | None = None
        self._look_at_s = 0.0
        self._wanted: dict[str, Mapping[str, Any]] = {}
        self._known: dict[str, Mapping[str, Any]] = {}
        self._seen: dict[str, Mapping[str, Any]] = {}  # nodes that were reported, and are not gone
        # Hosts that were given back. They are taken again when more nodes are asked for.
        self._returned: dict[str, Mapping[str, Any]] = {}
        self._more = 0  # nodes that were asked for, and have not come
        self._former: frozenset[str] = frozenset()  # hosts of the life before
        self._nodes_max = settings.yarn_nodes
        self._is_listed = self._looks_for_nodes = False

    def reports(self) -> list[dict[str, Any]]:
        """Return what is new since the last call. Raises EngineUnavailable."""
        found: list[dict[str, Any]] = []
        if self._link is None:
            if time.monotonic() < self._look_at_s:
                return []
            self._look_at_s = time.monotonic() + LOOK_S
            found = self._look()
        elif self._looks_for_nodes:
            found = self._more_nodes()
        if self._link is not None:
            try:
                found += self._link.messages()
            except BrokenConnection:
                self._part()
        return [report for report in found if self._note(report)]

    def send(self, request: Mapping[str, Any]) -> None:
        """Hand over a command; one that must outlive an ApplicationMaster is kept."""
        match request["do"]:
            case "provision":
                self._grow(request["nodes"])
                return
            case "restore":
                self._restore(request["rented"], request["taken"], request["returned"])
                return
            case "release":
                self._give_back(request["id"])
            case "serve":
                self._wanted[request["id"]] = request
        if self._link is not None:
            self._link.send(request)

    def stop(self) -> None:
        """End the application, with all that runs in its containers."""
        self.send({"do": "stop"})
        give_up_at_s = time.monotonic() + END_S
        with contextlib.suppress(EngineUnavailable):
            if self._link is None:
                self._rest.kill(self._app_id)
            while not self._is_over():
                if time.monotonic() > give_up_at_s:
                    self._rest.kill(self._app_id)
                    break
                time.sleep(0.05)
        self._part()
        (self._folder / RECORD_NAME).unlink(missing_ok=True)

    # --- more nodes and fewer -----------------------------------------------------------------

    def _grow(self, nodes: int) -> None:
        self._more += nodes
        self._looks_for_nodes = True
        if self._nodes_max is not None:
            self._nodes_max += nodes

    def _give_back(self, node_id: str) -> None:
        self._wanted.pop(node_id, None)
        self._known.pop(node_id, None)
        report = self._seen.pop(node_id, None)
        if report is not None:
            self._returned[report["host"]] = report
            if self._nodes_max is not None:
                self._nodes_max -= 1

    def _restore(self, rented: int, taken: Iterable[str], returned: Iterable[str]) -> None:
        self._former = frozenset(taken) - set(returned)
        self._returned = {host: {} for host in returned}
        first = self._nodes_max
        if first is not None:
            # The former hosts may include lost ones, and the returned ones may have been rented.
            most = max(len(self._former), first - len(self._returned))
            self._nodes_max = min(first + rented, most)

    def _more_nodes(self) -> list[dict[str, Any]]:
        """Look for nodes, later if the ResourceManager is away."""
        if time.monotonic() < self._look_at_s:
            return []
        self._look_at_s = time.monotonic() + LOOK_S
        try:
            found = self._new_nodes()
        except RestFault:
            raise
        except EngineUnavailable:
            return []
        self._looks_for_nodes = False
        return found

    def _is_taken(self, report: dict[str, Any]) -> bool:
        """Whether a node is one more of the run."""
        is_full = self._nodes_max is not None and len(self._seen) >= self._nodes_max
        is_again = report["host"] in self._returned
        if is_full or report["id"] in self._seen or (is_again and not self._more):
            return False
        self._more = max(0, self._more - 1)
        # Its former container may still be there: what was free at first is free soon.
        before = self._returned.pop(report["host"], {})
        report |= {key: before[key] for key in _FREE if key in before}
        self._seen[report["id"]] = report
        return True

    # --- the ApplicationMaster ----------------------------------------------------------------

    def _look(self) -> list[dict[str, Any]]:
        """Connect with the ApplicationMaster if there is one; returns nodes that are new."""
        try:
            said = self._rest.application(self._app_id)
        except RestFault:
            raise
        except EngineUnavailable:
            if not self._is_listed:
                raise
            return []  # the ResourceManager is away; what runs in containers goes on
        if said.get("state") in OVER:
            why = str(said.get("diagnostics") or "it said no reason").strip()
            return [{"report": "fault", "why": f"{self._app_id} has {said['state']}: {why}"}]
        try:
            address = address_of(str(said.get("amRPCAddress") or ""))
            link = MasterLink(address, token_key(self.token), DRIVER, epoch=self._epoch)
        except (BadMessage, BrokenConnection, OSError):
            return []  # it does not listen yet, or no more
        self._link = link
        for known in self._known.values():
            link.send({"do": "known", **known})
        for wanted in self._wanted.values():
            link.send(wanted)
        found = self._new_nodes()
        for each in found:  # of a driver before this one that could not say so any more
            if each.get("host") in self._returned:
                link.send({"do": "release", "id": each["id"]})
        return found

    def _new_nodes(self) -> list[dict[str, Any]]:
        """The nodes of the cluster that were not reported yet, after the ApplicationMaster is up:
        what it takes of its node is not free any more.
        """
        nodes = [reported(each) for each in usable(self._rest.nodes())]
        nodes.sort(key=lambda each: each["host"] not in self._former)
        here = {each["id"] for each in nodes}
        found: list[dict[str, Any]] = [
            {"report": "left", "id": node_id, "why": "YARN does not list the node any more"}
            for node_id in sorted(self._seen.keys() - here)
        ]
        found += [{"report": "node", **each} for each in nodes]
        if not self._is_listed:
            self._is_listed = True
            found.append({"report": "listed"})
        return found

    def _note(self, report: dict[str, Any]) -> bool:
        """Keep what outlives an ApplicationMaster; returns whether the launcher is to know."""
        match report.get("report"):
            case "node":
                return self._is_taken(report)
            case "serving":
                self._known[report["id"]] = {
                    key: report[key] for key in ("id", "container", "address")
                }
            case "unserved":
                self._known.pop(report["id"], None)
            case "left":
                self._known.pop(report["id"], None)
                self._wanted.pop(report["id"], None)
                self._seen.pop(report["id"], None)
        return True

    def _part(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    # --- the application ----------------------------------------------------------------------

    def _is_over(self) -> bool:
        try:
            return self._rest.application(self._app_id).get("state") in OVER
        except RestFault as fault:
            if (
                fault.status == HTTPStatus.NOT_FOUND
            ):  # the ResourceManager was started without its memory
                return True
            raise

    def _submit(self) -> None:
        app_id = self._rest.new_application()
        ApplicationRecord(token=self.token, app_id=app_id, address=self._rest.base).write(
            self._folder
        )
        self._app_id = app_id
        python = self._settings.yarn_python or sys.executable
        environment = {
            name: os.environ[name] for name in ("PYTHONPATH", "LANG") if os.environ.get(name)
        }
        orders = {
            "scheduler": self._scheduler(),
            "grace_s": self._grace_s,
            "python": python,
            "environment": environment,
        }
        environment_of_master = {**environment, ORDERS_VARIABLE: written(orders)}
        self._rest.submit(
            {
                "application-id": app_id,
                "application-name": "sluice",
                "application-type": "SLUICE",
                "queue": self._settings.yarn_queue,
                "am-container-spec": {
                    "commands": {"command": command(python, "sluice.engines.yarn.master")},
                    "environment": _entries(environment_of_master),
                    "credentials": {"secrets": _entries({SECRET_NAME: self._encoded_token()})},
                },
                "resource": {"memory": MASTER_MEMORY_MB, "vCores": MASTER_VCORES},
                "max-app-attempts": ATTEMPTS_MAX,
                "keep-containers-across-application-attempts": True,
                "unmanaged-AM": False,
            }
        )

    def _encoded_token(self) -> str:
        return base64.b64encode(self.token.encode()).decode()

    def _scheduler(self) -> str:
        """Where ApplicationMasters reach the ResourceManager: each of several, with commas."""
        rest = self._rest
        names = rest.configured(_PAIR) if rest.configured(_HAS_PAIR) == "true" else ""
        found = [
            self._scheduler_of(f".{name.strip()}") for name in names.split(",") if name.strip()
        ]
        return ",".join(found) or self._scheduler_of("")

    def _scheduler_of(self, suffix: str) -> str:
        """The scheduler of one ResourceManager. suffix: of its keys, where there are several."""
        host = (suffix and self._rest.configured(_HOST + suffix)) or self._rest.host
        configured = self._rest.configured(_SCHEDULER + suffix)
        if not configured:
            return f"{host}:{_SCHEDULER_PORT}"
        name, port = address_of(configured)
        return f"{host if name == '0.0.0.0' else name}:{port}"  # noqa: S104  # a name for "here"


def token_of(folder: Path) -> str:
    """The token of the run with this folder: kept there if it is a new one."""
    record = ApplicationRecord.read(folder)
    if record is None:
        record = ApplicationRecord(token=new_token())
        record.write(folder)
    return record.token


def end_application(folder: Path) -> None:
    """End the application of a run that no process drives, if it has left one."""
    record = ApplicationRecord.read(folder)
    if record is not None and record.app_id:
        with contextlib.suppress(EngineUnavailable):  # it ends itself after a while
            ResourceManagerRest(record.address).kill(record.app_id)


def _entries(values: Mapping[str, str]) -> dict[str, list[dict[str, str]]]:
    """A map as the REST interface takes it."""
    return {"entry": [{"key": key, "value": value} for key, value in values.items()]}
