"""`./willow faults load`: many connections, many queues, large bodies and a long time, without faults."""
