-- count_come_due: messages that a node made ready count as done to the reaper's duty of that name.
-- Runs on: delivery_dutyrun's primary key.
UPDATE delivery_dutyrun SET handled_total = handled_total + %(messages)s::bigint WHERE duty = %(duty)s
