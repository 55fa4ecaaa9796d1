"""The REST interface of a ResourceManager. Source: Hadoop's documentation of it, and the YARN spec.

Answers are outside data: they are bounded, and a shape that is not as it must be raises
EngineUnavailable with the address.

Of a pair of ResourceManagers one is active. The standby answers requests for the cluster with 307
and where the active one is (`RMWebAppFilter` of Hadoop), so that any of them may be asked first.
"""

from __future__ import annotations

import getpass
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

from sluice.ingest.servers.web import KERBEROS, KERBEROS_HINT, asks_for_kerberos, why_silent
from sluice.model.errors import EngineUnavailable, InvalidInput

ANSWER_BYTES_MAX = 1 << 26
TIMEOUT_S = 10.0
_CLUSTER = "/ws/v1/cluster"
_NONE_ACTIVE = b"There is no active RM right now"
OVER = frozenset({"FINISHED", "FAILED", "KILLED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class YarnNode:
    """A running node. node_id: `host:port`.  memory and processors: in all, and free now."""

    node_id: str
    host: str
    rack: str
    memory_mb: int
    vcores: int
    free_memory_mb: int
    free_vcores: int


def checked_address(text: str, where: str) -> str:
    """The web address of a ResourceManager, or those of a pair with a comma between them.

    Raises InvalidInput for a text that is not one.
    """
    for each in text.split(","):
        parts = urllib.parse.urlsplit(each.strip())
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/"):
            raise InvalidInput(
                f"{each[:200]!r} is not the address of a ResourceManager",
                where=where,
                hint="give its web address, such as http://rm:8088",
            )
    return text


class RestFault(EngineUnavailable):
    """An answer with an error. status: of HTTP."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class _Standby(EngineUnavailable):
    """A standby has answered. active: the address that it names; "" without one."""

    def __init__(self, base: str, active: str) -> None:
        sends = f"sends to {active}" if active else "knows no active ResourceManager"
        super().__init__(f"{base} is a standby, and {sends}")
        self.active = active


class _Redirections(urllib.request.HTTPRedirectHandler):
    """Leaves those for the cluster to `_asked`, also of requests that change something."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        *given: Any,  # noqa: ANN401  # as in the base class
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(req.full_url).path.startswith(_CLUSTER):
            return None
        return super().redirect_request(req, *given)


class ResourceManagerRest:
    """base: such as `http://rm:8088`, or the addresses of a pair with a comma between them.

    user: as whom to ask, where YARN takes anybody's word.
    """

    def __init__(self, base: str, user: str = "") -> None:
        self.base = base.rstrip("/")
        self._bases = [each.strip().rstrip("/") for each in base.split(",")]  # the active one first
        self._user = user or getpass.getuser()
        # An HTTP proxy of the environment is for the world outside.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Redirections)

    @property
    def host(self) -> str:
        """The host of the ResourceManager that has answered last."""
        return urllib.parse.urlsplit(self._bases[0]).hostname or ""

    def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  # JSON
        """The JSON answer to a request below the cluster's resource; None without JSON.

        Raises RestFault for an error, EngineUnavailable without an answer.
        """
        return self.request(method, _CLUSTER + path, body)

    def configured(self, name: str) -> str:
        """A property of the ResourceManager's configuration; "" where it does not say."""
        try:
            said = self.request("GET", f"/conf?format=json&name={urllib.parse.quote(name)}")
            return str(said["property"]["value"])
        except (EngineUnavailable, KeyError, TypeError):
            return ""

    def nodes(self) -> list[YarnNode]:
        """The nodes that run. Raises EngineUnavailable."""
        said = self.call("GET", "/nodes?states=RUNNING")
        try:
            return [
                YarnNode(
                    node_id=str(each["id"]),
                    host=str(each["nodeHostName"]),
                    rack=str(each["rack"]),
                    memory_mb=int(each["usedMemoryMB"]) + int(each["availMemoryMB"]),
                    vcores=int(each["usedVirtualCores"]) + int(each["availableVirtualCores"]),
                    free_memory_mb=int(each["availMemoryMB"]),
                    free_vcores=int(each["availableVirtualCores"]),
                )
                for each in (said.get("nodes") or {}).get("node", [])
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._strange("its list of nodes", error) from error

    def application(self, app_id: str) -> Mapping[str, Any]:
        """Return what it knows of an application. Raises EngineUnavailable."""
        said = self.call("GET", f"/apps/{urllib.parse.quote(app_id)}")
        if not isinstance(said, dict) or not isinstance(said.get("app"), dict):
            raise self._strange("what it says of an application")
        found: Mapping[str, Any] = said["app"]
        return found

    def new_application(self) -> str:
        """The id of an application that may be submitted. Raises EngineUnavailable."""
        said = self.call("POST", "/apps/new-application")
        if not isinstance(said, dict) or "application-id" not in said:
            raise self._strange("its answer to a new application")
        return str(said["application-id"])

    def submit(self, context: Mapping[str, Any]) -> None:
        """Submit an application. Raises EngineUnavailable."""
        self.call("POST", "/apps", context)

    def kill(self, app_id: str) -> None:
        """End an application. Raises EngineUnavailable."""
        self.call("PUT", f"/apps/{urllib.parse.quote(app_id)}/state", {"state": "KILLED"})

    def request(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  # JSON
        """Do what `call` does, for a path of the whole server."""
        failures: list[EngineUnavailable] = []
        bases, tried = [*self._bases], set[str]()
        while bases:
            base = bases.pop(0)
            tried.add(base)
            try:
                answer = self._asked(base, method, path, body)
            except RestFault:
                raise
            except EngineUnavailable as error:
                failures.append(error)
                active = error.active if isinstance(error, _Standby) else ""
                if active and active not in tried:
                    bases = [active, *(one for one in bases if one != active)]
                continue
            self._bases = [base, *(one for one in self._bases if one != base)]
            return answer
        if len(failures) == 1:
            raise failures[0]
        raise EngineUnavailable(f"no ResourceManager is active: {'; '.join(map(str, failures))}")

    def _asked(self, base: str, method: str, path: str, body: object) -> Any:  # noqa: ANN401  # JSON
        """The answer of one ResourceManager. Raises _Standby, and as `call`."""
        joint = "&" if "?" in path else "?"
        request = urllib.request.Request(  # noqa: S310  # the scheme is checked with the address
            f"{base}{path}{joint}user.name={urllib.parse.quote(self._user)}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Accept": "application/json", "Content-Type": "application/json"},
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                text = answer.read(ANSWER_BYTES_MAX)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(base, request, error) from error
        except (OSError, HTTPException) as error:
            raise EngineUnavailable(
                f"no ResourceManager answers at {base}: {why_silent(error)}"
            ) from error
        if not text:
            return None
        if _NONE_ACTIVE in text[:200]:
            raise _Standby(base, "")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            if method != "GET":  # some changes are acknowledged in words
                return None
            raise self._strange(f"its answer to {method} {path}", error) from error

    def _strange(self, what: str, error: Exception | None = None) -> EngineUnavailable:
        detail = f": {error!r}" if error else ""
        return EngineUnavailable(
            f"{self.base}: {what} is not as a ResourceManager's is{detail}. Is it its web address?"
        )


def _refusal(
    base: str, request: urllib.request.Request, error: urllib.error.HTTPError
) -> EngineUnavailable:
    """The error for an answer with an error of HTTP."""
    if asks_for_kerberos(error):
        return RestFault(f"{base}: {KERBEROS}. Instead, {KERBEROS_HINT}.", error.code)
    if error.code == HTTPStatus.TEMPORARY_REDIRECT:
        there = urllib.parse.urlsplit(error.headers.get("Location") or "")
        if not there.netloc:  # none is active now
            return _Standby(base, "")
        if there.path == urllib.parse.urlsplit(request.full_url).path:
            return _Standby(base, f"{there.scheme}://{there.netloc}")
    why = _fault_in(_body_of(error))
    if why.startswith("<"):
        why = f"{error.reason} ({error.code}). It answers with a web page: is it its web address?"
        return RestFault(f"{base}: {why}", error.code)
    return RestFault(f"{base}: {why or error.reason} ({error.code})", error.code)


def _body_of(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(1 << 16)
    except (OSError, HTTPException):  # its status says enough
        return b""


def _fault_in(text: bytes) -> str:
    """The message of a remote exception; the first words of anything else."""
    try:
        said = json.loads(text)["RemoteException"]
        return str(said["message"]).splitlines()[0]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return text.decode(errors="replace").strip()[:200]
