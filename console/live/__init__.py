"""Parts of screens that keep themselves up to date, over one WebSocket per page."""
