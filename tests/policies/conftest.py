"""The settings of all tests of policies."""

import pytest

from sluice.policies.data.data_waits import DataWaits
from sluice.policies.dynamicmr.lender import SlotLender


@pytest.fixture(autouse=True)
def _few_nodes_are_enough(monkeypatch):
    """Small clusters go the way of large ones."""
    monkeypatch.setattr(DataWaits, "nodes_min", 0)
    monkeypatch.setattr(SlotLender, "nodes_min", 0)
