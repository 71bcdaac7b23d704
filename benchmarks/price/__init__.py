"""What a message costs PostgreSQL, beside an earlier version of Willow in the same run: `./willow bench price`."""
