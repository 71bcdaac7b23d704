"""The tasks of task queues, as their workers import them: each does nothing but tell how long its message took.

`WILLOW_BENCH_ADDRESS` is the server's address, `WILLOW_BENCH_WAITS` a file to which each task appends a line.
"""
