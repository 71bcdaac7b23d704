"""The tasks of task queues, as their workers import them: each does nothing but tell how long its message took.

`BENCH_ADDRESS` is the server's address, `BENCH_WAITS` a file to which each task appends a line.
"""
