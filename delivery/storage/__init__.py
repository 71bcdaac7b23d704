"""How statements reach PostgreSQL: connections, lanes that coalesce requests, and what they count."""
