"""The completions that a shell offers while a user types a value."""

import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

import pytest

from sluice.cli import main


def offered(words, home):
    """The completions of the last word, as bash asks for them."""
    asked = {
        "_SLUICE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "SLUICE_HOME": str(home),
    }
    out, err = StringIO(), StringIO()
    with mock.patch.dict(os.environ, asked), redirect_stdout(out), redirect_stderr(err):
        main([])
    assert err.getvalue() == ""
    return out.getvalue().split()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("sluice simulate --tasks f", ["fair", "fcfs", "fifo"]),
        ("sluice run --release m", ["mrorder"]),
        ("sluice run --engine ", ["local", "ray", "yarn"]),
        ("sluice serve --engine y", ["yarn"]),
        ("sluice simulate --admission c", ["capacity"]),
        ("sluice simulate --set copies.sepb_", ["copies.sepb_pool=", "copies.sepb_mode="]),
        ("sluice compare --set dynamicmr.mode=", ["dynamicmr.mode=pi", "dynamicmr.mode=pd"]),
        ("sluice simulate --from-log-format sw", ["swf", "swim"]),
        ("sluice import --format sw", ["swf", "swim"]),
        ("sluice reproduce c", ["capacity", "cura"]),
        (
            "sluice reproduce cura --experiment t",
            ["table-5", "table-6", "table-6-schedules", "thousand-jobs"],
        ),
        ("sluice reproduce nothing --experiment t", []),
        ("sluice init --kind s", ["stages"]),
        ("sluice compare --schedulers fifo,f", ["fifo,fair", "fifo,fcfs"]),
        ("sluice compare --schedulers a", ["all"]),
        ("sluice whatif --history-format sw", ["swf", "swim"]),
        ("sluice order --method mk", ["mk-jr", "mk-tct-jr"]),
        ("sluice size --vm-type med", ["medium-4"]),
        ("sluice predict --rent s", ["spot"]),
        ("sluice plan --search sl", ["slots", "slots-printed"]),
        ("sluice runs show r", []),
        ("sluice profiles a", []),
        ("sluice calibrate a", []),
        ("sluice why --run a", []),
    ],
)
def test_values_are_offered_by_what_was_typed(words, wanted, tmp_path):
    """Also where there is no store yet: then nothing is offered, and nothing is made."""
    assert offered(words, tmp_path / "none") == wanted
    assert not (tmp_path / "none").exists()


def test_files_are_offered_where_a_file_may_be_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "nightly.yaml").touch()
    (tmp_path / ".hidden").touch()

    assert offered("sluice predict ", tmp_path / "none") == ["jobs/"]
    assert offered("sluice predict jobs/n", tmp_path / "none") == ["jobs/nightly.yaml"]
    assert offered("sluice explain nowhere/n", tmp_path / "none") == []


def test_stored_profiles_are_offered(tmp_path):
    log = Path(__file__).resolve().parents[1] / "data" / "logs" / "spark" / "local-1532512550423"
    with (
        mock.patch.dict(os.environ, {"SLUICE_HOME": str(tmp_path)}),
        redirect_stdout(StringIO()),
        redirect_stderr(StringIO()),
    ):
        assert main(["import", str(log)]) == 0

    for words in ("calibrate", "profiles", "predict", "explain"):
        assert "collect" in offered(f"sluice {words} ", tmp_path), words
