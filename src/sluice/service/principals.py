"""Who asks: by a token, by the session of a browser, or through the owner's own socket.

Source: service spec, section 11.
"""

from __future__ import annotations

import asyncio
import getpass
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from sluice.model.errors import SluiceError
from sluice.service.problem import Problem
from sluice.store.service.access import AccessStore, Principal, Role
from sluice.store.service.links import LINK_PREFIX
from sluice.store.service.places import ServicePlace

COOKIE = "sluice_session"
SECURE_COOKIE = "__Host-sluice_session"  # over TLS
LINK_COOKIE = "sluice_link"  # of a browser that has opened a link to a job
SECURE_LINK_COOKIE = "__Host-sluice_link"
IS_OWNER = "sluice.is_owner"  # in the scope of what came through the private socket
ONCE_PREFIX = "once_"  # of a login link
LOGIN_S = 60.0
DROP_EVERY_S = 86400.0  # how often old lines of the audit are looked for
_WHO_PATH = "/v1/whoami"
_Result = TypeVar("_Result")
Proof = tuple[str, ...]


class Access:
    """The store of tokens behind one thread, and the login links that were not used yet."""

    def __init__(self, place: ServicePlace) -> None:
        self._thread = ThreadPoolExecutor(1, "access")
        self._store = self._thread.submit(AccessStore, place).result()
        user = getpass.getuser()
        self.owner = Principal(tenant=user, user=user, role=Role.ADMIN, via="socket")
        self._links: dict[str, float] = {}

    async def do(self, work: Callable[..., _Result], *given: Any) -> _Result:  # noqa: ANN401  # of whatever method
        """The result of a method of the store: `access.do(access.store.tokens)`."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *given)

    @property
    def store(self) -> AccessStore:
        """Only for `do`."""
        return self._store

    def close(self) -> None:
        """The store is not used any more."""
        self._thread.submit(self._store.close).result()
        self._thread.shutdown()

    async def drop_old_lines(self) -> None:
        """Drop what the audit need not keep, now and once a day."""
        while True:
            with suppress(SluiceError):  # of a full disk: the lines stay for a day more
                await self.do(self._store.drop_old)
            await asyncio.sleep(DROP_EVERY_S)

    def new_link(self) -> str:
        """A code that opens one session of the owner within a minute."""
        now_s = time.monotonic()
        self._links = {code: end_s for code, end_s in self._links.items() if end_s > now_s}
        code = f"{ONCE_PREFIX}{secrets.token_urlsafe(32)}"
        self._links[code] = now_s + LOGIN_S
        return code

    def use_link(self, code: str) -> bool:
        """Whether the code was good; it is not a second time."""
        return self._links.pop(code, 0.0) > time.monotonic()

    async def principal(self, request: Request) -> Principal:
        """Raises Problem 401."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme:
            found = None
            if scheme.lower() == "bearer":
                found = await self.of_token(token.strip())
        elif request.scope.get(IS_OWNER):
            return self.owner
        else:
            found = await self._of_cookies(request.cookies)
        if found is None:
            raise Problem(
                401,
                "the token is unknown or was revoked" if scheme else "who asks is not known",
                where="Authorization",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return found

    async def is_allowed(self, proof: Proof) -> bool:
        """Whether what was taken as a proof before is still one."""
        authorization, cookie, is_owner = proof
        headers = {"authorization": authorization, "cookie": cookie}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items() if value]
        try:
            await self.principal(
                Request({"type": "http", "headers": raw, IS_OWNER: bool(is_owner)})
            )
        except Problem:
            return False
        return True

    async def of_token(self, token: str) -> Principal | None:
        """Whose token or link to a job it is; None for one that is worth nothing."""
        if token.startswith(LINK_PREFIX):
            return await self.do(self._store.principal_of_link, token)
        return await self.do(self._store.principal_of, token)

    async def _of_cookies(self, cookies: Mapping[str, str]) -> Principal | None:
        """Whose browser it is; one that is logged in needs no link."""
        secret = cookies.get(SECURE_COOKIE) or cookies.get(COOKIE, "")
        found = await self.do(self._store.session, secret, self.owner) if secret else None
        link = cookies.get(SECURE_LINK_COOKIE) or cookies.get(LINK_COOKIE, "")
        if found is None and link:
            found = await self.do(self._store.principal_of_link, link)
        return found


def proof_of(request: Request) -> Proof:
    """The proof in a request of who makes it, for `Access.is_allowed`."""
    is_owner = "yes" if request.scope.get(IS_OWNER) else ""
    return request.headers.get("authorization", ""), request.headers.get("cookie", ""), is_owner


def _check_link(who: Principal, request: Request) -> None:
    """Raise Problem 403 for what a link does not show: all but reading its one job."""
    is_its_job = request.path_params.get("job_id") == who.only_job
    is_shown = request.method == "GET" and (is_its_job or request.url.path == _WHO_PATH)
    if who.only_job is not None and not is_shown:
        raise Problem(403, "this link shows one job, and nothing else", where=request.url.path,
                      hint=f"GET /v1/jobs/{who.only_job}, or log in")  # fmt: skip


def needs(role: Role) -> Callable[[Request], Awaitable[Principal]]:
    """A dependency: who asks, and may do what this role may. Raises Problem 401 and 403."""

    async def principal(request: Request) -> Principal:
        found: Principal = await request.app.state.access.principal(request)
        request.state.principal = found
        _check_link(found, request)
        await request.app.state.context.tenants.check_rate(found)
        if not found.role.includes(role):
            raise Problem(
                403,
                f"the role {found.role} may not do this; {role} may",
                where=f"{request.method} {request.url.path}",
            )
        return found

    return principal


Viewer = Annotated[Principal, Depends(needs(Role.VIEWER))]
Submitter = Annotated[Principal, Depends(needs(Role.SUBMITTER))]
Operator = Annotated[Principal, Depends(needs(Role.OPERATOR))]
Admin = Annotated[Principal, Depends(needs(Role.ADMIN))]
