"""The client's side of SASL DIGEST-MD5: who holds a Hadoop token proves it.

Source: RFC 2831, with quality of protection `auth`. The user name and the password are the token's
identifier and password in base 64, as Hadoop's `SaslRpcServer` has it.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, field

_PART = re.compile(r'\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^,"]*))\s*(?:,|$)')


class DigestRefused(Exception):
    """The server's part is not as it must be."""


def directives(text: str) -> dict[str, str]:
    """The parts of a challenge.

    >>> directives('realm="default",nonce="a,b",qop="auth",charset=utf-8')
    {'realm': 'default', 'nonce': 'a,b', 'qop': 'auth', 'charset': 'utf-8'}
    """
    return {
        match[1]: match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
        for match in _PART.finditer(text)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """One proof. user, password: as texts.  uri: service and host, such as `/default`."""

    user: str
    password: str = field(repr=False)
    realm: str
    nonce: str
    uri: str
    client_nonce: str

    @classmethod
    def of_token(cls, identifier: bytes, password: bytes, challenge: str, uri: str) -> Digest:
        """For a Hadoop token and the server's challenge. Raises DigestRefused."""
        said = directives(challenge)
        if "nonce" not in said or "auth" not in said.get("qop", "auth").split(","):
            raise DigestRefused("it does not offer authentication alone (hadoop.rpc.protection)")
        return cls(
            user=base64.b64encode(identifier).decode(),
            password=base64.b64encode(password).decode(),
            realm=said.get("realm", ""),
            nonce=said["nonce"],
            uri=uri,
            client_nonce=secrets.token_urlsafe(18),
        )

    def response(self) -> str:
        """The client's answer to the challenge."""
        return (
            f'charset=utf-8,username="{self.user}",realm="{self.realm}",nonce="{self.nonce}",'
            f'nc=00000001,cnonce="{self.client_nonce}",digest-uri="{self.uri}",maxbuf=65536,'
            f"response={self.proof('AUTHENTICATE')},qop=auth"
        )

    def check(self, answer: str) -> None:
        """Raise DigestRefused if the server has not proved that it knows the password, too."""
        if directives(answer).get("rspauth") != self.proof(""):
            raise DigestRefused("the server does not know the token's password")

    def proof(self, method: str) -> str:
        """RFC 2831, section 2.1.2.1: `response` with AUTHENTICATE, `rspauth` with no method.

        >>> Digest(
        ...     user="chris",
        ...     password="secret",
        ...     realm="elwood.innosoft.com",
        ...     nonce="OA6MG9tEQGm2hh",
        ...     uri="imap/elwood.innosoft.com",
        ...     client_nonce="OA6MHXh6VqTrRk",
        ... ).proof("AUTHENTICATE")
        'd388dad90d4bbd760a152321f2143af7'
        """
        secret = _md5(f"{self.user}:{self.realm}:{self.password}".encode())
        first = _md5(secret + f":{self.nonce}:{self.client_nonce}".encode()).hex()
        second = _md5(f"{method}:{self.uri}".encode()).hex()
        return _md5(
            f"{first}:{self.nonce}:00000001:{self.client_nonce}:auth:{second}".encode()
        ).hex()


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()
