"""Word count on Hadoop MapReduce itself: `python hadoop_words.py INPUT OUTPUT`.

The wheel of PySpark carries the Hadoop client with its LocalJobRunner; Hadoop's own mapper and
reducer classes do the work, in Java. Source: engines spec, section 6.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

SETTINGS = {
    "mapreduce.framework.name": "local",
    "fs.defaultFS": "file:///",
    "mapreduce.local.map.tasks.maximum": "2",
    "mapreduce.local.reduce.tasks.maximum": "2",
    "mapreduce.input.fileinputformat.split.maxsize": str(26 << 20),
    "mapreduce.job.reduces": "4",
}


def main(source: str, target: str) -> None:
    """Two map slots, a combiner, four reduces: the same as for Sluice."""
    session = SparkSession.builder.master("local[1]").config("spark.driver.memory", "2g")
    spark = session.config("spark.ui.enabled", "false").getOrCreate()
    java = spark.sparkContext._jvm  # noqa: SLF001  # the only way to Java
    conf = java.org.apache.hadoop.conf.Configuration()
    for name, setting in SETTINGS.items():
        conf.set(name, setting)
    mapreduce = java.org.apache.hadoop.mapreduce
    job = mapreduce.Job.getInstance(conf, "wordcount")
    named = java.java.lang.Thread.currentThread().getContextClassLoader().loadClass
    job.setMapperClass(named("org.apache.hadoop.mapreduce.lib.map.TokenCounterMapper"))
    summing = named("org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer")
    job.setCombinerClass(summing)
    job.setReducerClass(summing)
    job.setOutputKeyClass(named("org.apache.hadoop.io.Text"))
    job.setOutputValueClass(named("org.apache.hadoop.io.IntWritable"))
    path = java.org.apache.hadoop.fs.Path
    mapreduce.lib.input.FileInputFormat.addInputPaths(job, source)
    mapreduce.lib.output.FileOutputFormat.setOutputPath(job, path(target))
    is_done = job.waitForCompletion(False)  # noqa: FBT003  # Java has no names for arguments
    spark.stop()
    sys.exit(0 if is_done else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
