"""How a message changes its state: the states, the statements that change them, and who is told."""
