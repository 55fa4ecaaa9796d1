"""Links that show one job to who has them: signed, with an end, and kept nowhere.

A link names its tenant's generation of links. Ending them begins the next generation, so that all
older links are worth nothing from then on. Source: service spec, section 11.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass

from sluice.store.service.documents import Documents

LINK_PREFIX = "sh_"
_KIND = "links"
_LINK_CHARACTERS_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link that shows a job. maker: who made it.  ends_at_s: seconds since 1970."""

    job_id: str
    tenant: str
    maker: str
    ends_at_s: int


class Links:
    """The links of a service; used by the thread of its `AccessStore`. key: of the signatures."""

    def __init__(self, key: bytes, documents: Documents) -> None:
        self._key, self._documents = key, documents

    def made(self, link: Link) -> str:
        """The text of a link."""
        fields = [link.job_id, link.tenant, link.maker, link.ends_at_s, self._number(link.tenant)]
        content = _encoded(json.dumps(fields).encode())
        return f"{LINK_PREFIX}{content}.{self._signature(content)}"

    def read(self, text: str) -> Link | None:
        """The link of a text; None for one that was not made here, or that has ended."""
        content, _, signature = text.removeprefix(LINK_PREFIX).partition(".")
        if len(text) > _LINK_CHARACTERS_MAX or not text.isascii():
            return None
        if not hmac.compare_digest(signature, self._signature(content)):
            return None
        job_id, tenant, maker, ends_at_s, number = json.loads(
            base64.urlsafe_b64decode(content + "=" * (-len(content) % 4))
        )
        if ends_at_s < time.time() or number != self._number(tenant):
            return None
        return Link(job_id=job_id, tenant=tenant, maker=maker, ends_at_s=ends_at_s)

    def end(self, tenant: str, author: str) -> None:
        """All links of a tenant are worth nothing from now on."""
        self._documents.write(_KIND, tenant, {}, author)

    def _number(self, tenant: str) -> int:
        found = self._documents.find(_KIND, tenant)
        return 0 if found is None else found.version

    def _signature(self, content: str) -> str:
        made = hashlib.blake2b(content.encode(), key=self._key, digest_size=32, person=b"link")
        return _encoded(made.digest())


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
