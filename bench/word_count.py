"""How fast is real map-reduce on one machine, against what people run there today?

Question: word count of 200 MB of text (30 million words, about a million different ones) as Python
functions and as plain streaming commands, with and without a combiner, 26 MB splits, 2 map slots,
4 reduces; against coreutils, mawk, `mrjob -r local --num-cores 2`, Spark's RDD in local[2] and
Hadoop MapReduce itself (LocalJobRunner), on the same files in the same run. Whole processes, from
start to end: wall seconds, and CPU seconds of all that they started (but Spark's Python workers,
whose ends its daemon ignores: the kernel then counts them for nobody). And at a tenth of the size,
for the growth. All outputs must be equal before anything is told.
Budgets: functions at least 5 times faster than mrjob, faster than Hadoop and than Spark's RDD.
Machine: 2 cores, 24 GiB, Python 3.11, Java 17. Peers that are not installed are left out.

`--megabytes 20` is quick; `--only NAME ..` runs some; the text is kept in build/bench.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import _text
from bench._figures import Spent, best_of, verdict, whole_process

PROGRAMS = Path(__file__).parent / "_word_count"
SOURCE = Path(__file__).parents[1] / "src"
SPLIT_BYTES = 26 << 20
REDUCES, SLOTS = 4, 2
SLOTS_ONLY = {"map_slots": SLOTS, "reduce_slots": SLOTS}
SUM = (
    'BEGIN { FS = OFS = "\\t" } function told() { if (NR > 1) print word, count }'
    " (first = $1) != word || NR == 1 { told(); word = first; count = 0 }"
    " { count += NF > 1 ? $2 : 1 } END { if (NR) print word, count }"
)
WORDS_TO_LINES = r"tr -s ' ' '\n'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of counting words.

    run: counts the words of some files, with a folder for its output and its talk.
    counts: what it then tells, as (word, count).  rounds: how often it is worth running.
    """

    name: str
    run: Callable[[list[Path], Path], Spent]
    counts: Callable[[Path], Iterator[tuple[bytes, int]]]
    rounds: int = 2
    needs: str = ""

    @property
    def is_there(self) -> bool:
        """Whether the machine has it."""
        return not self.needs or bool(
            shutil.which(self.needs) or importlib.util.find_spec(self.needs)
        )


# --- Sluice -----------------------------------------------------------------------------------


def sluice(
    run: dict[str, object], cluster: Mapping[str, object] = SLOTS_ONLY, options: Sequence[str] = ()
) -> Callable[[list[Path], Path], Spent]:
    """Through the command line, as a user would."""

    def counted(texts: list[Path], place: Path) -> Spent:
        shutil.copy(PROGRAMS / "functions.py", place)
        spec = run | {
            "input": [str(path) for path in texts],
            "output": "output",
            "split_bytes": SPLIT_BYTES,
            "env": {"LC_ALL": "C"},
        }
        job = {"id": "words", "reduces": {"tasks": REDUCES}, "run": spec}
        workload = {"version": 1, "cluster": cluster, "jobs": [job]}
        (place / "words.json").write_text(json.dumps(workload))
        return whole_process(
            [sys.executable, "-m", "sluice", "run", str(place / "words.json"), "--json", *options],
            log=place / "log",
            env={"SLUICE_HOME": str(place / "home"), "PYTHONPATH": str(SOURCE)},
        )

    return counted


# --- peers ------------------------------------------------------------------------------------


def shell(line: str) -> Callable[[list[Path], Path], Spent]:
    """A pipeline in the C locale over all files; its standard output is the result."""

    def counted(texts: list[Path], place: Path) -> Spent:
        (place / "output").mkdir()
        cat = f"cat {shlex.join(map(str, texts))} | {line}"
        output = place / "output" / "part"
        return whole_process(
            ["sh", "-c", cat], log=place / "log", output=output, env={"LC_ALL": "C"}
        )

    return counted


def mrjob(texts: list[Path], place: Path) -> Spent:
    """`-r local`: a process for each task."""
    (place / "output").mkdir()
    program = str(PROGRAMS / "mrjob_words.py")
    argv = [sys.executable, "-W", "ignore", program, "-r", "local", "--num-cores", str(SLOTS)]
    return whole_process(
        [*argv, *map(str, texts)],
        log=place / "log",
        output=place / "output" / "part",
        env={"TMPDIR": str(place)},
    )


def java(
    program: str, *options: str, python: str = sys.executable, env: Mapping[str, str] = {}
) -> Callable[[list[Path], Path], Spent]:
    """One of the programs that drive a JVM; it reads the folder of the text."""

    def counted(texts: list[Path], place: Path) -> Spent:
        source = place / "input"
        source.mkdir()
        for path in texts:
            (source / path.name).symlink_to(path)
        return whole_process(
            [python, str(PROGRAMS / program), str(source), str(place / "output"), *options],
            log=place / "log",
            env={
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_LOCAL_DIRS": str(place),
                "SPARK_WORKER_DIR": str(place),
                "PYSPARK_PYTHON": python,
                **env,
            },
        )

    return counted


# --- what they tell ---------------------------------------------------------------------------


def _lines(place: Path) -> Iterator[bytes]:
    for path in sorted((place / "output").glob("part*")):
        with path.open("rb") as file:
            yield from file


def tabbed(place: Path) -> Iterator[tuple[bytes, int]]:
    """Lines of word TAB count."""
    for line in _lines(place):
        word, _, count = line.partition(b"\t")
        yield word.strip(b'"'), int(count)


def counted_first(place: Path) -> Iterator[tuple[bytes, int]]:
    """Lines of `uniq -c`: count, blank, word."""
    for line in _lines(place):
        count, word = line.split()
        yield word, int(count)


def digest(pairs: Iterator[tuple[bytes, int]]) -> tuple[int, int, int]:
    """Words, their occurrences, and a sum that depends on each pair but not on their order."""
    words = total = mixed = 0
    for word, count in pairs:
        words += 1
        total += count
        mixed ^= hash((word, count))
    return words, total, mixed


FUNCTIONS, COREUTILS = "sluice functions", "coreutils"
HADOOP, MRJOB, SPARK = "hadoop local", "mrjob local", "spark rdd"
WAYS = (
    Way(
        name=COREUTILS,
        run=shell(rf"{WORDS_TO_LINES} | sort -S 1G --parallel=2 | uniq -c"),
        counts=counted_first,
    ),
    Way(
        name="mawk",
        run=shell("mawk '{for(i=1;i<=NF;i++)c[$i]++} END{for(w in c)print c[w],w}'"),
        counts=counted_first,
        needs="mawk",
    ),
    Way(name=FUNCTIONS, run=sluice({"python": "functions.py"}), counts=tabbed, rounds=3),
    Way(
        name="sluice commands",
        run=sluice({"mapper": WORDS_TO_LINES, "reducer": "uniq -c"}),
        counts=counted_first,
    ),
    Way(
        name="sluice commands, combiner",
        run=sluice(
            {
                "mapper": WORDS_TO_LINES,
                "combiner": shlex.join(["awk", SUM]),
                "reducer": shlex.join(["awk", SUM]),
            }
        ),
        counts=tabbed,
    ),
    Way(name=HADOOP, run=java("hadoop_words.py"), counts=tabbed, needs="pyspark"),
    Way(name=SPARK, run=java("spark_words.py"), counts=tabbed, needs="pyspark"),
    Way(name=MRJOB, run=mrjob, counts=tabbed, rounds=1, needs="mrjob"),
)
FASTER_THAN = {MRJOB: 5.0, HADOOP: 1.0, SPARK: 1.0}


def timed(
    way: Way, texts: list[Path], folder: Path, rounds: int
) -> tuple[Spent, tuple[int, int, int]]:
    """The best of some runs, and what the last of them told."""
    place = folder / "runs" / way.name.replace(" ", "-").replace(",", "")

    def once() -> Spent:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return way.run(texts, place)

    spent = best_of(rounds, once)
    told = digest(way.counts(place))
    shutil.rmtree(place)
    return spent, told


def compared(ways: list[Way], texts: list[Path], folder: Path, most: int) -> dict[str, Spent]:
    """Every way on the same text. Raises AssertionError where two tell different counts."""
    spent: dict[str, Spent] = {}
    first: tuple[int, int, int] | None = None
    for way in ways:
        spent[way.name], told = timed(way, texts, folder, min(most, way.rounds))
        first = first or told
        assert told == first, f"{way.name} counted {told[:2]}, {ways[0].name} {first[:2]}"
        base = spent[ways[0].name].wall_s
        ratio = f"{spent[way.name].wall_s / base:5.2f} x {ways[0].name}"
        print(f"{way.name:26} {spent[way.name]}, {ratio}", flush=True)
    if first:
        print(f"all counted {first[1]:,} words, {first[0]:,} different")
    return spent


def judged(spent: dict[str, Spent]) -> bool:
    """Print how Sluice stands to its peers; whether every budget is kept."""
    ok = True
    for name, least in FASTER_THAN.items():
        if FUNCTIONS in spent and name in spent:
            ratio = spent[name].wall_s / spent[FUNCTIONS].wall_s
            cpu = f" (CPU {spent[name].cpu_s / spent[FUNCTIONS].cpu_s:.1f} times less)"
            ok = ok and ratio >= least
            print(
                f"functions are {ratio:.1f} times faster than {name}{'' if name == SPARK else cpu};"
                f" budget {least:g}{verdict(fits=ratio >= least)}"
            )
    return ok


def main() -> int:
    """Exit code: 0 if all is within the budget."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=[way.name for way in WAYS])
    parser.add_argument("--rounds", type=int, default=3, help="at most; slow peers run less")
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    chosen = [way for way in WAYS if arguments.only is None or way.name in arguments.only]
    ways = [way for way in chosen if way.is_there]
    print(f"{arguments.megabytes} MB, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    texts = _text.made(folder, arguments.megabytes)
    spent = compared(ways, texts, folder, arguments.rounds)
    small = max(1, arguments.megabytes // 10)
    print(f"growth, from {small} MB:")
    ours = [way for way in ways if way.name.startswith("sluice")]
    before = compared(ours, _text.made(folder, small), folder, arguments.rounds)
    for name, at_small in before.items():
        wall, cpu = spent[name].wall_s / at_small.wall_s, spent[name].cpu_s / at_small.cpu_s
        print(f"{name:26} 10 times the text: {wall:.1f} times as long, {cpu:.1f} times the CPU")
    return 0 if judged(spent) else 1


if __name__ == "__main__":
    sys.exit(main())
