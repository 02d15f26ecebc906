-- rows: safe; runs: one node; from: T multi_modifications
INSERT INTO orders (store_id, order_id, status, placed_at, total) VALUES (1, 901, 'open', '2026-01-01', 5) RETURNING order_id;

-- rows: leaks; runs: unknown; from: T multi_modifications
INSERT INTO orders (store_id, order_id, status, placed_at, total) VALUES (1, 901, 'open', '2026-01-01', 5), (2, 901, 'open', '2026-01-01', 5);

-- rows: safe; runs: one node; from: T multi_modifications (functions run before the routing)
INSERT INTO orders (store_id, order_id, status, placed_at, total) VALUES ($1, 901, 'open', now(), 5);

-- rows: safe; runs: refused; from: T multi_modifications (a subquery in VALUES)
INSERT INTO orders (store_id, order_id, status, placed_at, total) VALUES (1, 901, 'open', '2026-01-01', (SELECT count(*) FROM countries));

-- rows: safe; runs: one node; from: T multi_upsert
INSERT INTO orders (store_id, order_id, status, placed_at, total) VALUES (1, 1, 'open', '2026-01-01', 5) ON CONFLICT (store_id, order_id) DO UPDATE SET total = excluded.total, status = 'changed' RETURNING *;

-- rows: safe; runs: refused; from: T multi_upsert (now() in DO UPDATE)
INSERT INTO orders (store_id, order_id, status, placed_at, total) VALUES (1, 1, 'open', '2026-01-01', 5) ON CONFLICT (store_id, order_id) DO UPDATE SET placed_at = now();

-- rows: safe; runs: one node; from: T multi_upsert
INSERT INTO orders (store_id, order_id, status, placed_at, total) VALUES (1, 1, 'open', '2026-01-01', 5) ON CONFLICT DO NOTHING;

-- rows: leaks; runs: refused; from: T multi_upsert (the distribution column changes)
INSERT INTO orders (store_id, order_id, status, placed_at, total) VALUES (1, 1, 'open', '2026-01-01', 5) ON CONFLICT (store_id, order_id) DO UPDATE SET store_id = 7;

-- rows: safe; runs: one node; from: T multi_modifications
UPDATE orders SET status = 'sent' WHERE store_id = 1 AND order_id = $1;

-- rows: leaks; runs: all nodes; from: T multi_shard_update_delete
UPDATE orders SET status = 'sent' WHERE order_id = 2;

-- rows: leaks; runs: refused; from: T multi_modifications (the distribution column changes)
UPDATE orders SET store_id = 7, order_id = order_id + 5000 WHERE store_id = 1;

-- rows: safe; runs: one node; from: T multi_modifications (WHERE implies the value)
UPDATE orders SET store_id = 1, status = 'sent' WHERE store_id = 1;

-- rows: safe; runs: refused; from: T multi_modifications (a volatile function)
UPDATE orders SET total = floor(random())::bigint WHERE store_id = 1;

-- rows: safe; runs: one node; from: T multi_modifications (a stable function without columns)
UPDATE orders SET placed_at = now() WHERE store_id = 1;

-- rows: safe; runs: refused; from: T multi_modifications (a stable function of a column)
UPDATE orders SET customer = to_char(placed_at, 'YYYY') WHERE store_id = 1;

-- rows: safe; runs: one node; from: T multi_shard_update_delete
UPDATE orders o SET total = s.n FROM (SELECT store_id, order_id, sum(quantity) AS n FROM order_items GROUP BY store_id, order_id) s WHERE s.store_id = o.store_id AND s.order_id = o.order_id AND o.store_id = 1;

-- rows: leaks; runs: unknown; from: T multi_shard_update_delete
UPDATE orders o SET total = i.quantity FROM order_items i WHERE i.order_id = o.order_id AND i.line = 1 AND o.store_id = 1;

-- rows: safe; runs: one node; from: T multi_modifications
DELETE FROM order_items WHERE store_id = 1 AND order_id = 2;

-- rows: leaks; runs: all nodes; from: T multi_shard_update_delete
DELETE FROM order_items WHERE quantity > 3;

-- rows: safe; runs: one node; from: T multi_shard_update_delete
DELETE FROM order_items i USING orders o WHERE o.store_id = i.store_id AND o.order_id = i.order_id AND o.status = 'paid' AND i.store_id = 1;

-- rows: leaks; runs: refused; from: T multi_shard_update_delete (never repartitioned)
DELETE FROM order_items i USING orders o WHERE o.order_id = i.order_id AND o.status = 'paid';

-- rows: safe; runs: one node; from: T multi_insert_select
INSERT INTO order_items (store_id, order_id, line, product_id, quantity) SELECT store_id, order_id, 900, 1, 1 FROM orders WHERE store_id = 1;

-- rows: leaks; runs: all nodes; from: T multi_insert_select
INSERT INTO order_items (store_id, order_id, line, product_id, quantity) SELECT store_id, order_id, 900, 1, 1 FROM orders;

-- rows: leaks; runs: unknown; from: T multi_insert_select
INSERT INTO order_items (store_id, order_id, line, product_id, quantity) SELECT 1, order_id, 900 + store_id, 1, 1 FROM orders;

-- rows: leaks; runs: unknown; from: T multi_insert_select
INSERT INTO order_items (store_id, order_id, line, product_id, quantity) SELECT 2, order_id, 900, 1, 1 FROM orders WHERE store_id = 1;

-- rows: safe; runs: refused; from: T pg15 (writes through a view)
UPDATE paid_orders SET total = 1 WHERE store_id = 1;

-- rows: safe, unknown; runs: refused; from: T multi_modifications (no value for the distribution column)
INSERT INTO orders (order_id, status, placed_at, total) VALUES (901, 'open', '2026-01-01', 5);

-- rows: safe; runs: refused; from: T multi_modifications (a reference table from a distributed one)
UPDATE countries SET name = o.status FROM orders o WHERE o.country = countries.code AND o.store_id = 1 AND o.order_id = 1;

-- rows: safe; runs: unknown; from: README (reference tables, on every node)
INSERT INTO countries (code, name) VALUES ('ZZ', 'Zed');

-- rows: leaks; runs: all nodes; from: D reference_ddl
TRUNCATE order_items;

-- rows: safe; runs: one node; from: T multi_modifying_xacts
WITH gone AS (DELETE FROM order_items WHERE store_id = 1 AND order_id = 1 RETURNING store_id, order_id) UPDATE orders o SET total = 0 FROM gone g WHERE g.store_id = o.store_id AND g.order_id = o.order_id AND o.store_id = 1;

-- rows: leaks; runs: unknown; from: T with_modifying
WITH gone AS (DELETE FROM order_items WHERE order_id = 1 RETURNING order_id) SELECT count(*) FROM gone;

-- rows: safe, unknown; runs: unknown; from: T merge
MERGE INTO orders o USING (SELECT 1::bigint AS store_id, 1::bigint AS order_id) s ON o.store_id = s.store_id AND o.order_id = s.order_id AND o.store_id = 1 WHEN MATCHED THEN UPDATE SET status = 'merged';
