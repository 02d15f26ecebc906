// Twenty requirements for `model propose`, from as many domains. Rates and sizes are invented, within what such systems have.
import type { Row, Shop } from './form.ts';

const row = (access: string, peak: number, average: number, attributes?: string): Row => ({
  access,
  peak,
  average,
  ...(attributes !== undefined && { attributes }),
});

export const REQUIREMENTS: Readonly<Record<string, Shop>> = {
  /** A tenant may have a tenth of everything, which is more than a logical partition holds. */
  saas: {
    entities: [
      '| Project | id, tenantId (2,000 values, largest 10 %), name | 1 KB | 400,000 | |',
      '| Task | id, tenantId (2,000 values, largest 10 %), projectId, status (5 values), title, dueAt | 2 KB | 150,000,000 | |',
    ],
    rows: [
      row('read project by id, tenantId', 200, 60),
      row('list project by tenantId, limit 50', 100, 30),
      row('read task by id, tenantId, projectId', 400, 120),
      row('list task by tenantId, projectId, oldest dueAt, limit 30', 300, 100),
      row('create task', 80, 20),
      row('update task', 150, 40, 'status'),
      row('create project', 2, 0.2),
    ],
    relationships: ['Project → Tasks**: 1:Many (avg 375, max 20,000)'],
  },
  iot: {
    entities: [
      '| Reading | id, deviceId (50,000 values), day (30 values), at, celsius, humidity | 0.5 KB | 60,000,000 | 30 d |',
    ],
    rows: [
      row('create reading', 2_000, 1_500),
      row('list reading by deviceId, newest at, limit 60', 100, 30),
      row('list reading by deviceId, day, newest at, limit 40', 20, 4),
    ],
  },
  orders: {
    entities: [
      '| Customer | id, name, email | 1 KB | 500,000 | |',
      '| Order | id, customerId, status (6 values), placedAt, cents | 1 KB | 5,000,000 | |',
      '| Line | id, orderId, sku, quantity, cents | 0.3 KB | 15,000,000 | |',
    ],
    rows: [
      row('read customer by id', 120, 40),
      row('read order by id, customerId, with lines', 150, 50),
      row('list order by customerId, newest placedAt, limit 10', 120, 40),
      row('create order', 40, 10),
      row('update order', 60, 15, 'status'),
      row('create customer', 2, 0.3),
    ],
    relationships: ['Customer → Orders**: 1:Many (avg 10, max 2,000)', 'Order → Lines**: 1:Many (avg 3, max 60)'],
  },
  chat: {
    entities: [
      '| Conversation | id, title, updatedAt | 0.5 KB | 2,000,000 | |',
      '| Message | id, conversationId, authorId (1,000,000 values), sentAt, text | 0.6 KB | 200,000,000 | |',
    ],
    rows: [
      row('read conversation by id', 200, 60),
      row('list message by conversationId, newest sentAt, limit 50', 400, 150),
      row('create message', 300, 100),
      row('create conversation', 5, 1),
      row('update conversation', 40, 10, 'title'),
    ],
    relationships: ['Conversation → Messages**: 1:Many (avg 100, max 50,000)'],
  },
  /** The domain of the blogging example in Microsoft's documentation. */
  blog: {
    entities: [
      '| User | id, username (1,000,000 values) | 0.5 KB | 1,000,000 | |',
      '| Post | id, userId, username, title, createdAt, comments, likes | 3 KB | 5,000,000 | |',
      '| Comment | id, postId, userId, username, createdAt | 0.5 KB | 50,000,000 | |',
      '| Like | id, postId, userId, username, createdAt | 0.3 KB | 100,000,000 | |',
    ],
    rows: [
      row('create user', 2, 0.2),
      row('read user by id', 50, 15),
      row('create post', 10, 2),
      row('read post by id', 400, 120),
      row('list post by userId, newest createdAt, limit 20', 100, 30),
      row('create comment', 40, 10),
      row('list comment by postId, newest createdAt, limit 20', 300, 100),
      row('create like', 80, 20),
      row('list like by postId, limit 20', 60, 20),
    ],
    relationships: [
      'User → Posts**: 1:Many (avg 5, max 5,000)',
      'Post → Comments**: 1:Many (avg 10, max 20,000)',
      'Post → Likes**: 1:Many (avg 20, max 200,000)',
    ],
  },
  booking: {
    entities: [
      '| Room | id, hotelId (3,000 values), kind (8 values) | 1 KB | 120,000 | |',
      '| Booking | id, hotelId (3,000 values), guestId, day (1,000 values), status (4 values) | 1 KB | 10,000,000 | 730 d |',
      '| Guest | id, name, email (2,000,000 values) | 0.6 KB | 2,000,000 | |',
    ],
    rows: [
      row('list room by hotelId, limit 40', 200, 60),
      row('list booking by hotelId, day, limit 40', 80, 25),
      row('list booking by guestId, newest day, limit 5', 60, 20),
      row('read guest by id', 60, 20),
      row('create booking', 30, 8),
      row('create room', 1, 0.1),
      row('create guest', 5, 1),
      row('update booking', 20, 5, 'status'),
    ],
    relationships: ['Guest → Bookings**: 1:Many (avg 5, max 300)'],
  },
  inventory: {
    entities: ['| Stock | id, warehouseId (200 values), sku (50,000 values), quantity | 0.4 KB | 400,000 | |'],
    rows: [
      row('read stock by id, warehouseId, sku', 500, 200),
      row('list stock by sku, limit 20', 60, 15),
      row('total stock by warehouseId, sum quantity', 2, 0.2),
      row('update stock', 200, 60, 'quantity'),
    ],
  },
  leaderboard: {
    entities: [
      '| Player | id, name, country (200 values) | 0.5 KB | 5,000,000 | |',
      '| Score | id, playerId, gameId (500 values), points, at | 0.4 KB | 100,000,000 | |',
    ],
    rows: [
      row('read player by id', 300, 100),
      row('list score by gameId, newest points, limit 100', 60, 20),
      row('list score by playerId, newest at, limit 20', 120, 40),
      row('create score', 200, 60),
      row('update player', 5, 1, 'name'),
    ],
    relationships: ['Player → Scores**: 1:Many (avg 20, max 20,000)'],
  },
  audit: {
    entities: [
      '| Entry | id, tenantId (500 values, largest 30 %), actorId (100,000 values), at, action | 1 KB | 80,000,000 | 365 d |',
    ],
    rows: [
      row('create entry', 500, 150),
      row('list entry by tenantId, newest at, limit 50', 10, 2),
      row('list entry by tenantId, actorId, newest at, limit 50', 4, 0.5),
    ],
  },
  cms: {
    entities: [
      '| Site | id, name | 2 KB | 5,000 | |',
      '| Page | id, siteId, slug (2,000,000 values), title, publishedAt | 20 KB | 2,000,000 | |',
    ],
    rows: [
      row('read site by id', 300, 100),
      row('list page by siteId, slug', 800, 300),
      row('list page by siteId, newest publishedAt, limit 10', 50, 10),
      row('create page', 5, 0.5),
      row('create site', 1, 0.1),
      row('update page', 20, 3, 'title'),
    ],
    relationships: ['Site → Pages**: 1:Many (avg 400, max 30,000)'],
  },
  sessions: {
    entities: ['| Session | id, userId (3,000,000 values), device, expiresAt | 0.7 KB | 6,000,000 | 30 d |'],
    rows: [
      row('read session by id', 3_000, 1_200),
      row('list session by userId, limit 10', 40, 10),
      row('create session', 100, 30),
      row('delete session', 60, 15),
    ],
  },
  ledger: {
    entities: [
      '| Account | id, owner, currency (30 values) | 0.6 KB | 1,000,000 | |',
      '| Entry | id, accountId, at, cents, reference | 0.4 KB | 200,000,000 | |',
    ],
    rows: [
      row('read account by id', 200, 70),
      row('list entry by accountId, newest at, limit 40', 150, 50),
      row('total entry by accountId, sum cents', 200, 80),
      row('create entry', 150, 50),
      row('create account', 2, 0.2),
    ],
    relationships: ['Account → Entries**: 1:Many (avg 200, max 500,000)'],
  },
  catalogue: {
    entities: [
      '| Product | id, categoryId (300 values), sku (200,000 values), name, cents | 2 KB | 200,000 | |',
      '| Review | id, productId, customerId (1,000,000 values), stars, at | 0.8 KB | 4,000,000 | |',
    ],
    rows: [
      row('read product by id', 600, 250),
      row('list product by categoryId, limit 30', 200, 80),
      row('list review by productId, newest at, limit 20', 250, 90),
      row('create review', 10, 3),
      row('update product', 5, 1, 'cents'),
    ],
    relationships: ['Product → Reviews**: 1:Many (avg 20, max 20,000)'],
  },
  cart: {
    entities: [
      '| Cart | id, customerId (800,000 values), updatedAt | 0.4 KB | 800,000 | 60 d |',
      '| Item | id, cartId, sku, quantity | 0.2 KB | 3,200,000 | |',
    ],
    rows: [
      row('read cart by id, with items', 400, 150),
      row('create cart', 20, 6),
      row('create item', 60, 20),
      row('update item', 40, 12, 'quantity'),
    ],
    relationships: ['Cart → Items**: 1:Many (avg 4, max 100)'],
  },
  fleet: {
    entities: [
      '| Vehicle | id, depotId (400 values), plate (60,000 values) | 1 KB | 60,000 | |',
      '| Trip | id, vehicleId, startedAt, km | 1 KB | 20,000,000 | 730 d |',
      '| Position | id, vehicleId, at, latitude, longitude | 0.3 KB | 50,000,000 | 7 d |',
    ],
    rows: [
      row('read vehicle by id', 80, 30),
      row('list vehicle by depotId, limit 150', 20, 5),
      row('list trip by vehicleId, newest startedAt, limit 20', 30, 8),
      row('list position by vehicleId, newest at, limit 60', 60, 20),
      row('create position', 800, 500),
      row('update vehicle', 2, 0.3, 'depotId'),
      row('create trip', 5, 2),
    ],
    relationships: [
      'Vehicle → Trips**: 1:Many (avg 330, max 5,000)',
      'Vehicle → Positions**: 1:Many (avg 830, max 10,000)',
    ],
  },
  notifications: {
    entities: [
      '| Notification | id, userId (2,000,000 values), createdAt, seen (2 values) | 0.5 KB | 40,000,000 | 90 d |',
    ],
    rows: [
      row('list notification by userId, newest createdAt, limit 20', 500, 200),
      row('total notification by userId, seen', 900, 400),
      row('create notification', 150, 50),
      row('update notification', 200, 60, 'seen'),
    ],
  },
  clinic: {
    entities: [
      '| Patient | id, clinicId (800 values, largest 2 %), name, born | 2 KB | 3,000,000 | |',
      '| Visit | id, patientId, clinicId (800 values, largest 2 %), day, notes | 3 KB | 20,000,000 | |',
      '| Prescription | id, patientId, clinicId (800 values, largest 2 %), day | 1 KB | 30,000,000 | |',
    ],
    rows: [
      row('read patient by id, clinicId, with visits, with prescriptions', 60, 20),
      row('read patient by id, clinicId', 20, 5),
      row('create visit', 10, 3),
      row('create prescription', 15, 4),
      row('update patient', 3, 0.5, 'name'),
    ],
    relationships: [
      'Patient → Visits**: 1:Many (avg 7, max 3,000)',
      'Patient → Prescriptions**: 1:Many (avg 10, max 5,000)',
    ],
  },
  support: {
    entities: [
      '| Ticket | id, companyId (20,000 values), status (4 values), agentId (1,500 values), openedAt | 2 KB | 3,000,000 | |',
      '| Answer | id, ticketId, at, text | 1 KB | 18,000,000 | |',
    ],
    rows: [
      row('read ticket by id, with answers', 120, 40),
      row('list ticket by companyId, newest openedAt, limit 20', 60, 20),
      row('list ticket by agentId, newest openedAt, limit 20', 40, 12),
      row('create ticket', 5, 1),
      row('create answer', 20, 5),
      row('update ticket', 15, 4, 'status, agentId'),
    ],
    relationships: ['Ticket → Answers**: 1:Many (avg 6, max 2,000)'],
  },
  learning: {
    entities: [
      '| Course | id, title | 5 KB | 10,000 | |',
      '| Enrolment | id, courseId, learnerId (1,000,000 values), progress, startedAt | 0.5 KB | 6,000,000 | |',
    ],
    rows: [
      row('read course by id', 400, 150),
      row('list enrolment by learnerId, newest startedAt, limit 6', 200, 80),
      row('total enrolment by courseId', 100, 30),
      row('create enrolment', 15, 4),
      row('create course', 1, 0.1),
      row('update enrolment', 100, 30, 'progress'),
    ],
    relationships: ['Course → Enrolments**: 1:Many (avg 600, max 100,000)'],
  },
  flags: {
    entities: [
      '| Flag | id, environmentId (3,000 values), enabled (2 values), rule | 1 KB | 90,000 | |',
      '| Environment | id, name | 0.5 KB | 3,000 | |',
    ],
    rows: [
      row('list flag by environmentId, limit 30', 600, 250),
      row('read environment by id', 100, 30),
      row('update flag', 5, 1, 'enabled'),
      row('create flag', 1, 0.1),
    ],
    relationships: ['Environment → Flags**: 1:Many (avg 30, max 500)'],
  },
};
