"""The report: one HTML page about queues, services, clients, dead letters and health. Made from facts, without Spark.

figures.py reads the facts -> page.py puts the page together, with charts.py and tables.py -> command.py writes it
"""
