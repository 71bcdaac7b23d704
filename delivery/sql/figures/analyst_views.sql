-- analyst_views: the views and tables made for analysts, with what they and their columns mean.
SELECT c.relname AS name, CASE c.relkind WHEN 'v' THEN 'view' ELSE 'table' END AS kind,
       coalesce(obj_description(c.oid), '') AS meaning,
       json_agg(json_build_object(
           'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
           'meaning', coalesce(col_description(c.oid, a.attnum), '')
       ) ORDER BY a.attnum) AS columns
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'public'::regnamespace AND c.relname LIKE 'willow\_%%' AND c.relkind IN ('v', 'r')
GROUP BY c.oid, c.relname, c.relkind
ORDER BY c.relkind DESC, c.relname
