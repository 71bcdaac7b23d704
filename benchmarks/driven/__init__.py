"""A broker without a server: its application driven from inside its own process, to count what PostgreSQL does for it.

`application.py` is a program that runs in the folder of some version of Willow and speaks only the protocol to it, so
it drives versions of any layout. `broker.py` starts it and gives it orders; `counters.py` reads PostgreSQL's counters.
"""
