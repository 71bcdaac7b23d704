"""What one bad client does to the others of its node: `./willow bench neighbours`."""
