-- What a shop's dashboard asks, each for one store: $1. Every table of a tenant is restricted or joined by store_id.

-- Turnover and orders of each day, without the cancelled ones.
SELECT date_trunc('day', placed_at AT TIME ZONE 'UTC') AS day, count(*) AS orders, sum(total_cents) AS cents
FROM orders
WHERE store_id = $1 AND status <> 'cancelled'
GROUP BY 1
ORDER BY 1;

-- The ten products that sold best.
SELECT l.product_id, p.name, sum(l.quantity) AS units, sum(l.quantity * l.price_cents) AS cents
FROM order_lines l
JOIN orders o ON o.store_id = l.store_id AND o.id = l.id
LEFT JOIN products p ON p.store_id = l.store_id AND p.product_id = l.product_id
WHERE l.store_id = $1 AND o.status <> 'cancelled'
GROUP BY l.product_id, p.name
ORDER BY cents DESC, l.product_id
LIMIT 10;

-- Turnover by country of delivery.
SELECT coalesce(c.name, o.country_id) AS country, count(*) AS orders, sum(o.total_cents) AS cents
FROM orders o
LEFT JOIN countries c ON c.id = o.country_id
WHERE o.store_id = $1 AND o.status <> 'cancelled'
GROUP BY 1
ORDER BY cents DESC, 1;

-- The five best customers.
SELECT c.id, c.name, count(*) AS orders, sum(o.total_cents) AS cents
FROM customers c
JOIN orders o ON o.store_id = c.store_id AND o.customer_id = c.id
WHERE c.store_id = $1 AND o.status <> 'cancelled'
GROUP BY c.id, c.name
ORDER BY cents DESC, c.id
LIMIT 5;

-- How long an order takes until it is delivered, by week.
SELECT date_trunc('week', placed_at AT TIME ZONE 'UTC') AS week, avg(completed_at - placed_at) AS takes, count(*) AS orders
FROM orders
WHERE store_id = $1 AND status = 'delivered'
GROUP BY 1
ORDER BY 1;

-- Products that are often bought together.
SELECT a.product_id AS one, b.product_id AS other, count(*) AS orders
FROM order_lines a
JOIN order_lines b ON b.store_id = a.store_id AND b.id = a.id AND b.product_id > a.product_id
WHERE a.store_id = $1
GROUP BY a.product_id, b.product_id
ORDER BY orders DESC, one, other
LIMIT 10;
