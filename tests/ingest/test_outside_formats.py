"""Formats that other packages offer by an entry point."""

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from sluice.ingest.logs.formats import read_log, read_logs
from sluice.ingest.logs.registry import BUILT_IN, format_names
from sluice.model.errors import InvalidInput

WHOLE = """
from sluice.ingest.logs.report import Contents, NoOptions
from sluice.model.history import PastPhase, PastRun

FORMAT = "odd"
Options = NoOptions

def recognises(path, head):
    return head.startswith(b"odd")

def read(path, report, options, limits):
    phase = PastPhase(name="map", kind="map", tasks=2, avg_s=3.0, max_s=4.0)
    return Contents(runs=(PastRun(run_id="r", profile="p", source=FORMAT, phases=(phase,)),))
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package that offers the format `odd`; its module has the given text."""

    def written(text, name="odd"):
        site = tmp_path / "site"
        info = site / "odd_logs-1.0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-logs\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[sluice.formats]\n{name} = odd_logs_module\n")
        (site / "odd_logs_module.py").write_text(dedent(text))
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, "odd_logs_module", raising=False)
        log = tmp_path / "a.log"
        log.write_text("odd\n")
        return log

    return written


def test_a_format_of_another_package_is_recognised_and_read(package):
    log = package(WHOLE)

    assert (*BUILT_IN, "odd") == format_names()
    assert ("odd", "p") == (read_log(log).format, read_log(log, "odd").runs[0].profile)


def test_our_own_formats_cannot_be_replaced(package):
    package(WHOLE, name="swf")

    assert tuple(BUILT_IN) == format_names()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        (WHOLE.replace("return head", "return path.nothing"), "AttributeError"),
        (WHOLE.replace("phase = Past", "1 / 0\n    phase = Past"), "division by zero"),
        (WHOLE.replace("return Contents(", "return tuple("), "TypeError"),
        (WHOLE.replace("    return Contents", "    return 3\n    return Contents"), "gave int"),
        ("FORMAT = 'odd'", "recognises"),
    ],
)
def test_its_mistakes_are_one_message_with_its_name(package, text, said):
    log = package(text)

    with pytest.raises(InvalidInput, match=said) as refused:
        read_log(log)
    assert "odd" in str(refused.value)
    assert "odd-logs" in str(refused.value)


def test_its_refusals_are_its_own(package):
    text = WHOLE.replace(
        "    phase =", "    raise InvalidInput('it is empty', where=str(path))\n    phase ="
    )
    log = package("from sluice.model.errors import InvalidInput\n" + text)

    with pytest.raises(InvalidInput, match="it is empty") as refused:
        list(read_logs([log]))
    assert "odd-logs" not in str(refused.value)


def test_the_documented_example_skips_what_is_not_a_task(package, tmp_path):
    example = Path(__file__).resolve().parents[2] / "docs" / "example_format" / "timings.py"
    package(example.read_text(), name="timings")
    log = tmp_path / "timings.log"
    log.write_text("#timings\nodd\nnightly 0 x\nnightly 1 3\n")
    read = read_log(log)

    assert [(run.profile, run.phases[0].tasks) for run in read.runs] == [("nightly", 1)]
    assert [one.line for one in read.skipped] == [2, 3]

    log.write_text("#timings\nodd\n")
    with pytest.raises(InvalidInput, match="it has no task"):
        read_log(log)
