"""What operators do to messages, queues, clients and sessions: for the console, the admin, REST and manage.py.

Everything here is called synchronously and goes through Django's connection. Messages are changed by the same guarded
statements that the engine and the reaper use (`delivery/storage/on_django.py` runs them), in batches. The nodes are
told (`delivery/wakeups/from_outside.py`), and every action is audited (`audit.py`).
"""
