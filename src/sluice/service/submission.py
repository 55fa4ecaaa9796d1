"""The jobs that a tenant may submit: templates or any command, within its quotas.

Source: service spec, section 11, "What" and "quotas".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluice.model.errors import InvalidInput
from sluice.service.context import Context
from sluice.service.problem import Problem
from sluice.service.templates import KIND, Template, filled
from sluice.store.service.access import Principal, Role

QUOTA_S = 30  # when a tenant above its quota may try again


async def ready_job(who: Principal, given: Context, job: dict[str, Any]) -> dict[str, Any]:
    """The job that is asked for, its template filled. Raises Problem where it may not be run."""
    await check_commands(who, given)
    if "template" not in job:
        await check_any_command(who, given)
        return job
    unknown = sorted(job.keys() - {"template", "arguments", "id"})
    arguments = job.get("arguments", {})
    if unknown or not isinstance(arguments, dict):
        hint = f"leave out {unknown[0]:.60}" if unknown else "give an object"
        raise Problem(
            422, "a job of a template has `template` and `arguments`", where="job", hint=hint
        )
    made = filled(await template_of(given, job["template"]), arguments)
    return {"id": job["template"], **made, **({"id": job["id"]} if "id" in job else {})}


async def check_any_command(who: Principal, given: Context) -> None:
    """Raise Problem for a tenant that may run the commands of templates alone. An admin may."""
    if who.role.includes(Role.ADMIN):
        return
    if (await given.tenants.of(who.tenant)).commands == "templates":
        raise Problem(403, f"the tenant {who.tenant} may submit jobs of templates alone",
                      where="job", hint="GET /v1/templates lists them")  # fmt: skip


async def submitted(who: Principal, given: Context, message: dict[str, Any]) -> dict[str, Any]:
    """The driver's answer to a submission within the quotas. Raises Problem 429 for one above."""
    quota = {} if who.role.includes(Role.ADMIN) else (await given.tenants.of(who.tenant)).quota()
    try:
        return await given.backend.ask_in_turn({**message, "user": who.user, "quota": quota})
    except InvalidInput as error:
        if error.where not in quota:
            raise
        raise Problem(429, error.what, where=error.where, hint=error.hint,
                      retry_after_s=QUOTA_S) from None  # fmt: skip


async def check_commands(who: Principal, given: Context) -> None:
    """Raise Problem where the commands of several tenants would run as one account.

    Source: service spec, section 11. An admin may run what it wants: it is that account.
    """
    if given.shared_user or who.role.includes(Role.ADMIN):
        return
    tenants = await given.access.do(given.access.store.tenants)
    if len(tenants) > 1:
        raise Problem(
            403,
            f"the commands of {len(tenants)} tenants would run as one account, which can read the"
            " files of all",
            where="service.shared_user",
            hint="an admin sets `service: {shared_user: true}` where that is wanted",
        )


def replay(found: Mapping[str, Any]) -> dict[str, str]:
    """The header that says that this answer was given before."""
    return {"Idempotent-Replayed": "true"} if found.get("is_repeated") else {}


async def template_of(given: Context, name: object) -> Template:
    """The template of this name. Raises InvalidInput."""
    found = None
    if isinstance(name, str):
        found = await given.access.do(given.access.store.documents.find, KIND, name)
    if found is None:
        raise InvalidInput(f"there is no template {name!r:.60}", where="job.template",
                           hint="GET /v1/templates lists them")  # fmt: skip
    return Template.model_validate(found.content)
