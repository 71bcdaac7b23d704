-- waiting_of_keys: how many messages of these keys have not ended, and the bytes of their bodies and headers. 0 stands for
-- posters without a key.
-- Runs on: a sample of the pages of delivery_message, all of them while the table is small.
-- Shape: an index by poster would cost every message something; a sample costs nobody anything, and its size has a
-- bound whatever waits. The lengths of a body and of stored headers are known without reading them. Only what no session
-- tells of names its key itself, and what the broker posted names nobody.
SELECT w.key, count(*) * 100.0 / %(percent)s,
       sum(octet_length(m.body) + coalesce(pg_column_size(m.headers), 0)) * 100.0 / %(percent)s
FROM delivery_message m TABLESAMPLE SYSTEM (%(percent)s) LEFT JOIN clients_session s ON s.id = m.poster
CROSS JOIN LATERAL (SELECT coalesce(m.poster_key, s.key_id, CASE WHEN s.id IS NOT NULL THEN 0 END) AS key) w
WHERE w.key = ANY (%(key)s)
GROUP BY w.key
