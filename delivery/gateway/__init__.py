"""Where clients come in: the WebSocket, and posts and pops over HTTP."""
