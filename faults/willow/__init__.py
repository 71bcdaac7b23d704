"""A real cluster of Willow, clients that use it, and faults."""
