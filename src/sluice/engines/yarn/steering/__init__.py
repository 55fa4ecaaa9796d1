"""Changes of a running YARN cluster that runs its own jobs: MapReduce, Tez, Spark.

What a plan wishes is compared with what the cluster has now (`present`). What differs becomes
changes, each one call of the REST interface (`changes`). They are made one after the other, read
back, and compared; what is needed to go back is written down first (`steering`). Source: the YARN
spec, section 4.
"""
