-- A shop with many stores. The store is the tenant.
CREATE TABLE countries (code text PRIMARY KEY, name text NOT NULL);
CREATE TABLE stores (store_id bigint PRIMARY KEY, name text NOT NULL, country text);
CREATE TABLE products (
  store_id bigint NOT NULL,
  product_id bigint NOT NULL,
  name text NOT NULL,
  price bigint NOT NULL,
  category text,
  PRIMARY KEY (store_id, product_id)
);
CREATE TABLE orders (
  store_id bigint NOT NULL,
  order_id bigint NOT NULL,
  customer text,
  status text NOT NULL,
  country text,
  placed_at timestamptz NOT NULL,
  total bigint NOT NULL,
  PRIMARY KEY (store_id, order_id)
);
CREATE TABLE order_items (
  store_id bigint NOT NULL,
  order_id bigint NOT NULL,
  line int NOT NULL,
  product_id bigint NOT NULL,
  quantity int NOT NULL,
  PRIMARY KEY (store_id, order_id, line)
);
-- Distributed by another column, and so not colocated with the others.
CREATE TABLE visits (
  store_id bigint NOT NULL,
  visitor_id bigint NOT NULL,
  seen int NOT NULL,
  PRIMARY KEY (visitor_id, store_id)
);
-- A local table of the coordinator.
CREATE TABLE settings (name text PRIMARY KEY, value text);
CREATE TABLE notes (store_id bigint NOT NULL, note_id bigint NOT NULL, body text, PRIMARY KEY (store_id, note_id));
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_notes ON notes USING (store_id = current_setting('app.store')::bigint);

SELECT create_reference_table('countries');
SELECT create_distributed_table('stores', 'store_id');
SELECT create_distributed_table('products', 'store_id', colocate_with => 'stores');
SELECT create_distributed_table('orders', 'store_id', colocate_with => 'stores');
SELECT create_distributed_table('order_items', 'store_id', colocate_with => 'stores');
SELECT create_distributed_table('notes', 'store_id', colocate_with => 'stores');
SELECT create_distributed_table('visits', 'visitor_id', colocate_with => 'none');

CREATE VIEW paid_orders AS SELECT * FROM orders WHERE status = 'paid';
CREATE VIEW order_sizes (store, nr, size) AS
  SELECT i.store_id, i.order_id, sum(i.quantity) FROM order_items i GROUP BY i.store_id, i.order_id;
CREATE VIEW largest_orders AS SELECT * FROM orders ORDER BY total DESC, store_id, order_id LIMIT 3;
CREATE VIEW statuses AS SELECT DISTINCT status FROM orders;
CREATE VIEW my_notes WITH (security_invoker = true) AS SELECT * FROM notes;
