"""What the names of queues say. The pipeline cannot import the broker, so a test compares these with the broker's."""

SERVICE_PREFIX = "service:"
DEAD_SUFFIX = ".dead"
