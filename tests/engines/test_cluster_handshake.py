"""The handshake: who does not know the token learns nothing and may do nothing."""

import json

import pytest

from sluice.engines.cluster import handshake
from sluice.engines.cluster.handshake import (
    DriverHandshake,
    Introduction,
    NodeHandshake,
    Refused,
    SessionName,
    Welcome,
    new_token,
    token_key,
)
from sluice.model.errors import InvalidInput

KEY = token_key(new_token())
NAME = SessionName(epoch=3, generation=2, label="abc")
INTRODUCTION = Introduction(session=NAME, is_new=True, received=7)
WELCOME = Welcome(node_id="n\N{SNOWMAN}", received=9, beat_s=0.5)


def sides(node_key=KEY, driver_key=KEY):
    return NodeHandshake(node_key), DriverHandshake(driver_key, INTRODUCTION)


def test_both_sides_learn_what_the_other_says():
    node, driver = sides()
    introduction = node.check(driver.answer(node.hello))
    welcome = driver.check(node.welcome(WELCOME))

    assert introduction == INTRODUCTION
    assert welcome == WELCOME
    for writer, reader in zip(node.seals(), driver.seals(), strict=True):
        assert reader.opened(writer.sealed(b"body")) == b"body"


def test_each_connection_has_keys_of_its_own():
    frames = set()
    for _ in range(2):
        node, driver = sides()
        node.check(driver.answer(node.hello))
        frames |= {seal.sealed(b"body") for seal in node.seals()}

    assert len(frames) == 4


def test_the_token_is_in_no_frame():
    token = new_token()
    node, driver = sides(token_key(token), token_key(token))
    answer = driver.answer(node.hello)
    node.check(answer)
    sent = node.hello + answer + node.welcome(WELCOME)

    assert token.encode() not in sent
    assert bytes.fromhex(token) not in sent


def test_a_driver_with_another_token_is_refused():
    node, driver = sides(driver_key=token_key(new_token()))
    with pytest.raises(Refused, match="the token is not the one of this run"):
        node.check(driver.answer(node.hello))


def test_a_node_server_with_another_token_is_not_trusted():
    node, driver = sides(driver_key=token_key(new_token()))
    driver.answer(node.hello)
    node._before += b"as if it had believed"
    with pytest.raises(Refused, match="does not know the token") as refused:
        driver.check(node.welcome(WELCOME))
    assert not refused.value.is_final


def test_a_recorded_introduction_is_of_no_use_a_second_time():
    node, driver = sides()
    recorded = driver.answer(node.hello)
    node.check(recorded)
    with pytest.raises(Refused, match="token"):
        NodeHandshake(KEY).check(recorded)


def test_a_proof_of_one_role_is_none_of_the_other():
    """A driver that sends a node's own frames back proves nothing."""
    node, driver = sides()
    node.check(driver.answer(node.hello))
    with pytest.raises(Refused):
        NodeHandshake(KEY).check(node.welcome(WELCOME))
    with pytest.raises(Refused):
        NodeHandshake(KEY).check(node.hello)


def test_a_refusal_is_final_only_if_it_is_proved():
    node, driver = sides()
    node.check(driver.answer(node.hello))
    for frame, is_final in ((node.objection("too old"), True), (node.refusal("no"), False)):
        with pytest.raises(Refused, match="the node server refused: ") as refused:
            driver.check(frame)
        assert refused.value.is_final is is_final


def test_another_version_is_named_on_both_sides(monkeypatch):
    node, driver = sides()
    hello = node.hello
    monkeypatch.setattr(handshake, "VERSION", 2)
    with pytest.raises(Refused, match="the node speaks version 1 of the protocol, and this side v"):
        driver.answer(hello)
    answer = driver.answer(NodeHandshake(KEY).hello)
    monkeypatch.setattr(handshake, "VERSION", 1)
    with pytest.raises(Refused, match=r"speaks version 2 .* Install the same release of Sluice"):
        node.check(answer)


@pytest.mark.parametrize(
    "frame", [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(32) + b"[]", bytes(32) + b"{}", bytes(5000),
              bytes(32) + b'{"sluice":"driver"}', bytes(32) + b"[" * 4000]
)  # fmt: skip
def test_nonsense_is_refused_on_both_sides(frame):
    node, driver = sides()
    with pytest.raises(Refused):
        driver.answer(frame)
    driver.answer(node.hello)
    with pytest.raises(Refused):
        node.check(frame)
    with pytest.raises(Refused):
        driver.check(frame)


def test_a_proved_introduction_without_its_fields_is_refused():
    node, _ = sides()
    text = json.dumps({"sluice": "driver", "version": 1, "epoch": "many"}).encode()
    frame = handshake._proved(KEY, "driver", node.hello, text)
    with pytest.raises(Refused, match="incomplete"):
        node.check(frame)


def test_a_short_token_is_no_secret():
    with pytest.raises(InvalidInput, match="the token of the run has 5 characters"):
        token_key("guess")
