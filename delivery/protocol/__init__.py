"""What clients and the broker say to each other: frames as typed values, and their two encodings."""
