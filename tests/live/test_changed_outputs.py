"""Part files that are cut, flipped or removed while their job runs: their tasks run again."""

import json
import os
import subprocess
import sys
import time

import pytest
from tests import warm_start

FILE = """version: 1
cluster: {nodes: 1, node: {map_slots: 1, reduce_slots: 1}}
jobs:
  - id: p
    run: {input: ["in/*.txt"], output: out, mapper: "sh -c 'cat; sleep 1.5'"}
"""
TEXTS = [f"line {number}\n" * 5 for number in range(3)]


def flipped(part):
    content = bytearray(part.read_bytes())
    content[3] ^= 1
    part.write_bytes(bytes(content))


DAMAGES = {
    "cut": lambda part: os.truncate(part, 5),
    "flipped": flipped,
    "removed": lambda part: part.unlink(),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_changed_part_file_is_made_again(tmp_path, damage):
    (tmp_path / "in").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "in" / f"{number}.txt").write_text(text)
    (tmp_path / "p.yaml").write_text(FILE)
    run = warm_start.Popen(
        [sys.executable, "-m", "sluice", "run", "p.yaml", "--json"],
        cwd=tmp_path, env=os.environ | {"SLUICE_HOME": str(tmp_path / "home")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until_s = time.monotonic() + 60
    while not (parts := list(tmp_path.glob(".out*/attempts/*.part"))):
        assert time.monotonic() < until_s
        time.sleep(0.02)
    DAMAGES[damage](parts[0])

    out, err = run.communicate(timeout=60)

    assert run.returncode == 0, err
    assert "task 0 runs again" in err
    written = [part.read_text() for part in sorted((tmp_path / "out").glob("part-*"))]
    assert written == TEXTS
    assert json.loads(out)["attempts"]["done"] == 4
