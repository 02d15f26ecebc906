-- rows: safe; runs: one node; from: README § Router Planner (a semi-join that is pulled up)
SELECT order_id FROM orders o WHERE o.store_id = 1 AND EXISTS (SELECT 1 FROM order_items i WHERE i.store_id = o.store_id AND i.order_id = o.order_id);

-- rows: leaks; runs: refused; from: README § Router Planner
SELECT order_id FROM orders o WHERE o.store_id = 1 AND EXISTS (SELECT 1 FROM order_items i WHERE i.order_id = o.order_id AND i.quantity > 3);

-- rows: safe; runs: one node; from: README § Router Planner
SELECT order_id FROM orders o WHERE o.store_id = 1 AND NOT EXISTS (SELECT 1 FROM order_items i WHERE i.store_id = o.store_id AND i.order_id = o.order_id);

-- rows: leaks; runs: all nodes; from: T multi_subquery_complex_queries
SELECT order_id FROM orders o WHERE o.store_id = 1 AND order_id IN (SELECT order_id FROM order_items WHERE quantity > 3);

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT order_id FROM orders o WHERE o.store_id = 1 AND order_id IN (SELECT order_id FROM order_items WHERE store_id = 1 AND quantity > 3);

-- rows: safe; runs: one node; from: README § Router Planner
SELECT order_id FROM orders o WHERE o.store_id = 1 AND (store_id, order_id) IN (SELECT store_id, order_id FROM order_items WHERE quantity > 3);

-- rows: safe; runs: all nodes; from: README § Router Planner (the value comes from a subquery)
SELECT order_id FROM orders WHERE store_id IN (SELECT s.store_id FROM stores s WHERE s.store_id = 1 ORDER BY 1 LIMIT 1);

-- rows: safe; runs: all nodes; from: README § Router Planner (scalar correlation)
SELECT o.order_id, (SELECT count(*) FROM order_items i WHERE i.store_id = o.store_id AND i.order_id = o.order_id) AS lines FROM orders o WHERE o.store_id = 1;

-- rows: safe; runs: one node; from: README § Router Planner
SELECT o.order_id, (SELECT count(*) FROM order_items i WHERE i.store_id = 1 AND i.order_id = o.order_id) AS lines FROM orders o WHERE o.store_id = 1;

-- rows: leaks; runs: unknown; from: README § Router Planner (an uncorrelated subquery of all stores)
SELECT o.order_id, (SELECT max(total) FROM orders) AS largest FROM orders o WHERE o.store_id = 1;

-- rows: safe; runs: all nodes; from: README § Router Planner (LATERAL)
SELECT o.order_id, l.line FROM orders o, LATERAL (SELECT i.line FROM order_items i WHERE i.store_id = o.store_id AND i.order_id = o.order_id ORDER BY i.line LIMIT 1) l WHERE o.store_id = 1;

-- rows: leaks; runs: unknown; from: README § Router Planner (LATERAL)
SELECT o.order_id, l.line FROM orders o, LATERAL (SELECT i.line FROM order_items i WHERE i.order_id = o.order_id ORDER BY i.line, i.store_id LIMIT 1) l WHERE o.store_id = 1;

-- rows: safe; runs: one node; from: README § Router Planner
SELECT s.n FROM (SELECT store_id, count(*) AS n FROM orders GROUP BY store_id) s WHERE s.store_id = 1;

-- rows: leaks; runs: all nodes; from: README § Router Planner (a constant doesn't pass LIMIT)
SELECT s.order_id FROM (SELECT * FROM orders ORDER BY total DESC, store_id, order_id LIMIT 3) s WHERE s.store_id = 1;

-- rows: leaks; runs: all nodes; from: README § Router Planner (a window off the column)
SELECT s.order_id, s.r FROM (SELECT store_id, order_id, rank() OVER (ORDER BY total, store_id, order_id) AS r FROM orders) s WHERE s.store_id = 1;

-- rows: safe; runs: one node; from: README § Router Planner (a window by the column)
SELECT s.order_id, s.r FROM (SELECT store_id, order_id, rank() OVER (PARTITION BY store_id ORDER BY total, order_id) AS r FROM orders) s WHERE s.store_id = 1 AND s.r < 3;

-- rows: safe; runs: one node; from: T cte_inline
WITH o AS (SELECT * FROM orders) SELECT order_id FROM o WHERE store_id = 1;

-- rows: safe; runs: all nodes; from: T cte_inline (MATERIALIZED)
WITH o AS MATERIALIZED (SELECT * FROM orders) SELECT order_id FROM o WHERE store_id = 1;

-- rows: safe; runs: one node; from: T multi_router_planner
WITH o AS MATERIALIZED (SELECT * FROM orders WHERE store_id = 1) SELECT order_id FROM o WHERE total > 10;

-- rows: safe; runs: all nodes; from: README § CTE (LIMIT, then a join on the tenant)
WITH last AS (SELECT store_id, order_id FROM orders WHERE store_id = 1 ORDER BY placed_at DESC, order_id LIMIT 2) SELECT i.order_id, i.line FROM last l JOIN order_items i ON i.store_id = l.store_id AND i.order_id = l.order_id;

-- rows: leaks; runs: all nodes; from: README § CTE
WITH last AS (SELECT store_id, order_id FROM orders WHERE store_id = 1 ORDER BY placed_at DESC, order_id LIMIT 2) SELECT i.order_id, i.line FROM last l JOIN order_items i ON i.order_id = l.order_id;

-- rows: leaks; runs: all nodes; from: T cte_inline (used twice, so not inlined)
WITH o AS (SELECT * FROM orders WHERE status = 'paid') SELECT (SELECT count(*) FROM o) AS n, order_id FROM o WHERE store_id = 1;

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT order_id FROM orders WHERE store_id = 1 UNION SELECT product_id FROM products WHERE store_id = 1;

-- rows: leaks; runs: all nodes; from: T set_operations
SELECT order_id FROM orders WHERE store_id = 1 UNION ALL SELECT product_id FROM products;

-- rows: safe; runs: one node; from: README § Router Planner (a constant passes UNION)
SELECT u.id FROM (SELECT store_id, order_id AS id FROM orders UNION SELECT store_id, product_id FROM products) u WHERE u.store_id = 1;

-- rows: leaks; runs: all nodes; from: T set_operations (another column)
SELECT u.id FROM (SELECT store_id, order_id AS id FROM orders UNION SELECT product_id, store_id FROM products) u WHERE u.store_id = 1;

-- rows: leaks; runs: all nodes; from: T set_operations
SELECT order_id FROM orders WHERE store_id = 1 EXCEPT SELECT product_id FROM products;

-- rows: safe; runs: one node; from: T multi_router_planner
WITH RECURSIVE up AS (SELECT store_id, order_id, 1 AS depth FROM orders WHERE store_id = 1 AND order_id = 1 UNION ALL SELECT o.store_id, o.order_id, up.depth + 1 FROM orders o JOIN up ON o.store_id = up.store_id AND o.order_id = up.order_id + 1 WHERE o.store_id = 1 AND up.depth < 5) SELECT * FROM up;

-- rows: safe; runs: refused; from: T multi_router_planner (a filter in each arm)
WITH RECURSIVE up AS (SELECT store_id, order_id, 1 AS depth FROM orders WHERE store_id = 1 AND order_id = 1 UNION ALL SELECT o.store_id, o.order_id, up.depth + 1 FROM orders o JOIN up ON o.store_id = up.store_id AND o.order_id = up.order_id + 1 WHERE up.depth < 5) SELECT * FROM up;

-- rows: leaks; runs: refused; from: T multi_router_planner
WITH RECURSIVE up AS (SELECT order_id, 1 AS depth FROM orders WHERE store_id = 1 AND order_id = 1 UNION ALL SELECT o.order_id, up.depth + 1 FROM orders o JOIN up ON o.order_id = up.order_id + 1 WHERE up.depth < 5) SELECT * FROM up;

-- rows: safe; runs: one node; from: T local_table_join (views are expanded)
SELECT * FROM paid_orders WHERE store_id = 1;

-- rows: safe; runs: one node; from: README § Router Planner (GROUP BY the column)
SELECT nr, size FROM order_sizes WHERE store = 1;

-- rows: leaks; runs: all nodes; from: README § Router Planner
SELECT order_id FROM largest_orders WHERE store_id = 1;

-- rows: leaks; runs: all nodes; from: README § Router Planner (the view has no tenant)
SELECT * FROM statuses;

-- rows: leaks, unknown; runs: all nodes; from: T multi_rls_join_distribution_key (row-level security depends on the role)
SELECT * FROM my_notes;

-- rows: safe; runs: one node; from: T pg15
SELECT note_id, body FROM my_notes WHERE store_id = 1;

-- rows: safe; runs: all nodes; from: README § Router Planner (the value comes from a subquery)
SELECT order_id FROM orders WHERE store_id = (SELECT length(code) - 1 FROM countries WHERE code = 'DE');

-- rows: leaks; runs: unknown; from: README § Router Planner
SELECT order_id FROM orders WHERE store_id = 1 AND total = (SELECT max(o.total) FROM orders o WHERE o.status = 'paid');

-- rows: safe; runs: one node; from: README § Router Planner
SELECT c.code FROM countries c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.store_id = 1 AND o.country = c.code);

-- rows: leaks; runs: unknown; from: README § Router Planner
SELECT c.code FROM countries c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.country = c.code);

-- rows: safe; runs: one node; from: README § Router Planner
SELECT v.n, o.order_id FROM (VALUES (1, 'paid'), (2, 'open')) AS v (n, status) JOIN orders o ON o.status = v.status WHERE o.store_id = 1;

-- rows: leaks, unknown; runs: unknown; from: T multi_mx_function_call_delegation (a function may run queries)
SELECT order_id FROM orders WHERE store_id = 1 AND total < average_total();

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT g.n, count(o.order_id) FROM generate_series(1, 3) AS g (n) LEFT JOIN orders o ON o.store_id = 1 AND o.order_id = g.n GROUP BY g.n;
