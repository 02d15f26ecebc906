// Three requirements, each for one decision.
import type { Shop } from '../../../bench/designs/form.ts';

export const ORDERS: Shop = {
  entities: [
    '| Customer | id, name, email | 0.5 KB | 100,000 | |',
    '| Order | id, customerId, status (6 values), placedAt, cents | 1 KB | 1,000,000 | 400 d |',
    '| Line | id, orderId, quantity | 0.2 KB | 2,500,000 | |',
  ],
  rows: [
    { access: 'read order by id', peak: 50, average: 10 },
    { access: 'list order by customerId, newest placedAt, limit 20', peak: 40, average: 10 },
    { access: 'read customer by id', peak: 30, average: 6 },
    { access: 'list line by orderId', peak: 50, average: 10 },
    { access: 'create order', peak: 20, average: 4 },
    { access: 'create line', peak: 5, average: 1 },
    { access: 'update order', peak: 20, average: 4, attributes: 'status' },
    { access: 'create customer', peak: 1, average: 0.1 },
  ],
  relationships: ['Customer → Orders**: 1:Many (avg 10, max 400)', 'Order → Lines**: 1:Many (avg 2.5, max 100)'],
};

/** Few writes, and totals that are asked for all the time. */
export const READINGS: Shop = {
  entities: ['| Reading | id, deviceId (3,000 values), celsius | 0.2 KB | 9,000,000 | 90 d |'],
  rows: [
    { access: 'list reading by deviceId, limit 100', peak: 30, average: 5 },
    { access: 'total reading by deviceId, sum celsius', peak: 200, average: 100 },
    { access: 'create reading', peak: 5, average: 1 },
  ],
};

/** A second key that is written rarely and read often. */
export const USERS: Shop = {
  entities: ['| User | id, email (1,000,000 values), name | 1 KB | 1,000,000 | |'],
  rows: [
    { access: 'read user by id', peak: 300, average: 100 },
    { access: 'list user by email', peak: 60, average: 20 },
    { access: 'create user', peak: 1, average: 0.1 },
    { access: 'update user', peak: 1, average: 0.2, attributes: 'name' },
  ],
};

/** A list by a key that another container has: its copies may be there. */
export const POSTS: Shop = {
  entities: [
    '| Session | id, userId (200,000 values), device | 0.5 KB | 400,000 | |',
    '| Post | id, userId (200,000 values), title | 1 KB | 1,000,000 | |',
  ],
  rows: [
    { access: 'list session by userId, limit 20', peak: 40, average: 10 },
    { access: 'create session', peak: 5, average: 1 },
    { access: 'read post by id', peak: 300, average: 100 },
    { access: 'list post by userId, limit 20', peak: 20, average: 5 },
    { access: 'create post', peak: 2, average: 0.2 },
    { access: 'update post', peak: 2, average: 0.2, attributes: 'title' },
  ],
};
