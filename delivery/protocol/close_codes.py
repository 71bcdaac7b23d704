"""Why the broker closed a WebSocket, for the client's program."""

BAD_HANDSHAKE = 4400
NOT_LET_IN = 4401  # no valid key, or no longer
ID_IN_USE = 4403
CLOSED_BY_OPERATOR = TOO_SLOW = 4408  # the client may connect again
WORKER_IS_DISMISSED = 4409  # the `disconnecterror` before it says why
STORAGE_IS_GONE = 4500
NODE_IS_DRAINING = 4503
