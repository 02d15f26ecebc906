// Which fields of a query are equal to a value in every result, and where documents have their queries.
import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { queryOf } from '../../src/model/reader/sql.ts';

test.each([
  ['WHERE c.a = @a AND c.b = 1', ['a', 'b']],
  ['WHERE @a = c.a', ['a']],
  ['WHERE c.a = @a OR c.b = @b', []],
  ['WHERE c.a = @a AND (c.b = 1 OR c.c = 2)', ['a']],
  ['WHERE c.a = @a AND c.b = 1 OR c.c = 2', []],
  ['WHERE (c.a = 1 OR c.a = 2)', ['a']],
  ['WHERE ((c.a = 1))', ['a']],
  ["WHERE c['a'] IN ('x', 'y') AND c.b NOT IN (1)", ['a']],
  ['WHERE ARRAY_CONTAINS(@list, c.a) AND ARRAY_CONTAINS(c.tags, @b)', ['a']],
  ['WHERE c.x BETWEEN 1 AND 2 AND c.a = 3', ['a']],
  ['WHERE c.a >= 3 AND c.b != 4 AND NOT c.c = 5 AND LOWER(c.d) = @d', []],
  ['WHERE c.a = c.b', []],
  ["WHERE c.note = 'c.a = 1 OR 2' AND c.a = 1", ['note', 'a']],
  ['WHERE c.address.city = @city -- OR c.b = 1', ['address.city']],
])('%s sets %j equal to a value', (where, equal) => {
  expect(queryOf(`SELECT * FROM c ${where}`)?.equal).toEqual(equal);
});

test('a joined list has its path, and the order its directions', () => {
  expect(
    queryOf('SELECT * FROM o JOIN l IN o.lines WHERE l.sku = @s ORDER BY o.at DESC, o.n OFFSET 0 LIMIT 5'),
  ).toMatchObject({
    equal: ['lines.sku'],
    order: [
      { path: 'at', descending: true },
      { path: 'n', descending: false },
    ],
  });
});

test('a text that is cut off is no query', () => expect(queryOf("SELECT * FROM c WHERE c.a = 'x")).toBeUndefined());

const DOCUMENT = `# Shop
## Container: \`users\`
### Partition Strategy
- **Partition Key:** \`/id\`
### Access Patterns
| Operation | Query | RU |
|---|---|---|
| By mail | Query \`WHERE c.email = @email\` | 3 |
| Sign in | Point write by \`id\` | 5 |
## Container: \`orders\`
- **Partition Key:** \`/userId\`
\`\`\`ts
// of a user
const mine = "SELECT * FROM c WHERE c.userId = @u";
/* all */ run(\`
  SELECT * FROM c
  WHERE c.open = true
\`)
\`\`\`
## Queries
**Users Container**:
\`\`\`sql
-- cross-partition, for admins
SELECT * FROM c WHERE c.active = true

SELECT * FROM c WHERE c.id = @id;
\`\`\`
`;

test('queries are read in fences, tables and under a name, without a section for them', () => {
  const { asked } = parseDesign(DOCUMENT, 'm.md');
  expect(
    asked.map(({ container, queries, crossing, at }) => [
      container,
      at.line,
      queries.flatMap(({ equal }) => equal).join(),
      crossing,
    ]),
  ).toEqual([
    ['users', 8, 'email', false],
    ['orders', 14, 'userId', false],
    ['orders', 16, 'open', false],
    ['users', 24, 'active', true],
    ['users', 26, 'id', false],
  ]);
});
