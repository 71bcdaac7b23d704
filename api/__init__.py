"""The REST API: one file for each resource. Views that change something call `delivery/operating/` or the engine."""
