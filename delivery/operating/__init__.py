"""What operators do to messages, queues, clients and sessions: for the console, the admin, REST and manage.py.

Everything here is called synchronously and goes through Django's connection (`delivery/storage/on_django.py`). Messages
are changed by the moves that the engine and the reaper use, in batches. The nodes are told of it
(`delivery/wakeups/from_outside.py`), and the audit has an entry (`audit.py`).
"""
