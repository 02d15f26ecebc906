-- rows: safe; runs: one node; from: README § Router Planner
SELECT o.order_id, i.line FROM orders o JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id WHERE o.store_id = 1;

-- rows: safe; runs: one node; from: README § Router Planner
SELECT o.order_id, i.line FROM orders o JOIN order_items i USING (store_id, order_id) WHERE store_id = $1;

-- rows: leaks; runs: repartition; from: T multi_router_planner
SELECT o.order_id, i.line FROM orders o JOIN order_items i ON i.order_id = o.order_id WHERE o.store_id = 1;

-- rows: leaks; runs: repartition; from: T multi_router_planner
SELECT o.order_id, i.line FROM orders o, order_items i WHERE i.order_id = o.order_id;

-- rows: leaks; runs: all nodes; from: README (joined on the distribution column)
SELECT o.order_id, i.line FROM orders o, order_items i WHERE i.order_id = o.order_id AND i.store_id = o.store_id;

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT o.order_id, i.line FROM orders o, order_items i WHERE i.store_id = 1 AND o.store_id = 1;

-- rows: leaks; runs: unknown; from: T multi_router_planner (two values may share a shard)
SELECT o.order_id, i.line FROM orders o, order_items i WHERE i.store_id = 2 AND o.store_id = 1;

-- rows: leaks; runs: refused; from: T cross_join
SELECT o.order_id, i.line FROM orders o CROSS JOIN order_items i;

-- rows: safe; runs: one node; from: README § Router Planner (preserved to nullable side)
SELECT o.order_id, i.line FROM orders o LEFT JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id WHERE o.store_id = 1;

-- rows: leaks; runs: all nodes; from: README § Router Planner (ON doesn't restrict the preserved side)
SELECT o.order_id, i.line FROM orders o LEFT JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id AND o.store_id = 1;

-- rows: leaks; runs: all nodes; from: T multi_outer_join
SELECT o.order_id, i.line FROM orders o LEFT JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id AND i.store_id = 1;

-- rows: safe; runs: one node; from: README § Router Planner (WHERE makes it an inner join)
SELECT o.order_id, i.line FROM orders o LEFT JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id WHERE i.store_id = 1;

-- rows: leaks; runs: all nodes; from: T multi_outer_join
SELECT o.order_id, i.line FROM orders o LEFT JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id WHERE i.store_id = 1 OR i.store_id IS NULL;

-- rows: safe; runs: one node; from: T multi_outer_join
SELECT o.order_id, i.line FROM order_items i RIGHT JOIN orders o ON i.store_id = o.store_id AND i.order_id = o.order_id WHERE o.store_id = 1;

-- rows: safe; runs: one node; from: T multi_outer_join
SELECT o.order_id, i.line FROM order_items i RIGHT JOIN orders o ON i.store_id = 1 AND i.order_id = o.order_id WHERE o.store_id = 1;

-- rows: leaks; runs: refused; from: T multi_outer_join
SELECT o.order_id, i.line FROM order_items i RIGHT JOIN orders o ON i.order_id = o.order_id WHERE o.store_id = 1;

-- rows: safe, unknown; runs: unknown; from: PostgreSQL’s planner restricts both sides by a merged column (EXPLAIN)
SELECT order_id, line FROM orders FULL JOIN order_items USING (store_id, order_id) WHERE store_id = 1;

-- rows: leaks, unknown; runs: unknown; from: T multi_outer_join
SELECT o.order_id, i.line FROM orders o FULL JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id;

-- rows: safe, unknown; runs: unknown; from: T multi_outer_join (WHERE makes it a left join)
SELECT o.order_id, i.line FROM orders o FULL JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id WHERE o.store_id = 1;

-- rows: leaks; runs: refused; from: T multi_outer_join
SELECT o.order_id, p.name FROM orders o LEFT JOIN products p ON p.product_id = o.order_id;

-- rows: safe; runs: one node; from: README (reference tables are on every node)
SELECT o.order_id, c.name FROM orders o JOIN countries c ON c.code = o.country WHERE o.store_id = 1;

-- rows: safe; runs: one node; from: README
SELECT c.code, o.order_id FROM countries c LEFT JOIN orders o ON o.country = c.code AND o.store_id = 1;

-- rows: leaks; runs: unknown; from: T multi_outer_join (a reference table on the preserved side)
SELECT c.code, o.order_id FROM countries c LEFT JOIN orders o ON o.country = c.code;

-- rows: safe; runs: unknown; from: T local_table_join
SELECT o.order_id, s.value FROM orders o JOIN settings s ON s.name = o.status WHERE o.store_id = 1;

-- rows: safe; runs: one node; from: README § Router Planner
SELECT p.name, i.quantity, o.total FROM stores s JOIN orders o ON o.store_id = s.store_id JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id JOIN products p ON p.store_id = i.store_id AND p.product_id = i.product_id WHERE s.store_id = 1;

-- rows: leaks; runs: repartition; from: README § Router Planner
SELECT p.name, i.quantity, o.total FROM stores s JOIN orders o ON o.store_id = s.store_id JOIN order_items i ON i.store_id = o.store_id AND i.order_id = o.order_id JOIN products p ON p.product_id = i.product_id WHERE s.store_id = 1;

-- rows: safe; runs: unknown; from: multi_router_planner.c (colocation groups are mixed)
SELECT o.order_id, v.seen FROM orders o JOIN visits v ON v.store_id = o.store_id WHERE o.store_id = 1;

-- rows: safe, unknown; runs: unknown; from: T multi_router_planner (a computed value)
SELECT o.order_id, p.name FROM orders o JOIN products p ON p.store_id + 0 = o.store_id WHERE o.store_id = 1;

-- rows: leaks; runs: all nodes; from: T multi_outer_join
SELECT o.order_id, i.line FROM orders o NATURAL JOIN order_items i;

-- rows: safe; runs: one node; from: T multi_router_planner
SELECT a.order_id, b.order_id AS other FROM orders a JOIN orders b ON b.store_id = a.store_id AND b.total = a.total AND b.order_id > a.order_id WHERE a.store_id = 1;
