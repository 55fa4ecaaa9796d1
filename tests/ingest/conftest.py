"""The validator of workload files; to make it takes a hundred times as long as to use it."""

import jsonschema
import pytest

from sluice.api.workload import schema


@pytest.fixture(scope="session")
def validator():
    return jsonschema.Draft202012Validator(schema())
