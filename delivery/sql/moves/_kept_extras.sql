-- kept_extras: what a message `m` was posted with beside its body, for the journal of queues that keep bodies; null if
-- that is nothing.
nullif(jsonb_strip_nulls(jsonb_build_object('headers', m.headers, 'group', m.group_key, 'key', m.key,
                                            'unique', m.unique_key)), '{}')
