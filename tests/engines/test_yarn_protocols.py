"""All that Hadoop sends is read as it was sent, and never believed; no Java is needed here."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.engines.yarn.credentials import (
    AM_RM_TOKEN,
    MAGIC,
    Credentials,
    read_credentials,
    secret_credentials,
)
from sluice.engines.yarn.digest_md5 import Digest, DigestRefused, directives
from sluice.engines.yarn.protobuf import (
    BadMessage,
    Message,
    delimited,
    encoded,
    read_varint,
    varint,
)
from sluice.engines.yarn.protocols import Ask, Size, address_of, container_name

NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@given(NUMBERS)
def test_a_number_comes_back(number):
    assert read_varint(varint(number), 0)[1] == len(varint(number))
    assert Message(encoded([(1, number)])).number(1) == number


@given(st.lists(TEXTS, max_size=5), NUMBERS, st.binary(max_size=300))
def test_a_message_comes_back(texts, number, data):
    inner = [(5, number), (6, data)]
    said = Message(encoded([*((3, text) for text in texts), (1, 0.5), (20, inner), (4, None)]))

    assert said.texts(3) == texts
    assert said.bytes(1) == struct.pack("<f", 0.5)
    assert (said.message(20).number(5), said.message(20).bytes(6)) == (number, data)
    assert said.all_bytes(4) == []


@given(st.binary(max_size=200))
def test_bytes_that_are_no_message_are_refused_or_read(data):
    for read in (Message, container_name, lambda given: read_credentials(MAGIC + given)):
        try:
            read(data)
        except BadMessage:
            continue


@given(st.binary(min_size=1, max_size=60), st.data())
def test_a_message_that_is_cut_is_refused(body, draw):
    whole = encoded([(1, body)])
    cut = draw.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(BadMessage):
        Message(whole[:cut])


@pytest.mark.parametrize(
    "data", [b"\x0b", b"\x0d\0\0", b"\xff" * 11, b"\x0a\x05ab"], ids=["kind", "four", "long", "cut"]
)
def test_what_cannot_be_in_a_message_is_refused(data):
    with pytest.raises(BadMessage):
        Message(data)


def writable(data):
    return bytes([len(data)]) + data


def test_both_versions_of_the_credentials_are_read():
    token = [b"identifier", b"password", AM_RM_TOKEN.encode(), b"10.0.0.1:8030"]
    writables = MAGIC + b"\0\1" + b"".join(map(writable, [b"alias", *token]))
    writables += b"\1" + writable(b"sluice") + writable(b"secret")
    fields = list(zip(range(1, 5), token, strict=True))
    message = [(1, [(1, b"alias"), (2, fields)]), (2, [(1, "sluice"), (3, b"secret")])]
    protobuf = MAGIC + b"\1" + delimited(message)

    for data in (writables, protobuf):
        found = read_credentials(data)
        assert found.token(AM_RM_TOKEN).password == b"password"
        assert found.token(AM_RM_TOKEN).service == "10.0.0.1:8030"
        assert found.secrets == {"sluice": b"secret"}


@given(TEXTS, st.binary(max_size=70_000))
def test_a_secret_of_any_length_comes_back(name, secret):
    assert read_credentials(secret_credentials(name, secret)).secrets == {name: secret}


@pytest.mark.parametrize("data", [b"", b"HDTS", b"HDTS\2", b"HDTX\0\0\0", MAGIC + b"\0\x88"])
def test_what_is_no_file_of_credentials_is_refused(data):
    with pytest.raises(BadMessage):
        read_credentials(data)


def test_a_missing_token_is_named():
    with pytest.raises(BadMessage, match=AM_RM_TOKEN):
        Credentials().token(AM_RM_TOKEN)


def test_nothing_secret_is_in_what_is_printed():
    assert "secret" not in repr(read_credentials(secret_credentials("sluice", b"secret")))


def test_the_server_must_prove_that_it_knows_the_password():
    known = {"user": "chris", "password": "secret", "realm": "elwood.innosoft.com"}
    known |= {"nonce": "OA6MG9tEQGm2hh", "client_nonce": "OA6MHXh6VqTrRk"}
    digest = Digest(**known, uri="imap/elwood.innosoft.com")
    digest.check("rspauth=ea40f60335c427b5527b84dbabcdfffd")  # of RFC 2831, section 4
    with pytest.raises(DigestRefused):
        digest.check("rspauth=ea40f60335c427b5527b84dbabcdfffe")
    with pytest.raises(DigestRefused):
        digest.check("")


def test_a_challenge_without_plain_authentication_is_refused():
    with pytest.raises(DigestRefused, match=r"hadoop\.rpc\.protection"):
        Digest.of_token(b"i", b"p", 'nonce="a",qop="auth-conf"', "/default")


def test_a_quoted_comma_does_not_end_a_directive():
    assert directives('a="1,\\"2",b=3, c="4"') == {"a": '1,"2', "b": "3", "c": "4"}


def test_a_request_for_a_node_allows_no_other():
    ask = Ask(node_id="worker:45454", rack="/r1", size=Size(memory_mb=512, vcores=2), priority=7)
    said = Message(encoded(ask.requests())).messages(1)

    assert [one.text(2) for one in said] == ["worker", "/r1", "*"]
    assert [one.number(5, 1) for one in said] == [1, 0, 0]
    assert {one.message(1).number(1) for one in said} == {7}
    assert [one.number(4) for one in Message(encoded(ask.requests(0))).messages(1)] == [0, 0, 0]


def test_an_address_is_a_host_and_a_port():
    assert address_of("[::1]:8030") == ("::1", 8030)
    for text in ("", "host", "host:", ":80", "host:http"):
        with pytest.raises(BadMessage):
            address_of(text)
