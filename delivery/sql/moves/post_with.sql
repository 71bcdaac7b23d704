-- post_with: store a batch of messages as post.sql does, of which some have headers, a group, a unique text or a known key;
-- and remember the dedupe texts that they have, as post_once.sql does.
-- Runs on: queues_counter's and queues_queue's primary keys; message_of_group and message_behind, for messages of groups;
-- delivery_dedupevalue's primary key.
-- Shape: that of post.sql. A statement of its own, so that messages without these pay nothing for them. Of a group as many
-- are ready as may be claimed at a time, if nothing waits behind; that can be said by those who hold the locks of the groups
-- (`decided`). For others all go behind, and the groups are noted (_groups_touched.sql).
WITH arriving AS (
    SELECT a.*, row_number() OVER of_queue AS number,
           count(*) FILTER (WHERE a.sequence IS NULL) OVER of_queue AS fresh,
           row_number() OVER (PARTITION BY a.queue_id, a.group_key, a.delay > 0 ORDER BY a.place) AS in_group
    FROM unnest(
        %(queue_id)b::bigint[], %(sequence)b::bigint[], %(former)b::bigint[], %(priority)b::bigint[], %(body)b::bytea[],
        %(delay)b::float8[], %(ttl)b::float8[], %(key)b::text[], %(poster)b::bigint[], %(label)b::bigint[], %(notify)b::bigint[],
        %(work_timeout)b::float8[], %(holder)b::bigint[], %(index_before)b::bigint[],
        %(headers)b::text[], %(group_key)b::text[], %(unique_key)b::text[], %(poster_key)b::bigint[],
        %(dedupe)b::text[]
    ) WITH ORDINALITY AS a (queue_id, sequence, former, priority, body, delay, ttl, key, poster, label, notify, work_timeout,
                            holder, index_before, headers, group_key, unique_key, poster_key, dedupe, place)
    WINDOW of_queue AS (PARTITION BY a.queue_id ORDER BY a.place)
), :ADVANCED, :PLACED, :REMEMBERED, judged AS (
    SELECT p.*,
           p.group_key IS NOT NULL AND q.group_in_flight IS NOT NULL
               AND NOT (%(decided)s::boolean AND g.open + p.in_group <= q.group_in_flight AND g.none_behind) AS behind
    FROM placed p
    JOIN queues_queue q ON q.id = p.queue_id
    CROSS JOIN LATERAL (
        SELECT (SELECT count(*) FROM (
                    SELECT FROM delivery_message
                    WHERE queue_id = p.queue_id AND group_key = p.group_key
                      AND state <> :BEHIND AND (state <> :DELAYED OR attempts > 0)
                    LIMIT coalesce(q.group_in_flight, 0)
                ) o) AS open,
               (SELECT count(*) = 0 FROM (
                    SELECT FROM delivery_message
                    WHERE queue_id = p.queue_id AND group_key = p.group_key AND state = :BEHIND
                    ORDER BY priority * -1, index LIMIT CASE WHEN q.group_in_flight IS NULL THEN 0 ELSE 1 END
                ) b) AS none_behind
    ) g
), ended AS (
    INSERT INTO delivery_message (
        queue_id, sequence, index, priority, state, available_at, expires_at, key, body, poster, poster_node, label, notify,
        holder, attempts, assigned_at, work_timeout, lease_until, headers, group_key, unique_key, poster_key
    )
    SELECT
        queue_id, id, index, priority,
        CASE WHEN kind = 'stream' THEN :RETAINED WHEN delay > 0 THEN :DELAYED WHEN behind THEN :BEHIND
             WHEN taker IS NOT NULL THEN :CLAIMED ELSE :READY END,
        CASE WHEN delay > 0 THEN now() + delay * interval '1 second' END,
        now() + ttl * interval '1 second',
        key, body, poster, %(node)s, label, notify,
        taker,
        CASE WHEN taker IS NULL THEN 0 ELSE 1 END,
        CASE WHEN taker IS NOT NULL THEN now() END,
        CASE WHEN taker IS NOT NULL THEN lease WHEN holder IS NULL THEN work_timeout END,
        CASE WHEN taker IS NOT NULL THEN now() + lease * interval '1 second' END,
        headers::jsonb, group_key, unique_key, poster_key
    FROM judged
    RETURNING queue_id, sequence, index, holder, work_timeout,
              CASE WHEN state = :BEHIND AND NOT %(decided)s::boolean THEN group_key END AS group_key
), :GROUPS_TOUCHED
SELECT queue_id, sequence, index, holder, work_timeout FROM ended
