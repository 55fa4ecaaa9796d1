"""The chart of a diagnosis."""

import pytest

import sluice
from sluice.reporting.explain.text import why_text

LOGS = "tests/data/logs/spark/"


@pytest.fixture(autouse=True)
def _at_the_root(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(request.config.rootpath)


def test_all_views_have_the_same_axis_of_time() -> None:
    spec = sluice.explain(f"{LOGS}local-1430917381534").plot().spec
    domains = [
        view["layer"][0]["encoding"]["x"]["scale"]["domain"]["signal"] for view in spec["vconcat"]
    ]

    assert len(domains) == 3
    assert len(set(domains)) == 1


def test_a_job_asked_for_by_its_name_is_called_by_it() -> None:
    workload = sluice.workload_from_logs([f"{LOGS}nds_q72_dataproc_2_2.zstd"])
    answer = sluice.why("NDS - Power Run", source=workload)

    assert (answer.asked_as, answer.job_id) == ("NDS - Power Run", "application_1751493828576_0001")
    assert answer.document()["asked_as"] == "NDS - Power Run"
    line = why_text(answer, answer.asked_as).plain.splitlines()[0]
    assert line.startswith("NDS - Power Run (application_1751493828576_0001) ended at ")
