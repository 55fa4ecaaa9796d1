"""Runs in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent


def traces_under_hash_seeds(policy, seed, heartbeat_s):
    """What `tests.one_run` tells under PYTHONHASHSEED 0, 1 and 2."""
    command = [sys.executable, "-m", "tests.one_run", policy, str(seed), str(heartbeat_s)]
    path = os.pathsep.join(filter(None, sys.path))
    told = []
    for hash_seed in "012":
        env = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        answer = subprocess.run(
            command, cwd=HOUSE, env=env, capture_output=True, check=True, text=True
        )
        told.append(answer.stdout)
    return told
