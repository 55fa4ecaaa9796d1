"""Word count on Spark: `python spark_words.py INPUT OUTPUT [MASTER]`. Source: engines spec, 6."""

from __future__ import annotations

import operator
import sys

from pyspark.sql import SparkSession


def main(source: str, target: str, master: str = "local[2]") -> None:
    """The RDD program of every tutorial."""
    session = SparkSession.builder.master(master).config("spark.driver.memory", "2g")
    spark = session.config("spark.ui.enabled", "false").getOrCreate()
    words = spark.sparkContext.textFile(source, 8).flatMap(str.split)
    counts = words.map(lambda word: (word, 1)).reduceByKey(operator.add, 4)
    counts.map(lambda pair: f"{pair[0]}\t{pair[1]}").saveAsTextFile(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
