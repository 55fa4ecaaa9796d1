"""What does a cluster cost, when a machine that is big enough would do?

Question: word count of 200 MB of text as Python functions, 26 MB splits, 4 reduces, with 3 map and
3 reduce slots each: on the local engine, over 3 raylets of an embedded Ray cluster, and as Spark's
RDD program in local-cluster[3,1,1024], on the same files in the same run, in turns. Whole processes
from start to end; the start of a cluster is part of them, and is also measured by itself, on a text
of one word. All outputs must be equal before anything is told.
Budgets, without the starts: over 3 raylets at most 1.3 times the local engine; with them: faster
than Spark.
Machine: 2 cores, 24 GiB, Python 3.11, Java 17. `--spark-python` is an interpreter that has PySpark
4, if this one has not; without any the bench says so and leaves Spark out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench import _text
from bench._figures import Spent, verdict
from bench.word_count import SPARK, Way, compared, java, sluice, tabbed

NODES = 3
CLUSTER = {"nodes": NODES, "node": {"map_slots": 1, "reduce_slots": 1}}
LOCAL, RAYLETS = "sluice local", "sluice raylets"
MASTER = f"local-cluster[{NODES},1,1024]"
LOCAL_TIMES_MAX = 1.3
FIND_SPARK = "import os, pyspark; print(os.path.dirname(pyspark.__file__))"


def spark_home(python: str) -> str:
    """The folder of PySpark of an interpreter; "" if it has none."""
    try:
        found = subprocess.run(
            [python, "-c", FIND_SPARK], capture_output=True, text=True, check=False
        )
    except OSError:  # there is no such interpreter
        return ""
    return found.stdout.strip()


def ways_of(python: str) -> list[Way]:
    """The ways that this machine has; prints which one it has not, and why."""
    run: dict[str, object] = {"python": "functions.py"}
    ways = [
        Way(name=LOCAL, run=sluice(run, CLUSTER), counts=tabbed),
        Way(name=RAYLETS, run=sluice(run, CLUSTER, ["--engine", "ray"]), counts=tabbed),
    ]
    home = spark_home(python)
    if not home:
        print(f"No Spark: {python} has no PySpark. Give one that has as --spark-python.")
    elif shutil.which("java") is None:
        print("No Spark: there is no java.")
    else:
        env = {"SPARK_HOME": home}
        words = java("spark_words.py", MASTER, python=python, env=env)
        ways.append(Way(name=SPARK, run=words, counts=tabbed))
    return ways


def one_word(folder: Path) -> list[Path]:
    """A text that leaves only the start of everything to measure."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "word.txt").write_text("word\n")
    return [folder / "word.txt"]


def judged(whole: dict[str, Spent], starts: dict[str, Spent]) -> bool:
    """Print how the cluster compares; whether every budget is kept."""
    work_s = {name: spent.wall_s - starts[name].wall_s for name, spent in whole.items()}
    ratio = work_s[RAYLETS] / work_s[LOCAL]
    fits = ratio <= LOCAL_TIMES_MAX
    raylets_s, local_s = whole[RAYLETS].wall_s, whole[LOCAL].wall_s
    print(
        f"with the starts: raylets {raylets_s:.1f} s, local {local_s:.1f} s,"
        f" {raylets_s / local_s:.2f} times\n"
        f"without the starts: raylets {work_s[RAYLETS]:.1f} s, local {work_s[LOCAL]:.1f} s,"
        f" {ratio:.2f} times; budget {LOCAL_TIMES_MAX:g}{verdict(fits=fits)}"
    )
    if SPARK in whole:
        ratio = whole[SPARK].wall_s / whole[RAYLETS].wall_s
        cpu = whole[SPARK].cpu_s / whole[RAYLETS].cpu_s
        fits = fits and ratio >= 1.0
        print(
            f"over raylets {ratio:.2f} times faster than Spark {MASTER} ({cpu:.2f} times less CPU,"
            f" without its Python workers; {work_s[SPARK]:.1f} s without its start);"
            f" budget 1{verdict(fits=ratio >= 1.0)}"
        )
    return fits


def main() -> int:
    """Exit code: 0 if all is within the budget."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--spark-python", default=sys.executable)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    given = parser.parse_args()
    folder = given.folder.resolve()
    print(f"{given.megabytes} MB, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    ways = ways_of(given.spark_python)
    print("starts, on one word:")
    starts = compared(ways, one_word(folder / "one-word"), folder, 1)
    texts = _text.made(folder, given.megabytes)
    whole: dict[str, Spent] = {}
    for _ in range(given.rounds):
        for name, spent in compared(ways, texts, folder, 1).items():
            whole[name] = whole.get(name, spent).best(spent)
    return 0 if judged(whole, starts) else 1


if __name__ == "__main__":
    sys.exit(main())
