import { describe, expect, test } from 'vitest';
import { costsOf } from '../../../src/model/cost.ts';
import { type Entity, accessOf, needsOf } from '../../../src/model/propose/needs.ts';
import { type Proposal, propose } from '../../../src/model/propose/propose.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { parseRequirements } from '../../../src/model/reader/requirements.ts';
import { checkDocuments } from '../../../src/model/rules/index.ts';
import { sum } from '../../../src/model/rules/facts.ts';
import { type Shop, requirementsOf } from '../../../bench/designs/form.ts';
import { ORDERS, READINGS, USERS } from './shops.ts';

const SHOPS = { ORDERS, READINGS, USERS };
const made = new Map<Shop, Proposal>();
function proposed(shop: Shop): Proposal {
  const { needs, questions } = needsOf(requirementsOf(shop), 'r.md');
  expect(questions).toEqual([]);
  const proposal = made.get(shop) ?? propose(needs);
  made.set(shop, proposal);
  return proposal;
}
const documentsOf = ({ requirements, design }: Proposal) => ({
  requirements: parseRequirements(requirements, 'r.md'),
  design: parseDesign(design, 'm.md'),
});
const optionsOf = (shop: Shop, decision: RegExp) =>
  proposed(shop).decisions.find((one) => decision.test(one.decision))?.options ?? [];
const chosenOf = (shop: Shop, decision: RegExp) => optionsOf(shop, decision).find(({ chosen }) => chosen);

describe.each(Object.entries(SHOPS))('%s', (_, shop) => {
  test('the documents pass the check', () => {
    const { findings } = checkDocuments(documentsOf(proposed(shop)));
    expect(findings.filter(({ severity }) => severity !== 'information')).toEqual([]);
  });

  test('the stated cost is what `model cost` gives for the documents', () => {
    const { containers } = costsOf(documentsOf(proposed(shop)), 'microsoft');
    const { cost } = proposed(shop);
    expect(sum(containers.map(({ peak }) => peak))).toBeCloseTo(cost.peak, 6);
    expect(sum(containers.map(({ hours }) => hours?.expected ?? 0))).toBeCloseTo(cost.hours, 6);
  });

  test('no option costs less than the chosen one, unless it is refused', () => {
    const { decisions, cost } = proposed(shop);
    expect(decisions.filter(({ options }) => !options.some(({ chosen }) => chosen))).toEqual([]);
    const cheaper = decisions.flatMap(({ decision, options }) =>
      options
        .filter((option) => option.refused === undefined && option.cost.hours < cost.hours)
        .map(({ option }) => `${decision}: ${option}`),
    );
    expect(cheaper).toEqual([]);
  });
});

test('elements that are always read with their parent are embedded', () => {
  expect(chosenOf(ORDERS, /^place of Line/)?.option).toBe('embedded in Order');
});

test('a list that doesn’t fit into a document is not embedded', () => {
  const large = ORDERS.relationships?.map((one) => one.replace('max 100', 'max 9,000')) ?? [];
  expect(optionsOf({ ...ORDERS, relationships: large }, /^place of Line/)).toEqual([]);
});

test('a frequent list by a second key has a copy, although a query of all partitions may cost less', () => {
  expect(chosenOf(USERS, /list User by email/)?.option).toBe('copy with its own key');
  const query = optionsOf(USERS, /list User by email/).find(({ option }) => option.startsWith('query'));
  expect(query?.refused).toContain('10 times a second');
});

test('a copy whose key no update changes has no locator', () => {
  expect(proposed(USERS).design).toContain('| email = email; id = id; stable |');
  const renamed = USERS.rows.map((row) => (row.access === 'update user' ? { ...row, attributes: 'email' } : row));
  expect(proposed({ ...USERS, rows: renamed }).design).toContain('| email = email; id = id |');
});

test('totals that are read often and written seldom are kept, and expiry is by a TTL', () => {
  expect(chosenOf(READINGS, /total Reading/)?.option).toBe('aggregate');
  expect(chosenOf(READINGS, /^expiry of Readings/)?.option).toBe('TTL');
  expect(proposed(READINGS).design).toContain(`- **TTL**: ${90 * 86_400}`);
});

test('a global secondary index is compared and never chosen', () => {
  const index = optionsOf(USERS, /list User by email/).find(({ option }) => option === 'global secondary index');
  expect(index).toMatchObject({ chosen: false });
  expect(index?.refused).toContain('preview');
});

describe('needs', () => {
  const order: Entity = {
    name: 'Order',
    fields: [{ name: 'id' }, { name: 'customerId' }, { name: 'cents' }],
    bytes: 1000,
    count: 9,
  };

  test('an access has a fixed form', () => {
    expect(accessOf('list orders by customerId, newest cents, limit 5', [order])).toEqual({
      kind: 'list',
      entity: 'Order',
      by: ['customerId'],
      sums: [],
      withs: [],
      order: { field: 'cents', descending: true },
      limit: 5,
    });
    expect(accessOf('total order by customerId, sum cents', [order])).toMatchObject({
      by: ['customerId'],
      sums: ['cents'],
    });
    expect(accessOf('show me orders', [order])).toContain('another form');
    expect(accessOf('read invoice by id', [order])).toContain('no entity invoice');
    expect(accessOf('list order by storeId', [order])).toContain('no field storeId');
    expect(accessOf('list order', [order])).toContain('names the fields');
    expect(accessOf('read order by customerId', [order])).toContain('use list');
  });

  test('each missing fact is a question with its line', () => {
    const text = requirementsOf(ORDERS)
      .replace('| 1 KB | 1,000,000 |', '| | 1,000,000 |')
      .replace('50/10 | Read | read order by id', ' | Read | read order by id')
      .replace('list line by orderId |', ' |');
    const { questions } = needsOf(text, 'r.md');
    const said = questions.map(({ question }) => question);
    expect(said.some((one) => one.includes('How large is one Order'))).toBe(true);
    expect(said.some((one) => one.includes('What does pattern 4 ask for'))).toBe(true);
    for (const { line } of questions) expect(line).toBeGreaterThan(0);
  });
});
