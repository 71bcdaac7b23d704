-- regrouping_stepped: the groups of a queue have been gone through up to this one; after the last of all it is over, or
-- begins again while some node may not know of the change.
-- Runs on: delivery_regrouping's primary key.
WITH over AS (
    DELETE FROM delivery_regrouping WHERE queue_id = %(queue_id)s AND %(last)s::text = '' AND until < now()
)
UPDATE delivery_regrouping SET after_group = %(last)s::text
WHERE queue_id = %(queue_id)s AND NOT (%(last)s::text = '' AND until < now())
