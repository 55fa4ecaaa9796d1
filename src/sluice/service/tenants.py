"""The limits of each tenant: quotas, and which commands it may run. Admins set them.

Source: service spec, section 11, "quotas".
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from sluice.service.principals import Access
from sluice.service.problem import Problem
from sluice.store.service.access import Principal, Role

KIND = "tenant"
Count = Annotated[int, Field(ge=0, le=10**9, strict=True)]
Amount = Annotated[float, Field(ge=0, le=1e12, strict=True)]


class Tenant(BaseModel):
    """The limits of a tenant; null for none.

    open_jobs_max, waiting_tasks_max: at a time.  spend_day_usd_max: expected cost of what was
    submitted in the last 24 hours.  requests_s_max: requests a second, in bursts of ten seconds.
    commands: any, or only those of templates.  mcp_may_submit: agents over HTTP may change things.
    mcp_any_command: agents may submit other jobs than those of templates.
    """

    model_config = ConfigDict(extra="forbid")

    open_jobs_max: Count | None = None
    waiting_tasks_max: Count | None = None
    spend_day_usd_max: Amount | None = None
    requests_s_max: Annotated[float, Field(ge=0.001, le=1e6, strict=True)] | None = None
    commands: Literal["any", "templates"] = "any"
    mcp_may_submit: StrictBool = False
    mcp_any_command: StrictBool = False

    def quota(self) -> dict[str, Any]:
        """Return what the driver checks before it takes jobs of the tenant."""
        names = ("open_jobs_max", "waiting_tasks_max", "spend_day_usd_max")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Tenants:
    """The tenants of one web process, which alone changes them."""

    BURST_S = 10.0

    def __init__(self, access: Access) -> None:
        self._access = access
        self._known: dict[str, Tenant] | None = None
        self._left: dict[str, tuple[float, float]] = {}  # requests, at an instant

    async def of(self, name: str) -> Tenant:
        """A tenant; one that no admin has described has no limits."""
        if self._known is None:
            found = await self._access.do(self._access.store.documents.newest, KIND)
            self._known = {one.name: Tenant.model_validate(one.content) for one in found}
        return self._known.get(name, Tenant())

    def forget(self) -> None:
        """They have changed."""
        self._known = None

    async def check_rate(self, who: Principal) -> None:
        """Raise Problem 429 for a tenant that asks too often. Admins may."""
        if who.role.includes(Role.ADMIN):
            return
        most = (await self.of(who.tenant)).requests_s_max
        if most is None:
            return
        now_s = time.monotonic()
        left, at_s = self._left.get(who.tenant, (most * self.BURST_S, now_s))
        left = min(most * self.BURST_S, left + (now_s - at_s) * most)
        if left < 1.0:
            raise Problem(429, f"the tenant {who.tenant} may ask {most:g} times a second",
                          where="requests_s_max", hint="ask more slowly",
                          retry_after_s=max(1, round((1.0 - left) / most)))  # fmt: skip
        self._left[who.tenant] = (left - 1.0, now_s)
