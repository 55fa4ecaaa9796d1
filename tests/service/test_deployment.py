"""The recipes of the documents: what they start is a service that answers."""

import http.client
import re
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest
import yaml
from tests import skips
from tests.service.services import serving

skips.required("fastapi")
TEXT = (Path(__file__).resolve().parents[2] / "docs" / "service.md").read_text("utf-8")
VALUES = {"host": "sluice.example", "image": "sluice:test", "config": "c", "tlsSecret": "t"}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def stateful_set():
    """The template of the chart, rendered."""
    block = next(one for one in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL) if "kind:" in one)
    text = block.replace("{{ .Release.Name }}", "mine").replace("{{ .Values.storage }}", "1Gi")
    for name, value in VALUES.items():
        text = text.replace(f"{{{{ .Values.{name} }}}}", value)
    assert "{{" not in text
    return yaml.safe_load(text)


def test_the_chart_has_one_pod_with_its_own_disk(stateful_set):
    spec = stateful_set["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    kept = {each["metadata"]["name"] for each in spec["volumeClaimTemplates"]}
    given = {each["name"] for each in spec["template"]["spec"]["volumes"]}

    assert spec["replicas"] == 1
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert set(mounted) == kept | given
    assert container["env"] == [{"name": "SLUICE_HOME", "value": mounted["state"]}]


def test_the_arguments_and_probes_of_the_chart_work(stateful_set, tmp_path):
    (container,) = stateful_set["spec"]["template"]["spec"]["containers"]
    certificate, key, port = tmp_path / "tls.crt", tmp_path / "tls.key", free_port()
    if shutil.which("openssl") is None:
        skips.skip("openssl is not installed here")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=sluice.example", "-out", str(certificate), "-keyout", str(key)],
        check=True, capture_output=True,
    )  # fmt: skip
    known = {
        "/etc/sluice/serve.yaml": "serve.yaml",
        "0.0.0.0:8642": f"0.0.0.0:{port}",
        "/tls/tls.crt": str(certificate),
        "/tls/tls.key": str(key),
    }
    probe = container["readinessProbe"]["httpGet"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def status(host):
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
        connection.request("GET", probe["path"], headers={"Host": host})
        found = connection.getresponse().status
        connection.close()
        return found

    arguments = [known.get(each, each) for each in container["args"]]
    # Started as the container starts it.
    with serving(tmp_path, *arguments, popen=subprocess.Popen) as service:
        assert service.page.startswith("https://sluice.example/login#")
        assert status(probe["httpHeaders"][0]["value"]) == 200
        assert status("evil.example") == 403
        program, *arguments = container["livenessProbe"]["exec"]["command"]
        assert program == "sluice"
        assert service.run(*arguments)[0] == 0
