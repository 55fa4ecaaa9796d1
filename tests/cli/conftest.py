"""A small workload as a file, and a state folder of the test's own."""

import pytest
from tests.cli.terminal import SMALL


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """No test sees the runs of the user who runs the tests."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SLUICE_HOME", str(folder))
    return folder


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The file's name, relative, so that it looks the same in every answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL)
    return "small.yaml"
