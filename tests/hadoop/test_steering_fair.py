"""`sluice steer` on a real Fair Scheduler, which takes its file up while it runs."""

import json

import pytest
import yaml
from tests.hadoop.cluster import Hadoop
from tests.live.command_line import Place

from sluice.engines.yarn.rest import ResourceManagerRest
from sluice.engines.yarn.steering.present import Present

pytestmark = [pytest.mark.slow, pytest.mark.yarn, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def fair(tmp_path_factory):
    made = Hadoop(tmp_path_factory.mktemp("fair"), nodes=1, scheduler="fair")
    try:
        made.spawn("rm")
        made.await_nodes(0)  # it needs none to have queues
        yield made
    finally:
        made.stop()


def test_the_file_is_taken_up_and_put_back_byte_for_byte(fair, tmp_path):
    place = Place(tmp_path / "steer")
    place.folder.mkdir()
    file = fair.work / "conf/fair-scheduler.xml"
    before = file.read_bytes()
    rest = ResourceManagerRest(fair.address)
    queues = {
        "root.a": {"weight": 2, "maxRunningApps": 5, "maxAMShare": 0.6},
        "root.b": {"maxRunningApps": 9, "schedulingPolicy": "fifo"},
        "root.new": {"weight": 4, "minResources": "512 mb, 1 vcores"},
    }
    (place.folder / "plan.yaml").write_text(yaml.safe_dump({"version": 1, "queues": queues}))

    words = ("--address", fair.address, "--json")
    code, said, complained = place.sluice("steer", "plan.yaml", *words)
    assert code == 0, complained
    rows = json.loads(said)["changes"]
    assert {one["after"] for one in rows if one["setting"] == "maxRunningApps"} == {"5", "9"}
    shown = Present(rest).fair_queues()
    assert (shown["root.a"]["maxApps"], shown["root.b"]["maxApps"]) == (5, 9)
    assert shown["root.b"]["schedulingPolicy"] == "FIFO"
    assert shown["root.new"]["minResources"]["memory"] == 512

    code, _, complained = place.sluice(
        "steer", "steer-undo.yaml", *words, "--undo", "again.yaml"
    )  # fmt: skip
    assert code == 0, complained
    assert file.read_bytes() == before
