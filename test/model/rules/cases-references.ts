// Cases of references, of what is written in one way, and of what there is one of (C32 to C36, A20 to A22, F20, F21).
import type { Case, Edit } from './base.ts';

/** A container of its own, before Customers; its documents as one line of JSON, or none. */
const container = (name: string, key: string, document = '', more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n${document === '' ? '' : `\`\`\`json\n[\n  ${document}\n]\n\`\`\`\n`}- **Partition Key**: \`${key}\` - 100,000 values\n${more}\n### Customers Container`,
];
const said = (sentence: string): Edit => ['', sentence];
const UUID = 'a7c8b4f9-1d3a-4d66-9b1a-5d3d2f3a1c01';

export const REFERENCE_CASES: readonly Case[] = [
  {
    rule: 'C32',
    given: [
      container('Tickets', '/storeId', '{ "id": "t1", "storeId": "s1" }'),
      container('Merges', '/id', '{ "id": "m1", "primaryTicketId": "t1", "storeId": "s1" }'),
    ],
    wrong: [['"primaryTicketId": "t1", "storeId": "s1"', '"primaryTicketId": "t1", "stores": 1']],
    at: '"primaryTicketId"',
    severity: 'warning',
    says: 'Merges.primaryTicketId → Tickets (key /storeId)',
  },
  {
    // Both have a field pk, and each has its own value in it.
    rule: 'C32',
    given: [
      container('Tickets', '/pk', '{ "id": "t1", "pk": "north" }'),
      container(
        'Groups',
        '/pk',
        '{ "id": "g1", "pk": "south", "members": [{ "ticketId": "t1" }] }',
        'members: at most 5\n',
      ),
      said('The id contains the partition key.'),
    ],
    wrong: [['The id contains the partition key.', 'The id is a UUID.']],
    at: '"ticketId"',
    says: 'Groups.ticketId → Tickets (key /pk)',
  },
  {
    rule: 'C32',
    given: [
      container('Tickets', '/storeId', '{ "id": "t1", "storeId": "s1" }'),
      said('- Get ticket by ID and `storeId`: point read, 1 RU'),
    ],
    wrong: [['Get ticket by ID and `storeId`:', 'Get ticket by ID:']],
    at: 'Get ticket by ID',
    says: 'no point read',
  },
  {
    rule: 'C33',
    given: [
      container('Accounts', '/email', '{ "id": "a1", "email": "ada@example.com" }', 'The email never changes.\n'),
      said('The address is stored in lower case.'),
    ],
    wrong: [['The address is stored in lower case.', 'The address is stored.']],
    at: '/email',
    severity: 'warning',
    says: 'Accounts',
  },
  {
    rule: 'C34',
    given: [
      container(
        'Teachers',
        '/school',
        `{ "id": "${UUID}", "school": "s1" }`,
        'One document per teacher: the unique key is the number.\n',
      ),
    ],
    wrong: [['One document per teacher: the unique key is the number.', 'One document per teacher.']],
    at: 'One document per teacher.',
    severity: 'warning',
    says: 'Teachers',
  },
  {
    rule: 'C34',
    given: [
      container(
        'Marks',
        '/studentId',
        '',
        '- `SELECT * FROM c WHERE c.studentId = @s AND c.examId = @e`\n- Creates are idempotent.\n',
      ),
      said('- All IDs are UUID4 strings.'),
    ],
    wrong: [['- Creates are idempotent.', '- Creates are logged.']],
    at: 'c.examId = @e',
    says: 'Marks',
  },
  {
    rule: 'C35',
    given: [
      container(
        'Tickets',
        '/storeId',
        `{ "id": "${UUID}", "storeId": "s1", "ticketNumber": "T-1" }`,
        '| Field | Type | Description |\n|---|---|---|\n| ticketNumber | string | External ticket ID |\n\nAn import upserts by ticketNumber.\n',
      ),
    ],
    wrong: [['An import upserts by ticketNumber.', 'An import writes it.']],
    at: 'External ticket ID',
    severity: 'warning',
    says: 'Tickets by ticketNumber',
  },
  {
    rule: 'C36',
    given: [
      container(
        'Sales',
        '/itemId',
        '',
        '\n```\nid       — `{itemId}|{label}` (encoded)\nlabel    string — free text of the maker\n```\n',
      ),
    ],
    wrong: [[' (encoded)', '']],
    at: '{itemId}|{label}',
    severity: 'warning',
    says: 'label is free text',
  },
  {
    rule: 'C36',
    given: [
      container('Sales', '/itemId', '', '\n```\nid       — `{itemId}|{grade}`\ngrade    number — 1 to 10\n```\n'),
    ],
    wrong: [['number — 1 to 10', 'number | null — 1 to 10']],
    at: '{itemId}|{grade}',
    says: 'grade may be null',
  },
  {
    rule: 'A20',
    given: [said('The id of an operation is `operation:{requestKey}`.\nThe batch creates `operation:{requestKey}`.')],
    wrong: [['The batch creates `operation:{requestKey}`.', 'The batch creates `operation:{operationId}`.']],
    at: 'The id of an operation',
    severity: 'warning',
    says: 'operation:{} is made of requestKey',
  },
  {
    rule: 'A21',
    given: [
      container('Tickets', '/pk', '{ "id": "t1", "pk": "north|2026-01" }'),
      said('A hierarchical partition key was an alternative.'),
    ],
    wrong: [
      ['A hierarchical partition key was an alternative.', 'The hierarchical partition key is `{region}|{month}`.'],
    ],
    at: 'The hierarchical partition key',
    severity: 'error',
    says: 'Tickets',
  },
  {
    rule: 'A22',
    given: [said('Four containers hold all data.')],
    wrong: [['Four containers hold', 'Two containers, both partitioned by `/id`, hold']],
    at: 'Two containers',
    severity: 'warning',
    says: 'Orders has the key /customerId',
  },
  {
    rule: 'F20',
    given: [said('Deleting a category first moves all its entries to another one. The job can be resumed.')],
    wrong: [[' The job can be resumed.', '']],
    at: 'Deleting a category',
    severity: 'warning',
  },
  {
    rule: 'F20',
    given: [
      said(
        `Deleting a category first moves all its entries to another one. The job can be resumed.${'\n\nText.'.repeat(8)}\n\nAn admin may remove a client. No cascade delete: its machines stay where they are.`,
      ),
    ],
    wrong: [['No cascade delete: its machines stay where they are', 'Cascade delete of its machines']],
    at: 'An admin may remove',
    severity: 'warning',
  },
  {
    rule: 'F21',
    given: [
      container(
        'loginTokens',
        '/address',
        '{ "id": "h1", "address": "a1" }',
        'A token is redeemed by a delete with its ETag.\n',
      ),
    ],
    wrong: [['A token is redeemed by a delete with its ETag.', 'A token is redeemed by its hash.']],
    at: 'loginTokens Container',
    severity: 'warning',
  },
  {
    rule: 'C30',
    given: [container('Students', '/classId', '', 'A student is deleted and created again in another class.\n')],
    wrong: [['A student is deleted and created again in another class.', 'A student has one class.']],
    at: '`/classId`',
    severity: 'warning',
    says: 'Students',
  },
  {
    rule: 'C30',
    given: [
      container(
        'Sales',
        '/itemId',
        '',
        '\n```\nitemId   string — the catalogue’s id\n```\n- `itemId` is never reassigned: it is immutable.\n',
      ),
    ],
    wrong: [
      ['the catalogue’s id', 'itemId (canonical) or supplier UUID'],
      ['- `itemId` is never reassigned: it is immutable.', ''],
    ],
    at: 'supplier UUID',
  },
  {
    rule: 'C30',
    given: [container('Sales', '/itemId', '', '- `itemId` is final after the first match\n')],
    wrong: [['is final after the first match', 'is the catalogue’s (after rematch)']],
    at: 'after rematch',
  },
  {
    rule: 'C7',
    given: [
      container('Tickets', '/pk', '{ "id": "t1", "pk": "north|2026-01" }', '- `{device}|{year-month}` is the value.\n'),
    ],
    wrong: [['{device}|{year-month}', '{region}|{year-month}']],
    at: '`/pk`',
    severity: 'warning',
    says: 'Tickets',
  },
  {
    rule: 'C14',
    given: [
      container(
        'Teachers',
        '/phone',
        '{ "id": "t1", "phone": "p1", "lives": 1 }',
        '- `SELECT * FROM c WHERE c.phone = @phone` (one partition)\n- A phone never changes.\n',
      ),
      [
        '| 6 | Rename a customer | Customers | Replace | 12 RU |',
        '| 6 | Rename a customer | Customers | Replace by `id` | 12 RU |\n| 3 | A customer again | Customers | Point read by `id` | 1 RU |',
      ],
    ],
    wrong: [['(one partition)', '(point read, PK = phone)']],
    at: '(point read, PK = phone)',
    severity: 'warning',
  },
  {
    rule: 'A18',
    given: [said('Two requests can read the same count and each write it, so any number passes.')],
    wrong: [['so any number passes', 'letting one extra through']],
    at: 'letting one extra through',
  },
  {
    rule: 'C22',
    given: [
      container('Sales', '/itemId', '{ "id": "x1", "itemId": "i1", "contributorUserId": "u1" }'),
      said('The export has every sale the caller has contributed to Sales, by a cross-partition query.'),
    ],
    wrong: [[', by a cross-partition query', '']],
    at: 'The export has every sale',
    says: 'looked up by contributorUserId',
  },
  {
    rule: 'C22',
    given: [said('- List late gold customers for a tier (cross-partition)')],
    wrong: [[' (cross-partition)', '']],
    at: '- List late gold customers',
    says: 'looked up by tier',
  },
  {
    rule: 'B24',
    given: [said('All marks of a class take a cross-partition query, twice a year. For MVP this is acceptable.')],
    wrong: [['For MVP this is acceptable.', 'For MVP this is acceptable; at scale, consider a view.']],
    at: 'All marks of a class',
    says: 'the answer is put off',
  },
  {
    rule: 'B24',
    given: [said('### Rare queries\n\n| Query | RU |\n|---|---|\n| Search audit by resource | 20 (cross-partition) |')],
    wrong: [['### Rare queries', '### High-Frequency Queries']],
    at: 'Search audit by resource',
    says: 'among the frequent ones',
  },
  {
    rule: 'A19',
    given: [
      said(
        'The `Orders` container is read.\n\n## All\n### `stores` container\n- **Partition Key**: `/id`\n### `days` container\n- **Partition Key**: `/id`\n### `cache`\nNot a container.',
      ),
    ],
    wrong: [['Not a container.', 'Not documented here.']],
    at: '### `cache`',
    says: 'cache has no design',
  },
  {
    rule: 'C26',
    given: [container('app_identities', '/uid', '{ "id": "m1", "uid": "m1", "provider": "x" }')],
    wrong: [['"provider": "x"', '"providerSubject": "s1"']],
    at: '"providerSubject"',
    says: 'a sign-in knows providerSubject',
  },
  {
    rule: 'C29',
    given: [said('Duplicates: run the script; a second create of the deterministic id is refused.')],
    wrong: [['; a second create of the deterministic id is refused', '']],
    at: 'Duplicates: run',
    says: 'removed afterwards',
  },
  {
    rule: 'C34',
    given: [
      container(
        'Users',
        '/tenantId',
        '{ "id": "u1", "tenantId": "t1", "email": "ada@example.com" }',
        '- **Unique Keys**: `/email`\n',
      ),
      said('A sign-in calls findByEmail.'),
      [
        '### Users Container\n',
        `### Visits Container\n- **Partition Key**: \`/tenantId\` - 1,000 values\n\`\`\`json\n[{ "id": "${UUID}", "tenantId": "t1" }]\n\`\`\`\n### Users Container\n`,
      ],
    ],
    wrong: [['- **Unique Keys**: `/email`', '- **Lists**: by name']],
    at: '"email": "ada@example.com"',
    severity: 'warning',
    says: 'a second account',
  },
  {
    rule: 'C30',
    given: [container('Teams', '/name', '', 'The name of a team never changes.\n')],
    wrong: [['The name of a team never changes.', 'A team has a name.']],
    at: '`/name`',
    says: 'Teams',
  },
  {
    rule: 'C28',
    given: [container('privateMessages', '/senderId', '', '- **Inbox**: a cross-partition query, once a day\n')],
    wrong: [['- **Inbox**: a cross-partition query, once a day', '- **Inbox**: newest first']],
    at: '`/senderId`',
    says: 'a talk of two people',
  },
];
