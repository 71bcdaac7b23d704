"""Whether any cost on the way of a message grows with what is there or was there before: `./willow bench sweep`."""
