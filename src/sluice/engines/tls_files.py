"""TLS from PEM files, for the agents of a run and for its data servers.

All machines of the run have the files at the same paths; each may have a certificate of its own.
The side that connects checks the certificate; that it may connect is proved with the run's token.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from dataclasses import dataclass

from sluice.model.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """Paths of PEM files. certificate: of this machine.  key: "" if it is in the same file.

    authority: certificates that vouch for those of the others; "" for `certificate` itself.
    name: which all certificates have; "" if each has the address of its machine.
    """

    certificate: str
    key: str = ""
    authority: str = ""
    name: str = ""

    def check(self) -> None:
        """Raise InvalidInput for files that cannot be used, or are another one elsewhere."""
        for path in (self.certificate, self.key, self.authority):
            if path and not path.startswith("/"):
                raise InvalidInput(
                    f"the path {path!r} is relative",
                    where="TLS",
                    hint="give an absolute path, which is the same on all machines",
                )
        self._check_handshake(self.server_context(), self.client_context())

    def _check_handshake(self, server: ssl.SSLContext, client: ssl.SSLContext) -> None:
        """Raise InvalidInput if this machine would not trust a machine with the same files."""
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        client.check_hostname = bool(self.name)  # else each certificate has an address
        sides = (
            client.wrap_bio(to_client, to_server, server_hostname=self.name or None),
            server.wrap_bio(to_server, to_client, server_side=True),
        )
        for side in (*sides, *sides):
            with suppress(ssl.SSLWantReadError):
                try:
                    side.do_handshake()
                except ssl.SSLCertVerificationError as error:
                    raise InvalidInput(
                        f"the certificate is not accepted: {error.verify_message.rstrip('.')}",
                        where=self.certificate,
                        hint="give one that is valid now, that ray_tls_authority vouches for, and"
                        " that has ray_tls_name if there is one",
                    ) from error

    def server_context(self) -> ssl.SSLContext:
        """For the side that listens. Raises InvalidInput."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        try:
            context.load_cert_chain(self.certificate, self.key or None)
        except OSError as error:
            raise InvalidInput(
                f"the certificate cannot be used: {error.strerror or error}",
                where=self.certificate,
                hint="give a PEM file with the certificate, and one with its key",
            ) from error
        return context

    def client_context(self) -> ssl.SSLContext:
        """For the side that connects. Raises InvalidInput."""
        authority = self.authority or self.certificate
        try:
            context = ssl.create_default_context(cafile=authority)
        except OSError as error:
            raise InvalidInput(
                f"the certificates cannot be used: {error.strerror or error}",
                where=authority,
                hint="give a PEM file of the certificates to trust",
            ) from error
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return context
