"""The first three frames of a connection: each side proves that it knows the token of the run.

1. node to driver: the version, and a random number (the challenge to the driver).
2. driver to node: the version, a random number (the challenge to the node), which session it is,
   and how many messages of that session it has received.
3. node to driver: the welcome, with how many messages it has received; or a refusal.

A frame is a proof of 32 bytes and a JSON object. The proof is an HMAC-SHA256 with the token as its
key over the role of its sender, all frames before it, and the object; the first frame, and the
refusal of a driver that has proved nothing, have zeros instead. Both random numbers are part of
what is proved, so that no recorded handshake can be used again. The keys of the seals come from the
token and the first two frames. Source of the form: RFC 2104; ISO/IEC 9798-4, three passes.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluice.engines.cluster.wire import BrokenConnection, Seal
from sluice.model.errors import InvalidInput

VERSION = 1
HANDSHAKE_BYTES_MAX = 4096
HANDSHAKE_S = 5.0  # all three frames, before the connection is given up
TOKEN_CHARACTERS_MIN = 32

_PROOF_BYTES = 32
_NO_PROOF = bytes(_PROOF_BYTES)


class Refused(BrokenConnection):
    """The other side does not want this connection. is_final: nor will it want another."""

    def __init__(self, why: str, *, is_final: bool = False) -> None:
        super().__init__(why)
        self.is_final = is_final


def new_token() -> str:
    """A token for one run; keep it where only the run's user can read it."""
    return secrets.token_hex(32)


def token_key(token: str) -> bytes:
    """The key that a token is. Raises InvalidInput if it is too short to be secret."""
    if len(token) < TOKEN_CHARACTERS_MIN:
        raise InvalidInput(
            f"the token of the run has {len(token)} characters",
            hint=f"give at least {TOKEN_CHARACTERS_MIN}, such as `openssl rand -hex 32` makes",
        )
    return token.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionName:
    """Which session it is. Later ones have a higher (epoch, generation).

    epoch: the life of the driver.  generation: counts its sessions on the node.  label: random.
    """

    epoch: int
    generation: int
    label: str

    @property
    def rank(self) -> tuple[int, int]:
        """Return what orders sessions."""
        return self.epoch, self.generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """The introduction of a driver. is_new: it has not been connected in this session before.

    adopts: it wants the agent of the session before, with what runs there, if there is one.
    """

    session: SessionName
    is_new: bool
    received: int
    adopts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """The welcome of a node server. beat_s: how often it wants to hear from the driver."""

    node_id: str
    received: int
    beat_s: float


class NodeHandshake:
    """The node's side of one handshake. Send `hello`, then `check` the answer."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._nonce = secrets.token_hex(16)
        self._before = _NO_PROOF + _text(sluice="node", version=VERSION, nonce=self._nonce)

    @property
    def hello(self) -> bytes:
        """The first frame."""
        return self._before

    def check(self, frame: bytes) -> Introduction:
        """Return what the driver says, now proved. Raises Refused, whose text `refusal` sends."""
        said = _content(frame, "driver")
        if not _is_proved(self._key, "driver", self._before, frame):
            raise Refused("the token is not the one of this run")
        self._before += frame
        try:
            return Introduction(
                session=SessionName(
                    epoch=int(said["epoch"]),
                    generation=int(said["generation"]),
                    label=str(said["label"]),
                ),
                is_new=bool(said["is_new"]),
                received=int(said["received"]),
                adopts=bool(said.get("adopts")),
            )
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise Refused("the driver's introduction is incomplete") from error

    def welcome(self, welcome: Welcome) -> bytes:
        """The third frame, after which both sides seal."""
        text = _text(node_id=welcome.node_id, received=welcome.received, beat_s=welcome.beat_s)
        return _proved(self._key, "node", self._before, text)

    def objection(self, why: str) -> bytes:
        """The third frame for a driver that knows the token: this session is refused for good."""
        return _proved(self._key, "node", self._before, _text(refused=why))

    def refusal(self, why: str) -> bytes:
        """The third frame for a stranger."""
        return _NO_PROOF + _text(refused=why)

    def seals(self) -> tuple[Seal, Seal]:
        """For what the driver sends, and for what the node sends."""
        return _seals(self._key, self._before)


class DriverHandshake:
    """The driver's side of one handshake: `answer` the first frame, then `check` the third."""

    def __init__(self, key: bytes, introduction: Introduction) -> None:
        self._key = key
        self._introduction = introduction
        self._before = b""

    @property
    def has_answered(self) -> bool:
        """Whether the next frame is the third."""
        return bool(self._before)

    def answer(self, hello: bytes) -> bytes:
        """The second frame. Raises Refused if the first is not one of a node server."""
        _content(hello, "node")
        said, session = self._introduction, self._introduction.session
        text = _text(
            sluice="driver",
            version=VERSION,
            nonce=secrets.token_hex(16),
            epoch=session.epoch,
            generation=session.generation,
            label=session.label,
            is_new=said.is_new,
            received=said.received,
            adopts=said.adopts,
        )
        frame = _proved(self._key, "driver", hello, text)
        self._before = hello + frame
        return frame

    def check(self, frame: bytes) -> Welcome:
        """Return what the node server says, now proved. Raises Refused."""
        said = _json(frame)
        is_proved = _is_proved(self._key, "node", self._before, frame)
        if "refused" in said:
            raise Refused(f"the node server refused: {said['refused']}", is_final=is_proved)
        if not is_proved:
            raise Refused("the node server does not know the token of this run")
        try:
            return Welcome(
                node_id=str(said["node_id"]),
                received=int(said["received"]),
                beat_s=float(said["beat_s"]),
            )
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise Refused("the node server's welcome is incomplete") from error

    def seals(self) -> tuple[Seal, Seal]:
        """For what the driver sends, and for what the node sends."""
        return _seals(self._key, self._before)


def _text(**said: object) -> bytes:
    return json.dumps(said, separators=(",", ":")).encode()


def _json(frame: bytes) -> Mapping[str, Any]:
    try:
        said = json.loads(frame[_PROOF_BYTES:])
    except (ValueError, RecursionError) as error:
        raise Refused("it does not speak the protocol of Sluice") from error
    if not isinstance(said, dict):
        raise Refused("it does not speak the protocol of Sluice")
    return said


def _content(frame: bytes, role: str) -> Mapping[str, Any]:
    """Return what a greeting says. Raises Refused if it is of another role or version."""
    said = _json(frame)
    if said.get("sluice") != role:
        raise Refused(f"it does not speak the protocol of a Sluice {role}")
    if said.get("version") != VERSION:
        raise Refused(
            f"the {role} speaks version {said.get('version')!r} of the protocol, and this side"
            f" version {VERSION}. Install the same release of Sluice on both"
        )
    return said


def _proved(key: bytes, role: str, before: bytes, text: bytes) -> bytes:
    return _proof(key, role, before, text) + text


def _is_proved(key: bytes, role: str, before: bytes, frame: bytes) -> bool:
    wanted = _proof(key, role, before, frame[_PROOF_BYTES:])
    return hmac.compare_digest(wanted, frame[:_PROOF_BYTES])


def _proof(key: bytes, role: str, before: bytes, text: bytes) -> bytes:
    # The length keeps the border between what was before and the text where it is.
    head = f"{role} {len(before)} ".encode()
    return hmac.digest(key, head + before + text, "sha256")


def _seals(key: bytes, before: bytes) -> tuple[Seal, Seal]:
    to_node, to_driver = (
        Seal(hmac.digest(key, direction + before, "sha256"))
        for direction in (b"key to node ", b"key to driver ")
    )
    return to_node, to_driver
