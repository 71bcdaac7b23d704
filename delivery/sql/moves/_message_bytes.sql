-- message_bytes: what a message takes that is handed out: its body, of which the length is known without reading it, and
-- its headers. `is_cut` (delivery/moves/claims.py) counts the same.
octet_length(body) + coalesce(octet_length(headers::text), 0)
