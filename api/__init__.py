"""The REST API: one file for each resource. What changes something calls `delivery/operating/` or the engine."""
