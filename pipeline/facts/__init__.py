"""Facts: what the journal's rows add up to. Functions from DataFrames to DataFrames, without input or output.

    journal rows (pipeline/schemas.py)
      -> sorting.py: good rows with their durations; the bad ones counted
      -> queues.py, workers.py (clients and nodes), services.py: facts per minute, hour and day
      -> clusters.py: dead letters by the signature of their error texts
      -> health.py: findings over the facts

Everything counts in the bucket in which its row ended, except `posted`, which counts in the bucket in which the
message was posted. So the facts of a bucket are right if the rows given are all those that ended *or* were posted
in it; of the other buckets that come out, the caller lets go.

Results do not depend on how rows are spread over partitions: counts and sums are of whole numbers, percentiles are
exact, and no function picks "any" row.
"""
