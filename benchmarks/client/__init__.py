"""What the clients themselves cost: processor time per message of one program with one connection.

Willow's client beside nats-py and aio-pika, on the same work, by turns: `python -m benchmarks client`.
"""
