"""Which of Hadoop's formats a file is in is shown by its content, whatever it is called."""

import gzip
from pathlib import Path

import pytest

from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput

DATA = Path(__file__).resolve().parents[1] / "data" / "logs"
LOGS = [
    path
    for name in ("jhist", "rumen", "sls")
    for path in sorted((DATA / name).iterdir())
    if path.suffix in (".jhist", ".json")
]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name[:30])
def test_every_sample_is_shown_by_its_content_also_packed(path, tmp_path):
    packed = tmp_path / "log"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    log = read_log(packed)

    assert log.format == path.parent.name
    assert [run.phases for run in log.runs] == [run.phases for run in read_log(path).runs]


def test_a_configuration_is_no_log():
    """It is read beside its history, so a folder of both is a folder of histories."""
    with pytest.raises(InvalidInput, match="unknown format"):
        read_log(DATA / "jhist" / "job_1329348432655_0001_conf.xml")
