"""Tokens, sessions and the record of who did what."""

from dataclasses import replace

import pytest

from sluice.model.errors import InvalidInput
from sluice.store.service.access import AccessStore, Principal, Role
from sluice.store.service.links import Link
from sluice.store.service.places import ServicePlace

LINK = Link(job_id="j-1", tenant="etl", maker="anna", ends_at_s=2**33)
OWNER = Principal(tenant="me", user="me", role=Role.ADMIN, via="socket")


@pytest.fixture
def store(tmp_path):
    found = AccessStore(ServicePlace(tmp_path))
    yield found
    found.close()


def test_a_token_is_known_until_it_is_revoked(store):
    token = store.create("anna", "etl", "submitter")

    found = store.principal_of(token)
    assert (found.user, found.tenant, found.role) == ("anna", "etl", Role.SUBMITTER)
    assert store.principal_of(token[:-1] + "x") is None
    store.revoke("anna")
    assert store.principal_of(token) is None
    assert store.tokens() == []
    assert store.create("anna", "etl", "viewer") != token


def test_a_link_shows_its_job_until_it_ends(store):
    text = store.links.made(LINK)

    assert store.links.read(text) == LINK
    assert store.links.read(store.links.made(replace(LINK, ends_at_s=1))) is None
    store.links.end("etl", "anna")
    assert store.links.read(text) is None


@pytest.mark.parametrize("change", [lambda text: text[:-1], lambda text: text + "é", str.upper])
def test_a_link_that_was_not_made_here_is_worth_nothing(store, change):
    assert store.links.read(change(store.links.made(LINK))) is None


def test_no_file_holds_a_secret(store, tmp_path):
    token = store.create("anna", "etl", "viewer")
    secret = store.open_session(token)

    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes()
            assert secret.encode() not in path.read_bytes()
            assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "tenant", "role", "where"),
    [
        ("", "t", "viewer", "NAME"),
        ("a b", "t", "viewer", "NAME"),
        ("a", "t/x", "viewer", "--tenant"),
        ("a", "t", "root", "--role"),
        ("taken", "t", "viewer", "NAME"),
    ],
)
def test_a_wrong_token_is_refused(store, name, tenant, role, where):
    store.create("taken", "t", "viewer")

    with pytest.raises(InvalidInput) as caught:
        store.create(name, tenant, role)

    assert caught.value.where == where
    assert len(store.tokens()) == 1


def test_a_session_ends_with_its_token_or_when_it_is_closed(store):
    first, second = store.create("anna", "etl", "viewer"), store.create("ben", "ml", "admin")
    sessions = [store.open_session(token) for token in (first, second, None)]

    assert [store.session(one, OWNER).user for one in sessions] == ["anna", "ben", "me"]
    store.revoke("anna")
    store.close_session(sessions[2])
    assert [store.session(one, OWNER) is None for one in sessions] == [True, False, True]
    assert store.open_session("sl_wrong") is None


def test_tokens_outlive_the_process(store, tmp_path):
    token = store.create("anna", "etl", "viewer")

    again = AccessStore(ServicePlace(tmp_path))
    assert again.principal_of(token) is not None
    again.close()


def test_a_token_of_another_service_is_worth_nothing(store, tmp_path):
    other = AccessStore(ServicePlace(tmp_path / "other"))
    token = other.create("anna", "etl", "viewer")
    other.close()

    assert store.principal_of(token) is None


@pytest.mark.parametrize("low", list(Role))
@pytest.mark.parametrize("high", list(Role))
def test_each_role_may_what_those_before_it_may(low, high):
    order = ["viewer", "submitter", "operator", "admin"]

    assert high.includes(low) == (order.index(high.value) >= order.index(low.value))


def test_the_record_is_read_from_its_end(store):
    for number in range(5):
        store.note({"tenant": "t", "who": "w", "via": "token", "action": f"POST {number}",
                    "result": 201, "request_id": "r"})  # fmt: skip

    newest = store.audit(None, 2)
    assert [line["action"] for line in newest] == ["POST 4", "POST 3"]
    assert next(line["action"] for line in store.audit(newest[-1]["seq"], 9)) == "POST 2"


@pytest.mark.parametrize("damaged", [b"", b"x" * 31, b"x" * 40])
def test_a_key_of_the_wrong_length_is_replaced_once(tmp_path, damaged):
    """The digests of tokens depend on it, so it must stay the same from then on."""
    path = ServicePlace(tmp_path).folder / "service.key"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(damaged)
    keys = []
    for _ in range(2):
        AccessStore(ServicePlace(tmp_path)).close()
        keys.append(path.read_bytes())

    assert keys[0] == keys[1] != damaged
    assert len(keys[0]) == 32
