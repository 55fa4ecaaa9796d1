"""The profile of a run, from the name of its job or application."""

import pytest
from tests.store.histories import past_run, phase_of

from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.options import read_options
from sluice.ingest.logs.profile_names import ProfileRules, undated
from sluice.model.errors import InvalidInput


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("nightly-04-2026-10-01", "nightly-04"),
        ("2026-10-01 nightly", "nightly"),
        ("load_20261001", "load"),
        ("load (2026-10-01T03:15:00.123Z) eu", "load eu"),
        ("etl-20261001T0315", "etl"),
        ("etl 2026/10/01 v2", "etl v2"),
        ("query-3f2504e0-4f89-11d3-9a0c-0305e82c3301", "query"),
        ("distcp application_1516285256255_0012", "distcp"),
        ("wordcount", "wordcount"),
        ("tpch q12", "tpch q12"),
        ("model-2026", "model-2026"),
        ("build 12345678", "build 12345678"),
        ("version 20269999", "version 20269999"),
        ("2026-10-01", "2026-10-01"),
        ("job_1329348432655_0001", "job_1329348432655_0001"),
    ],
)
def test_dates_and_ids_are_not_part_of_a_name(name, profile):
    assert profile == undated(name)


def test_the_name_in_the_log_is_kept():
    run = ProfileRules().renamed(past_run(profile="nightly-2026-10-01"))

    assert ("nightly", "nightly-2026-10-01") == (run.profile, run.name)
    assert ProfileRules().renamed(past_run(profile="words")).name is None


def shell(*stages, name="Spark shell"):
    phases = [phase_of(1.0, name=f"stage {number}: {stage}") for number, stage in stages]
    return ProfileRules().renamed(past_run("app-1", *phases, profile=name, source="spark")).profile


@pytest.mark.parametrize("name", ["Spark shell", "PySparkShell", "Zeppelin notebook"])
def test_shell_sessions_are_named_after_their_stages(name):
    """Equal sessions are one profile, whatever was typed before; others are not."""
    here = shell((3, "map at <console>:25"), (4, "count at <console>:26"), name=name)

    assert here.startswith(f"{name}: count at <console> [")
    assert here == shell((0, "map at <console>:7"), (1, "count at <console>:8"), name=name)
    assert here != shell((0, "filter at <console>:7"), (1, "count at <console>:8"), name=name)


def test_the_first_rule_that_matches_names_the_profile():
    rules = ProfileRules([r"^(\w+)-nightly -> \1", r"etl.* -> etl"])

    assert ["load", "etl", "other"] == [
        rules.renamed(past_run(profile=name)).profile
        for name in ("load-nightly-7", "etl 2026-10-01", "other")
    ]


@pytest.mark.parametrize(
    ("rule", "why"),
    [("( -> a", "not a regular expression"), (r"a -> \1", "not a regular"), ("-> a", "not a rule")],
)
def test_a_rule_that_cannot_be_read_is_refused(rule, why):
    with pytest.raises(InvalidInput, match=why):
        ProfileRules([rule])


def test_rules_are_an_option_of_every_format(tmp_path):
    """Also next to the option of the same name that a format has itself."""
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 8\n1 0 0 9 1 -1 -1 1 -1 -1 1 3 1 7 1 -1 -1 -1\n")
    options = read_options(
        [r"profile=executable (\d+) -> program \1", "profile=user -> u"], "--set"
    )

    assert ["program 7"] == [run.profile for run in read_log(log, options=options).runs]
    with pytest.raises(InvalidInput, match="regex -> name"):
        read_log(log, "swf", {"profile": "queue"})
