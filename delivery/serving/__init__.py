"""Services: requests that go to the least recently used worker, and the configuration that workers run on.

A request is a message of its service's queue, so storage, retry, timeout, dead letters and the journal are those of
messages. What is here is what messages do not have: a line of workers over all nodes, and their handshake.
"""
