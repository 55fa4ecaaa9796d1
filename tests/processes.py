"""Runs in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent


def traces_under_hash_seed(hash_seed, runs):
    """The traces of `runs`, each (policy, seed, heartbeat_s), in one process of that hash seed."""
    command = [sys.executable, "-m", "tests.one_run", json.dumps(runs)]
    path = os.pathsep.join(filter(None, sys.path))
    env = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    answer = subprocess.run(command, cwd=HOUSE, env=env, capture_output=True, check=True, text=True)
    return json.loads(answer.stdout)
