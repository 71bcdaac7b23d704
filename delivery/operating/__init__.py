"""What operators do to messages, queues, clients and sessions: for the console, the admin, REST and manage.py.

Everything here is called synchronously and goes through Django's connection. What changes messages is the same code
and the same guarded statements that the engine and the reaper use (`bridge.py`), done in batches, told to the nodes
(`delivery/wakeups/from_outside.py`) and written into the audit (`audit.py`).
"""
