-- rows: safe; runs: one node; from: T multi_router_planner
SELECT * FROM orders WHERE store_id = 1;

-- rows: leaks; runs: all nodes; from: D migration_mt_query
SELECT order_id, total FROM orders;

-- rows: leaks; runs: all nodes; from: D migration_mt_query
SELECT * FROM orders WHERE order_id = 2;

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT count(*), sum(total) FROM orders WHERE store_id = $1 AND status = 'paid';

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT * FROM orders WHERE store_id IN (1);

-- rows: leaks; runs: unknown; from: T multi_router_planner (two values may share a shard)
SELECT * FROM orders WHERE store_id IN (1, 2);

-- rows: leaks; runs: unknown; from: T multi_router_planner
SELECT * FROM orders WHERE store_id = 1 OR store_id = 2;

-- rows: leaks; runs: all nodes; from: T multi_router_planner
SELECT * FROM orders WHERE store_id = 1 OR order_id = 2;

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT * FROM orders WHERE (store_id = 1 AND order_id = 2) OR (store_id = 1 AND status = 'paid');

-- rows: safe; runs: one node; from: T multi_router_planner (abs(-1) is folded)
SELECT * FROM orders WHERE store_id = abs(-1);

-- rows: safe, unknown; runs: all nodes; from: T multi_router_planner (1 = abs(column))
SELECT * FROM orders WHERE abs(store_id) = 1 AND store_id > 0;

-- rows: safe; runs: all nodes; from: T multi_router_planner
SELECT * FROM orders WHERE (store_id = 1) IS TRUE;

-- rows: leaks; runs: all nodes; from: T multi_prune_shard_list
SELECT * FROM orders WHERE store_id BETWEEN 1 AND 2;

-- rows: leaks; runs: all nodes; from: T multi_prune_shard_list
SELECT * FROM orders WHERE store_id >= 1;

-- rows: leaks; runs: all nodes; from: T multi_prune_shard_list
SELECT * FROM orders WHERE store_id <> 1;

-- rows: safe; runs: one node; from: T multi_prune_shard_list
SELECT * FROM orders WHERE NOT (store_id <> 1);

-- rows: safe; runs: one node; from: T multi_router_planner (no shard)
SELECT * FROM orders WHERE store_id = NULL;

-- rows: safe; runs: one node; from: T multi_router_planner (no shard)
SELECT * FROM orders WHERE store_id = 1 AND store_id = 2;

-- rows: safe; runs: one node; from: T multi_router_planner (no shard)
SELECT * FROM orders WHERE false;

-- rows: safe, unknown; runs: all nodes; from: T multi_router_planner (cast over the column)
SELECT * FROM orders WHERE store_id::text = '1';

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT * FROM orders WHERE store_id = '1'::bigint ORDER BY total, order_id LIMIT 2;

-- rows: leaks; runs: all nodes; from: D query_multi_tenant
SELECT * FROM orders ORDER BY total DESC, store_id, order_id LIMIT 2;

-- rows: leaks; runs: all nodes; from: D query_multi_tenant
SELECT store_id, count(*) FROM orders GROUP BY store_id;

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT store_id, count(*) FROM orders GROUP BY store_id HAVING store_id = 1;

-- rows: leaks; runs: all nodes; from: D query_multi_tenant
SELECT status, count(*) FROM orders GROUP BY status;

-- rows: safe; runs: one node; from: D query_multi_tenant
SELECT order_id, rank() OVER (PARTITION BY status ORDER BY total, order_id) FROM orders WHERE store_id = 1;

-- rows: safe; runs: all nodes; from: T multi_router_planner (a stable value on the right)
SELECT * FROM orders WHERE store_id = coalesce(current_setting('app.store', true), '1')::bigint;

-- rows: leaks; runs: all nodes; from: T multi_router_planner (a volatile value on the right)
SELECT * FROM orders WHERE store_id = 1 + floor(random() * 1000)::int % 3;

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT o.*, o.total > 10 AS large FROM orders AS o WHERE 1 = o.store_id FOR UPDATE;

-- rows: leaks; runs: refused; from: T multi_router_planner (FOR UPDATE over several shards)
SELECT order_id FROM orders WHERE status = 'paid' FOR UPDATE;

-- rows: leaks; runs: refused; from: T multi_router_planner (GROUPING SETS over several shards)
SELECT store_id, status, count(*) FROM orders GROUP BY GROUPING SETS ((store_id), (status));

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT status, country, count(*) FROM orders WHERE store_id = 1 GROUP BY ROLLUP (status, country);

-- rows: leaks, unknown; runs: unknown; from: T multi_router_planner (a list as a parameter)
SELECT * FROM orders WHERE store_id = ANY (ARRAY[$1, 2]::bigint[]);

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT * FROM orders WHERE store_id = ANY (ARRAY[1]);

-- rows: safe; runs: one node; from: README (reference tables are on every node)
SELECT * FROM countries WHERE code = 'DE';

-- rows: safe; runs: one node; from: README
SELECT * FROM settings;

-- rows: safe; runs: one node; from: README
SELECT now() > '2020-01-01' AS late, 1 + 1 AS two;

-- rows: leaks; runs: all nodes; from: D query_multi_tenant
SELECT DISTINCT status FROM orders;

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT DISTINCT ON (status) status, order_id FROM orders WHERE store_id = 1 ORDER BY status, order_id;

-- rows: leaks, unknown; runs: one node; from: T multi_router_planner (where a row is stored depends on all rows)
SELECT ctid::text FROM orders WHERE store_id = 1;

-- rows: leaks; runs: all nodes; from: T multi_hash_pruning (another distribution column)
SELECT * FROM visits WHERE visitor_id > 3;

-- rows: leaks; runs: one node; from: T multi_hash_pruning (one visitor of all stores)
SELECT * FROM visits WHERE visitor_id = 3;

-- rows: safe; runs: all nodes; from: T multi_hash_pruning (one store of all visitors)
SELECT * FROM visits WHERE store_id = 1;

-- rows: safe; runs: one node; from: T multi_hash_pruning
SELECT * FROM visits WHERE store_id = 1 AND visitor_id = 3;
