"""A pair of ResourceManagers, addresses with TLS, and a cluster that asks for Kerberos."""

import ssl
import sys

import pytest
from tests.resource_manager import NODE, FakeResourceManager, served

import sluice
from sluice.engines.yarn import protocols
from sluice.engines.yarn.application import YarnApplication
from sluice.engines.yarn.credentials import Token
from sluice.engines.yarn.rest import ResourceManagerRest, RestFault, checked_address
from sluice.engines.yarn.settings import YarnSettings
from sluice.model.errors import EngineUnavailable, InvalidInput

TOKEN = Token(identifier=b"", password=b"", kind="", service="")
SILENT = "http://127.0.0.1:9"
NODES, APPS = "/ws/v1/cluster/nodes", "/ws/v1/cluster/apps"
NEW = "/ws/v1/cluster/apps/new-application"


class Standby(FakeResourceManager):
    """Sends who asks for the cluster to the active one, as Hadoop does; active: None for none."""

    def __init__(self, active):
        super().__init__()
        self.active = active

    def answer(self, method, target):
        if not target.startswith("/ws/v1/cluster"):
            return super().answer(method, target)
        self.asked.append((method, target.partition("?")[0]))
        if self.active is None:
            return 307, {"Refresh": f"2;url={target}"}, b"Can not find any active RM."
        return 307, {"Location": self.active.address + target}, b"This is standby RM."


@pytest.fixture
def active():
    fake = FakeResourceManager()
    fake.answers[NEW] = {"application-id": "application_1_0001"}
    with served(fake):
        yield fake


@pytest.fixture
def standby(active):
    with served(Standby(active)) as fake:
        yield fake


def test_a_standby_names_the_active_one_also_for_what_changes_something(active, standby):
    rest = ResourceManagerRest(standby.address)
    assert rest.new_application() == "application_1_0001"
    assert rest.host == "127.0.0.1"
    assert [node.host for node in rest.nodes()] == ["worker"]
    assert standby.asked == [("POST", NEW)], "from then on the active one is asked"
    assert active.asked == [("POST", NEW), ("GET", NODES)]


def test_of_a_pair_the_one_that_answers_is_asked_and_after_a_change_the_other(active, standby):
    other = FakeResourceManager(nodes=[NODE | {"nodeHostName": "other"}])
    with served(other):
        rest = ResourceManagerRest(f"{active.address}, {other.address}/")
        assert [node.host for node in rest.nodes()] == ["worker"]
        active.answer = Standby(other).answer
        assert [node.host for node in rest.nodes()] == ["other"]
        rest = ResourceManagerRest(f"{SILENT},{standby.address}")
        assert [node.host for node in rest.nodes()] == ["other"]
    with pytest.raises(EngineUnavailable, match=f"a standby, and sends to {other.address}"):
        rest.nodes()


def test_what_all_of_them_say_is_in_the_message(standby):
    standby.active = None
    rest = ResourceManagerRest(f"{standby.address},{SILENT}")
    with pytest.raises(EngineUnavailable) as refused:
        rest.nodes()
    text = str(refused.value)
    assert text.startswith("no ResourceManager is active: ")
    assert f"{standby.address} is a standby, and knows no active ResourceManager" in text
    assert f"no ResourceManager answers at {SILENT}" in text
    with pytest.raises(EngineUnavailable, match="is a standby, and knows no active"):
        ResourceManagerRest(standby.address).nodes()


def test_two_that_send_to_each_other_are_asked_once_each(standby):
    with served(Standby(standby)) as second:
        standby.active = second
        with pytest.raises(EngineUnavailable, match="no ResourceManager is active"):
            ResourceManagerRest(standby.address).nodes()
        assert (len(standby.asked), len(second.asked)) == (1, 1)


def test_an_error_of_the_active_one_is_its_answer(active):
    active.answers[NODES] = 500
    rest = ResourceManagerRest(f"{active.address},{SILENT}")
    with pytest.raises(RestFault, match=r"\(500\)"):
        rest.nodes()


def test_another_page_that_it_sends_to_is_no_resource_manager(active):
    """A gateway sends to its login, and YARN's filter to the server of old applications."""
    active.answers[NODES] = (307, {"Location": f"{SILENT}/login"})
    with pytest.raises(RestFault, match=r"\(307\)"):
        ResourceManagerRest(active.address).nodes()


@pytest.mark.parametrize("text", ["", "http://a:1,", "http://a:1,b:2", "http://a:1;http://b:2/x"])
def test_each_address_of_a_pair_is_checked(text):
    with pytest.raises(InvalidInput, match="is not the address"):
        checked_address(text, "--address")
    assert checked_address("http://a:1, https://b:2/", "--address")


def test_an_application_master_gets_the_addresses_of_all(active, tmp_path, monkeypatch):
    configured = {
        "yarn.resourcemanager.ha.enabled": "true",
        "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
        "yarn.resourcemanager.hostname.rm1": "master-1",
        "yarn.resourcemanager.scheduler.address.rm2": "master-2:9030",
    }
    rest = ResourceManagerRest(active.address)
    monkeypatch.setattr(rest, "configured", lambda name: configured.get(name, ""))
    made = YarnApplication(tmp_path / "yarn", _Submits(rest), YarnSettings(), epoch=1, grace_s=1.0)
    assert made._scheduler() == "master-1:8030,master-2:9030"
    configured["yarn.resourcemanager.ha.enabled"] = "false"
    assert made._scheduler() == "127.0.0.1:8030"


@pytest.mark.parametrize(("given", "python"), [("", sys.executable), ("/opt/p 3", "/opt/p 3")])
def test_an_application_starts_the_python_of_the_setting(active, tmp_path, given, python):
    rest = _Submits(ResourceManagerRest(active.address))
    settings = YarnSettings(yarn_python=given)
    YarnApplication(tmp_path / "yarn", rest, settings, epoch=1, grace_s=1.0)

    assert (
        f"exec '{python}' -P -m sluice.engines.yarn.master" in rest.container["commands"]["command"]
    )


class _Submits:
    """A client whose application is taken. container: the one that it asked for."""

    def __init__(self, rest):
        self.base, self.host = rest.base, rest.host
        self.configured, self.new_application = rest.configured, rest.new_application

    def submit(self, context):
        self.container = context["am-container-spec"]


def test_an_application_master_connects_with_the_one_that_listens(monkeypatch):
    listening, calls = {"b"}, []

    class Connection:
        own_host = "here"

        def __init__(self, address, *_):
            calls.append(address[0])
            if address[0] not in listening:
                raise ConnectionRefusedError

        def close(self):
            pass

    monkeypatch.setattr(protocols, "HadoopConnection", Connection)
    rm = protocols.ResourceManager([("a", 1), ("b", 1)], TOKEN)
    assert calls == ["a", "b"]
    listening.add("a")
    rm.connect_again()
    assert calls[2:] == ["a"], "after a fault the other one is first"
    listening.clear()
    with pytest.raises(ConnectionRefusedError):
        rm.connect_again()
    assert calls[3:] == ["b", "a"]


def test_a_certificate_of_the_sites_own_authority_is_named_by_a_variable(
    certificate, tmp_path, monkeypatch
):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with served(FakeResourceManager(), context) as fake:
        rest = ResourceManagerRest(fake.address)
        with pytest.raises(EngineUnavailable, match=r"is not trusted .*SSL_CERT_FILE"):
            rest.nodes()
        with pytest.raises(InvalidInput, match=r"is not trusted .*SSL_CERT_FILE"):
            sluice.import_logs([fake.address], store=str(tmp_path / "p.db"))
        monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
        assert [node.host for node in rest.nodes()] == ["worker"]


def test_a_cluster_that_asks_for_kerberos_says_so(active, tmp_path):
    active.answers["*"] = (401, {"WWW-Authenticate": "Negotiate"})
    active.answers[NODES] = active.answers["*"]
    with pytest.raises(RestFault, match="asks for Kerberos, with which Sluice cannot log in"):
        ResourceManagerRest(active.address).nodes()
    with pytest.raises(InvalidInput, match="asks for Kerberos"):
        sluice.import_logs([active.address], store=str(tmp_path / "p.db"))
    active.answers[NODES] = (401, {"WWW-Authenticate": "Basic realm=x"})
    with pytest.raises(RestFault, match=r"\(401\)"):
        ResourceManagerRest(active.address).nodes()
