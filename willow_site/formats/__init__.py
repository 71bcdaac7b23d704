"""How Django's own pages write times: as the console does."""
