"""One client's connection: who it is, what it holds, what it reads and what it still has to be told."""
