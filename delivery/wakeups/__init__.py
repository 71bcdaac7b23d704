"""How those who wait learn that something has happened: hints between processes, and timers for delays."""
