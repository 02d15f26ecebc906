import { describe, expect, test } from 'vitest';
import { costsOf } from '../../../src/model/cost.ts';
import { type Entity, accessOf, needsOf } from '../../../src/model/propose/needs.ts';
import { type Proposal, propose } from '../../../src/model/propose/propose.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { parseRequirements } from '../../../src/model/reader/requirements.ts';
import { checkDocuments } from '../../../src/model/rules/index.ts';
import { sum } from '../../../src/model/rules/facts.ts';
import { type Shop, requirementsOf } from '../../../bench/designs/form.ts';
import { REQUIREMENTS } from '../../../bench/designs/requirements.ts';
import { ORDERS, POSTS, READINGS, USERS } from './shops.ts';

const SHOPS = { ORDERS, READINGS, USERS, POSTS };
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
const parsedOf = (shop: Shop) => documentsOf(proposed(shop));
const optionsOf = (shop: Shop, decision: RegExp) =>
  proposed(shop).decisions.find((one) => decision.test(one.decision))?.options ?? [];
const chosenOf = (shop: Shop, decision: RegExp) => optionsOf(shop, decision).find(({ chosen }) => chosen);

describe.each(Object.entries(SHOPS))('%s', (_, shop) => {
  test('the documents pass the check', () => {
    const { findings } = checkDocuments(documentsOf(proposed(shop)));
    expect(findings.filter(({ severity }) => severity !== 'information')).toEqual([]);
  });

  test('the stated cost is what `model cost` gives for the documents', () => {
    const { containers } = costsOf(documentsOf(proposed(shop)));
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

test('what is said of a child and its parent follows from the requirements', () => {
  const { requirements, design } = proposed(ORDERS);
  // Whether a line may exist without its order is for people to say.
  expect(requirements).not.toContain('Child Independence');
  expect(requirements).toContain('- **Access Pattern**: every read of Line knows its orderId\n');
  expect(requirements).toContain(
    "a multi-document container wasn't compared, because the two are kept for different times",
  );
  expect(design).toMatch(/`\/customerId` - known to the reads of pattern \d/);
  expect(design).toContain('the largest customerId has the most that the relationship allows');
  const byQuantity = [...ORDERS.rows, { access: 'list line by quantity, limit 20', peak: 5, average: 1 }];
  const entities = ORDERS.entities.map((row) => row.replace('quantity', 'quantity (900 values)'));
  const asked = proposed({ ...ORDERS, entities, rows: byQuantity });
  expect(asked.requirements).toMatch(/- \*\*Access Pattern\*\*: pattern \d+ of Line doesn't know the orderId\n/);
  expect(asked.requirements).toMatch(
    /Line \(100 × [\d.]+ KB\) isn't embedded, because pattern \d+ doesn't know the Order/,
  );
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

test('copies are in a container that has their key, if that is billed less', () => {
  const options = optionsOf(POSTS, /list Post by userId/);
  const [beside, own] = ['copy in Sessions, by userId', 'copy with its own key'].map((name) =>
    options.find(({ option }) => option === name),
  );
  expect(beside).toMatchObject({ chosen: true });
  // A container of its own is billed for its least throughput.
  expect(beside?.cost.hours).toBeLessThan(own?.cost.hours ?? 0);
  const { design } = parsedOf(POSTS);
  const sessions = design.model.containers.find(({ name }) => name === 'Sessions');
  expect(design.model.containers.map(({ name }) => name)).toEqual(['Sessions', 'Posts']);
  expect(sessions?.types.map(({ name }) => name)).toEqual(['session', 'postByUser']);
  expect(design.projections.map(({ sink }) => [sink?.container, sink?.type])).toEqual([['Sessions', 'postByUser']]);
  expect(design.mapping.find(({ ids }) => ids.includes('4'))?.containers).toEqual(['Sessions']);
});

test('copies that are kept for another time have a container of their own', () => {
  const entities = POSTS.entities.map((row) => row.replace('400,000 | |', '400,000 | 30 d |'));
  const { needs } = needsOf(requirementsOf({ ...POSTS, entities }), 'r.md');
  const { decisions, design } = propose(needs);
  const names = decisions.flatMap(({ options }) => options.map(({ option }) => option));
  expect(names.filter((name) => name.startsWith('copy in'))).toEqual([]);
  expect(design).toContain('### PostsByUser Container');
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
  expect(index?.refused).toContain('doesn’t create it');
});

describe('a forum whose posts are many and large', () => {
  const forum = (most: string): Shop => ({
    entities: [
      '| Thread | id, title | 1 KB | 10,000,000 | |',
      '| Post | id, threadId, authorId (4,000,000 values), writtenAt | 2 KB | 150,000,000 | |',
    ],
    rows: [
      { access: 'read thread by id', peak: 100, average: 30 },
      { access: 'list post by threadId, oldest writtenAt, limit 20', peak: 100, average: 30 },
      { access: 'list post by authorId, newest writtenAt, limit 20', peak: 20, average: 5 },
      { access: 'create post', peak: 6, average: 1.5 },
      { access: 'delete post', peak: 1, average: 0.2 },
      { access: 'create thread', peak: 1, average: 0.1 },
    ],
    relationships: [`Thread → Posts**: 1:Many (avg 15, max ${most})`],
  });

  test('a forum whose posts are many and large has the throughput that the stored size needs, and lists no post that is marked as deleted', () => {
    const { findings } = checkDocuments(documentsOf(proposed(forum('20,000'))));
    expect(findings.filter(({ rule }) => rule === 'B12' || rule === 'C40')).toEqual([]);
    const { design } = parsedOf(forum('20,000'));
    const copies = design.model.containers.find(({ name }) => name === 'PostsByAuthor');
    expect(copies?.throughput?.max).toBe(3_000);
    expect(design.mapping.find(({ ids }) => ids.includes('2'))?.operationText).toContain('NOT IS_DEFINED(c.deleted)');
    // The projection removes what is marked.
    expect(design.mapping.find(({ ids }) => ids.includes('3'))?.operationText).not.toContain('deleted');
  });

  test('a forum whose posts are many and large has no key whose largest parent outgrows a partition', () => {
    expect(chosenOf(forum('20,000'), /^key of Posts/)?.option).toBe('/threadId');
    const refused = optionsOf(forum('20,000,000'), /^key of Posts/).find(({ option }) => option === '/threadId');
    expect(refused?.refused).toContain('40 GB');
  });
});

describe('a tenant that may outgrow a logical partition', () => {
  const audit = REQUIREMENTS['audit']!;

  test('a tenant that may outgrow a logical partition has a key of two levels, and the reason stands beside the refused one', () => {
    const options = optionsOf(audit, /^key of Entries/);
    expect(options.find(({ option }) => option === '/tenantId')?.refused).toContain('24 GB');
    // Of two that cost alike, the one by which more reads ask one partition.
    expect(options.find(({ chosen }) => chosen)?.option).toBe('/tenantId, /actorId');
    expect(proposed(audit).design).toMatch(/\*\*Partition Key\*\*: `\/tenantId`, `\/\w+` \(hierarchical\)/);
  });

  test('a tenant that may outgrow a logical partition has a key of one level as long as it fits', () => {
    const small = audit.entities.map((one) => one.replace('largest 30 %', 'largest 5 %'));
    expect(chosenOf({ ...audit, entities: small }, /^key of Entries/)?.option).toBe('/tenantId');
  });

  test('a tenant that may outgrow a logical partition has two levels if it is too busy, though it is small', () => {
    const rows = audit.rows.map((one) =>
      one.access === 'create entry' ? { ...one, peak: 9_000, average: 3_000 } : one,
    );
    const entities = audit.entities.map((one) => one.replace('80,000,000', '8,000,000'));
    const busy = { ...audit, rows, entities };
    expect(optionsOf(busy, /^key of Entries/).find(({ option }) => option === '/tenantId')?.refused).toContain('RU/s');
    expect(chosenOf(busy, /^key of Entries/)?.option).toMatch(/^\/tenantId, \//);
  });
});

describe('a tenant with an actor that may outgrow a logical partition too', () => {
  const audit = REQUIREMENTS['audit']!;
  const row = (access: string, peak: number, average: number) => ({ ...audit.rows[1]!, access, peak, average });
  const busy = {
    ...audit,
    entities: [
      '| Entry | id, tenantId (500 values, largest 30 %), actorId (100,000 values, largest 60 %), day (365 values, largest 10 %), at, action | 1 KB | 800,000,000 | 365 d |',
    ],
    rows: [...audit.rows, row('list entry by tenantId, actorId, day, newest at, limit 50', 400, 100)],
  };

  test('a tenant with an actor that may outgrow a logical partition too has a key of three levels', () => {
    const options = optionsOf(busy, /^key of Entries/);
    expect(options.find(({ option }) => option === '/tenantId, /actorId')?.refused).toContain('144 GB');
    expect(options.find(({ chosen }) => chosen)?.option).toBe('/tenantId, /actorId, /day');
    const { design } = proposed(busy);
    expect(design).toContain('**Partition Key**: `/tenantId`, `/actorId`, `/day` (hierarchical)');
    // The tenant and the actor are a prefix: some of the partitions.
    expect(design).toMatch(/c\.actorId = @actorId AND c\.type = 'entry'.*\| the partitions of a prefix/);
  });

  test('the documents pass the check', () => {
    const { findings } = checkDocuments(documentsOf(proposed(busy)));
    expect(findings.filter(({ severity }) => severity !== 'information')).toEqual([]);
  });

  test('a longer prefix asks fewer partitions', () => {
    const cost = (known: string): number => {
      const asked = {
        ...busy,
        rows: [...busy.rows.slice(0, 1), row(`list entry by ${known}, newest at, limit 50`, 4, 0.5), busy.rows.at(-1)!],
      };
      return (
        optionsOf(asked, /^key of Entries/).find(({ option }) => option === '/tenantId, /actorId, /day')?.cost
          .average ?? 0
      );
    };
    expect(cost('tenantId, actorId')).toBeLessThan(cost('tenantId'));
  });
});

describe('several types in one container', () => {
  const clinic = REQUIREMENTS['clinic']!;

  test('children that are read with their parent are in its partition, and one query reads all', () => {
    expect(chosenOf(clinic, /^place of Visit/)?.option).toBe('beside Patient in one container, by patientId');
    const { design } = proposed(clinic);
    expect(design).toContain("c.patientId = @patientId AND c.type IN ('patient', 'visit', 'prescription')");
    // The parent carries its own id as the key.
    expect(design).toMatch(/"id":"patient-1","type":"patient".*"patientId":"patient-1"/);
    expect(optionsOf(clinic, /^place of Visit/).map(({ option }) => option)).toContain('a container of its own');
  });

  test('children that are rarely read with it are not', () => {
    const rows = clinic.rows.map((one) =>
      one.access === 'read patient by id, clinicId' ? { ...one, peak: 600, average: 200 } : one,
    );
    const apart = { ...clinic, rows };
    expect(chosenOf(apart, /^place of Visit/)?.option).not.toContain('beside Patient');
    const refused = optionsOf(apart, /^place of Visit/).find(({ option }) => option.startsWith('beside Patient'));
    expect(refused?.refused).toContain('30 %');
  });
});

test('a delete is marked where a copy must see it', () => {
  const { design } = proposed(REQUIREMENTS['sessions']!);
  expect(design).toContain('sets `deleted` and `ttl`');
  expect(design).toContain('"deleted":true,"ttl":604800');
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
    const line: Entity = { name: 'Line', fields: [{ name: 'id' }, { name: 'orderId' }], bytes: 100, count: 9 };
    expect(accessOf('read order by id, with lines', [order, line])).toMatchObject({ by: ['id'], withs: ['Line'] });
    expect(accessOf('read line by id, with orders', [order, line])).toContain('Order has no field lineId');
    expect(accessOf('list order by customerId, with lines', [order, line])).toContain('only a read');
    expect(accessOf('show me orders', [order])).toContain('another form');
    expect(accessOf('read invoice by id', [order])).toContain('no entity invoice');
    expect(accessOf('list order by storeId', [order])).toContain('no field storeId');
    expect(accessOf('list order', [order])).toContain('names the fields');
    expect(accessOf('read order by customerId', [order])).toContain('use list');
  });

  test('a unit that is missing or wrong is a question with what is written', () => {
    const text = requirementsOf(READINGS)
      .replace('| 0.2 KB |', '| 0.2 |')
      .replace('| 90 d |', '| 90 |')
      .replace('200/100', '100/200')
      .replace('5/1 |', '300 per minute |');
    const said = needsOf(text, 'r.md').questions.map(({ question }) => question);
    expect(said).toHaveLength(4);
    expect(said[0]).toContain('the size of Reading, "0.2"');
    expect(said[1]).toContain('the time that Reading is kept, "90"');
    expect(said[2]).toContain('Which is the peak? The rate of pattern 2 has "100/200"');
    expect(said[3]).toContain('which is per minute');
  });

  test('an entity without a size is still known to the patterns', () => {
    const text = requirementsOf(READINGS).replace('| 0.2 KB |', '| |');
    expect(needsOf(text, 'r.md').questions.map(({ question }) => question)).toEqual([
      'How large is one Reading? Write its size, such as 1 KB.',
    ]);
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

test('a field by which a pattern asks needs its number of values; it may be unique', () => {
  const of = (email: string) =>
    needsOf(requirementsOf({ ...USERS, entities: [`| User | id, ${email}, name | 1 KB | 1,000,000 | |`] }), 'r.md');
  expect(of('email').questions).toMatchObject([
    { question: expect.stringContaining('How many values has email of User?') },
  ]);
  const unique = of('email (unique)');
  expect(unique.questions).toEqual([]);
  expect(unique.needs.entities[0]?.fields[1]).toEqual({ name: 'email', values: 1_000_000 });
});

test.each([
  ['2 y', 730],
  ['18 months', 540],
  ['6 mo', 180],
  ['4 w', 28],
])('an entity that is kept for %s has these days in seconds', (time, days) => {
  const entities = READINGS.entities.map((row) => row.replace('90 d', time));
  const { needs, questions } = needsOf(requirementsOf({ ...READINGS, entities }), 'r.md');
  expect(questions).toEqual([]);
  expect(needs.entities[0]?.keptSeconds).toBe(days * 86_400);
});

test('a time without a unit is asked for with its number alone', () => {
  const entities = READINGS.entities.map((row) => row.replace('90 d', 'about 2 seasons'));
  const [question] = needsOf(requirementsOf({ ...READINGS, entities }), 'r.md').questions;
  expect(question?.question).toContain('such as 2 d.');
});

test('numbers without the word pattern, and rates in two columns, are read where there is a column Access', () => {
  const table = (access: string) => `# Parking

## 1. Entities
| Name | Fields | Document size | Number of documents | Retention |
|---|---|---|---|---|
| Session | id, plate (3,000,000 values), enteredAt | 600 B | 250,000,000 | 18 months |

## 2. Access patterns
| # | What | Peak | Average | ${access} |
|---|---|---|---|---|
| AP1 | A car enters | 180 | 5 | create session |
| AP2 | A driver's history | 20 | 4 | list session by plate, newest enteredAt, limit 20 |
`;
  const { needs, questions } = needsOf(table('Access'), 'r.md');
  expect(questions).toEqual([]);
  expect(needs.accesses).toMatchObject([
    { id: '1', description: 'A car enters', peak: 180, average: 5 },
    { id: '2', peak: 20, average: 4 },
  ]);
  expect(needs.entities).toMatchObject([{ name: 'Session', bytes: 600, count: 250_000_000 }]);
  expect(parseRequirements(table('Users'), 'r.md').patterns).toEqual([]);
});

test('a key with few values is not chosen, and what a projection copies whole is kept', () => {
  const gyms: Shop = {
    entities: [
      '| Gym | id, city (80 values), name | 2 KB | 300 | |',
      '| Class | id, gymId, trainerId (4,000 values), startsAt, capacity | 0.8 KB | 2,000,000 | 730 d |',
    ],
    rows: [
      { access: 'list gym by city', peak: 4, average: 1 },
      { access: 'read class by id', peak: 15, average: 4 },
      { access: 'list class by gymId, oldest startsAt, limit 30', peak: 90, average: 25 },
      { access: 'create class', peak: 1, average: 0.06 },
      { access: 'create gym', peak: 0.01, average: 0.000_001 },
    ],
    relationships: ['Gym → Classes**: 1:Many (avg 6,667, max 40,000)'],
  };
  expect(chosenOf(gyms, /^key of Gyms/)?.option).toBe('/id');
  expect(optionsOf(gyms, /^key of Gyms/).find(({ option }) => option === '/city')?.refused).toContain('80 values');
  const { findings } = checkDocuments(documentsOf(proposed(gyms)));
  expect(findings.filter(({ rule }) => rule === 'C2' || rule === 'D11')).toEqual([]);
  expect(proposed(gyms).requirements).toContain('40,000 × 0.8 KB');
});
