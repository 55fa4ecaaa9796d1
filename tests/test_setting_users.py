"""Each setting has a user or a reason, and what was removed is refused with its replacement."""

import pytest
from tests.setting_users import all_settings, is_set, users

from sluice.bootstrap.settings import declarations, resolved_settings
from sluice.ingest.settings import REMOVED
from sluice.model.errors import InvalidInput


def test_each_setting_has_a_user_or_a_reason():
    """A user: a reproduction, an example, a benchmark, a page of the docs or a preset."""
    without = [
        key for key, setting in all_settings().items() if not (setting.reason or any(users(key)))
    ]

    assert [] == without


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("a.py", "simulate(jobs, slow_factor=3.0)", True),
        ("a.py", '{"copies.slow_factor": 3.0}', True),
        ("a.py", "slow_factor = 3.0\nother.slow_factor == 3.0", False),
        ("a.py", "slow_factor: float", False),
        ("a.md", "sluice simulate jobs.yaml --set copies.slow_factor=3", True),
        ("a.md", "`copies.slow_factor` is a number", False),
        ("a.yaml", "settings:\n  slow_factor: 3..6\n", True),
        ("a.yaml", "settings: {slow_factor: 3..6}\n", True),
        ("a.yaml", "very_slow_factor: 3..6\n", False),
    ],
)  # fmt: skip
def test_a_use_is_a_value_that_is_given(file, text, expected):
    assert expected == is_set("copies.slow_factor", file, text)


@pytest.mark.parametrize("name", sorted(REMOVED))
def test_a_removed_setting_is_refused_with_what_serves_instead(name):
    assert name not in declarations().general

    with pytest.raises(InvalidInput, match="is not a setting any more") as caught:
        resolved_settings({name: 20})
    assert REMOVED[name] == caught.value.hint
