import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container } from '@azure/cosmos';
import { expect, it, vi } from 'vitest';
import { offered } from '../../../src/host/http/offered.ts';
import { registry } from '../../../src/host/registry.ts';
import { operationName } from '../../../src/verbs/operation.ts';
import type { Verification } from '../../../src/procedures/verify/verify.ts';
import { projectionsVerify } from '../../../src/verbs/projections/verify.operation.ts';
import { doctor } from '../../../src/verbs/doctor.operation.ts';
import { status } from '../../../src/verbs/status.operation.ts';
import type { DoctorFinding } from '../../../src/procedures/doctor/finding.ts';
import { type LeaseWorld, leaseWorld } from '../../verbs/leases/lease-world.ts';

const ORDER = { type: 'order', customerId: 'c1', placedAt: '2026-01-01T10:00:00.000Z', cents: 100 };

/** A container that Millrace knows nothing of, with another key. */
async function legacy({ stage }: LeaseWorld, rows: readonly ({ id: string } & Record<string, unknown>)[]) {
  const { database } = stage.services.place;
  const { container } = await database.containers.createIfNotExists({ id: 'Legacy', partitionKey: '/tenant' });
  for (const row of rows) await container.items.upsert(row);
  return container;
}

async function file(content: unknown): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'against-')), 'fields.json');
  await writeFile(path, JSON.stringify(content));
  return path;
}

const tsOf = async (container: Container, id: string, key: string): Promise<string> => {
  const { resource } = await container.item(id, key).read<{ _ts: number }>();
  return new Date(Number(resource?._ts) * 1_000).toISOString();
};

it('a copy that a team keeps by hand is compared by key, and each planted fault is named with the oldest', async () => {
  const world = await leaseWorld();
  const { orders } = world;
  const order = (id: string, cents: number) => orders.items.upsert({ ...ORDER, id, storeId: 's1', cents });
  await order('lost', 100);
  const lostAt = await tsOf(orders, 'lost', 's1');
  // In a later second, which is as exact as the service tells times.
  await vi.waitFor(
    async () => {
      await order('stale', 200);
      expect(await tsOf(orders, 'stale', 's1')).not.toBe(lostAt);
    },
    { timeout: 10_000, interval: 100 },
  );
  await order('right', 300);
  const theirs = (orderId: string, amount: number) => ({
    id: `row-${orderId}`,
    kind: 'row',
    type: 'legacySummary',
    tenant: 's1',
    orderId,
    who: { name: null },
    placedAt: ORDER.placedAt,
    amount,
    writtenBy: 'trigger 7',
  });
  const rows = await legacy(world, [
    theirs('stale', 150),
    theirs('right', 300),
    theirs('orphan', 5),
    { ...theirs('other', 1), type: 'somethingElse' },
  ]);
  const map = await file({ tenant: 'storeId', orderId: 'id', amount: 'cents', 'who.name': 'customerName' });
  const asked = { name: 'summaries', against: 'Legacy/legacySummary', map, ignore: 'writtenBy,kind' };
  const before = JSON.stringify((await rows.items.readAll().fetchAll()).resources);

  const { ok, value, text } = await world.run(projectionsVerify, asked);
  const found = value as Verification;
  expect(ok).toBe(false);
  expect(found).toMatchObject({
    documents: { sources: 3, expected: 3, found: 3 },
    different: 3,
    against: {
      of: 'Legacy/legacySummary',
      missing: 1,
      different: 1,
      unexpected: 1,
      oldest: { document: '{"id":"lost","storeId":"s1"}', kind: 'missing', since: lostAt },
    },
  });
  expect(
    Object.fromEntries(found.differences.map(({ document, kind, fields }) => [document, [kind, ...fields]])),
  ).toEqual({
    '{"id":"lost","storeId":"s1"}': ['missing'],
    '{"id":"stale","storeId":"s1"}': ['different', 'cents'],
    '{"id":"orphan","storeId":"s1"}': ['unexpected'],
  });
  expect(text).toContain('compared with 3 documents of Legacy/legacySummary: 3 differences');
  expect(text).toContain('1 missing there, 1 different, 1 that nothing derives.');
  expect(text).toContain('cents: expected 200, found 150');
  expect((await world.run(status)).value).toMatchObject({
    verified: null,
    sampled: null,
    against: [{ different: 3, against: { projection: 'summaries@1', of: 'Legacy/legacySummary', fitted: true } }],
  });

  await rows.items.upsert(theirs('lost', 100));
  await rows.items.upsert(theirs('stale', 200));
  await rows.item('row-orphan', 's1').delete();
  expect(await world.run(projectionsVerify, asked)).toMatchObject({
    ok: true,
    value: { different: 0, differences: [], against: { missing: 0, different: 0, unexpected: 0 } },
  });
  expect((await world.run(status)).text).toMatch(
    /summaries@1 compared with 3 documents of Legacy\/legacySummary \S+Z: 0 differences\./,
  );
  // It writes to neither container.
  expect((await world.stage.container('Summaries').items.readAll().fetchAll()).resources).toEqual([]);
  expect(before).toContain('"somethingElse"');
});

it('a hand-kept aggregate is compared by the fields of its group, whatever its id', async () => {
  const world = await leaseWorld();
  await world.write(0, 14);
  const day = (n: number, more = {}) => ({
    id: `any-${n}`,
    tenant: 'x',
    storeId: `s${n}`,
    day: '2026-01-01',
    orders: 2,
    cents: 200,
    ...more,
  });
  await legacy(world, [...[0, 1, 2, 3, 4, 5].map((n) => day(n)), day(6, { cents: 199 })]);
  const { value } = await world.run(projectionsVerify, { name: 'days', against: 'Legacy', ignore: 'tenant' });
  expect(value).toMatchObject({
    different: 1,
    differences: [{ document: '{"day":"2026-01-01","storeId":"s6"}', kind: 'different', fields: ['cents'] }],
  });
});

it('a source document that a function refuses is named with its reason, and the comparison is not right', async () => {
  const world = await leaseWorld();
  await world.write(0, 1);
  await world.orders.items.upsert({ ...ORDER, id: 'late', storeId: 's9', placedAt: null });
  await legacy(world, [{ id: 'any', tenant: 'x', storeId: 's0', day: '2026-01-01', orders: 1, cents: 100 }]);
  const asked = { name: 'days', against: 'Legacy', ignore: 'tenant' };
  const { ok, value, text } = await world.run(projectionsVerify, asked);
  const message = "Cannot read properties of null (reading 'slice') (test/fixtures/shop/pipeline.ts:24:74)";
  expect({ ok, value }).toMatchObject({
    ok: false,
    value: {
      different: 0,
      notCompared: { refused: 1 },
      against: { refused: [{ container: 'Orders', key: ['s9'], id: 'late', message }] },
    },
  });
  expect(text).toContain(`  refused: Orders ["s9","late"]: ${message}`);
  expect((await world.run(status)).text).toMatch(/Legacy \S+Z: 0 differences, 1 source document not compared/);
  expect(await world.run(projectionsVerify, { ...asked, due: true })).toMatchObject({ ok: false });
});

it('a standing comparison is made at once, and then when VERIFY_FULL says so', async () => {
  const world = await leaseWorld();
  await world.write(0, 1);
  await legacy(world, []);
  const asked = { name: 'days', against: 'Legacy', due: true };
  expect(await world.run(projectionsVerify, asked)).toMatchObject({ ok: false, value: { different: 1 } });
  const findings = async () =>
    ((await world.run(doctor)).value as DoctorFinding[]).filter(({ what }) => what.includes('compared with'));
  const again = await world.run(projectionsVerify, asked);
  expect(again).toMatchObject({
    ok: false,
    value: [{ kind: 'against', result: { different: 1 }, next: expect.stringMatching(/T04:00:00.000Z$/) }],
  });
  expect(again.text).toMatch(
    /^days@1 compared with 0 documents of Legacy \S+Z: 1 difference, the oldest since \S+Z\. The next one is due \d{4}-\d\d-\d\dT04:00:00Z\.\n {2}differs: Legacy \{.*\}$/,
  );
  expect(await findings()).toMatchObject([{ verdict: 'bad', what: expect.stringContaining('Legacy') }]);
  await world.stage.services.place.database.containers.create({ id: 'Other', partitionKey: '/tenant' });
  const other = await world.run(projectionsVerify, { ...asked, against: 'Other' });
  expect(other).toMatchObject({ ok: false, value: { against: { of: 'Other' } } });
  expect((await world.run(status)).text).toMatch(/documents of (Legacy|Other) [^]*documents of (?!\1)(Legacy|Other) /);
  await world.clock.sleep(8 * 86_400_000);
  expect(await world.run(projectionsVerify, asked)).toMatchObject({ ok: false, value: { different: 1 } });
  expect(await findings()).toHaveLength(2);
  const right = { id: 'any', tenant: 'x', storeId: 's0', day: '2026-01-01', orders: 1, cents: 100 };
  await legacy(world, [right]);
  await world.run(projectionsVerify, { ...asked, due: false, ignore: 'tenant' });
  expect(await world.run(projectionsVerify, asked)).toMatchObject({ ok: true, value: [{ result: { different: 0 } }] });
  expect(await findings()).toMatchObject([{ what: expect.stringContaining('Other') }]);
});

it('a container, a type or a file of names that is not there is named, and so is what it can’t be combined with', async () => {
  const world = await leaseWorld();
  await legacy(world, [{ id: 'a', tenant: 't', type: 'legacyDay' }]);
  const refused = async (input: Record<string, unknown>) => {
    const { code, message, hint } = await world.refusal(projectionsVerify, { name: 'days', ...input });
    return `${code}: ${message} ${hint}`;
  };
  expect(await refused({ against: 'Nothing' })).toMatch(/^not-found: There is no container Nothing.*Correct/);
  expect(await refused({ against: 'Legcay' })).toMatch(/in database shop: did you mean Legacy\?/);
  for (const against of ['Days', 'Days/day'])
    expect(await refused({ against })).toMatch(/^input-invalid: Days.* is what days@1 itself fills/);
  expect(await refused({ against: 'Legacy/day' })).toMatch(
    /^not-found: No document of Legacy has the type day.*legacyDay/,
  );
  await legacy(world, [{ id: 'a', tenant: 't', docType: 'legacyDay' }]);
  expect(await refused({ against: 'Legacy/day' })).toMatch(/has a field type\. Leave the type out/);
  expect(await refused({ against: 'Legacy', map: 'none.json' })).toMatch(/^unreadable: none.json/);
  expect(await refused({ against: 'Legacy', map: await file(['a']) })).toMatch(/^unreadable: .*no field names/);
  expect(await refused({ against: 'Legacy', repair: true })).toMatch(/^input-invalid: --against compares one/);
  expect(await refused({ map: 'fields.json' })).toMatch(/^input-invalid: --map and --ignore belong to --against/);
  expect(await refused({ name: 'none', against: 'Legacy' })).toMatch(/^not-found: There is no projection none/);
});

it('where nothing of Millrace is in the account it compares too, and says that the result is not stored', async () => {
  const world = await leaseWorld();
  await world.write(0, 1);
  await legacy(world, []);
  const { state, leases } = world.stage.services.global;
  const own = [state, leases, world.stage.container('Summaries'), world.stage.container('Days')];
  for (const container of own) await container.delete();
  // The hosts' work can't be verified there.
  expect(await world.refusal(projectionsVerify)).toMatchObject({ code: 'container-missing' });
  const lacking = '`status` will not show this result: there is no container millrace';
  for (const due of [false, true]) {
    world.shown.length = 0;
    const asked = { name: 'days', against: 'Legacy', due };
    expect(await world.run(projectionsVerify, asked)).toMatchObject({ ok: false, value: { different: 1 } });
    expect(world.shown).toContainEqual(expect.stringContaining(lacking));
    expect(await world.plan(projectionsVerify, asked)).toContainEqual(expect.stringContaining(lacking));
  }
});

it('a name of --map or --ignore that nothing has is said: ours before it reads, theirs after', async () => {
  const world = await leaseWorld();
  await world.write(0, 2);
  const theirs = (n: number) => ({ id: `${n}`, tenant: 'x', shop: `s${n}`, day: '2026-01-01', orders: 1, cents: 100 });
  await legacy(world, [theirs(0), theirs(1)]);
  const verify = { name: 'days', against: 'Legacy' };
  const refused = async (fields: Record<string, string>) => {
    const map = await file(fields);
    const { code, message, hint } = await world.refusal(projectionsVerify, { ...verify, map });
    return `${code}: ${message} ${hint}`;
  };
  expect(await refused({ shop: 'storeld' })).toMatch(
    /^input-invalid: day has no field storeld: did you mean storeId\? .* Ours are (?!.*\bid\b.*\bid\b)/,
  );
  expect(await refused({ shop: 'storeId', tenant: 'storeId' })).toMatch(/^input-invalid: --map names storeId twice/);

  const map = await file({ shop: 'storeId', gone: 'orders' });
  const asked = { ...verify, map, ignore: 'writtenBy,tenant,total.x' };
  const { ok, value, text } = await world.run(projectionsVerify, asked);
  expect({ ok, value }).toMatchObject({ ok: true, value: { against: { unknown: ['gone', 'writtenBy', 'total.x'] } } });
  expect(text).toContain('  No document has gone or writtenBy or total.x: correct --map or --ignore.');
});

it('a field that their documents alone have is said once, with what leaves it out, and hides no other fault', async () => {
  const world = await leaseWorld();
  await world.write(0, 3);
  const theirs = (n: number) => ({
    id: `${n}`,
    storeId: `s${n}`,
    day: '2026-01-01',
    orders: 1,
    cents: 100,
    by: `t${n}`,
  });
  await legacy(world, [theirs(0), theirs(1), { ...theirs(2), cents: 7 }]);
  const { value, text } = await world.run(projectionsVerify, { name: 'days', against: 'Legacy' });
  expect(value).toMatchObject({ different: 3, against: { extra: ['by'] } });
  expect(text).toContain('  2 of them differ in by alone, which only Legacy has: `--ignore by` leaves it out.');
  expect(text).not.toContain('other');
  expect(text).not.toContain('found "t');
  expect(text.match(/^ {2}different: .*$/gm)).toEqual([
    expect.stringMatching(/^ {2}different: Legacy \{"day":"2026-01-01","storeId":"s2"\} in cents, since /),
  ]);

  // One of theirs has not got it, and the others differ in more.
  await world.write(3, 5);
  const { by: _, ...right } = theirs(3);
  await legacy(world, [right, { ...theirs(9), storeId: 's9' }]);
  for (const n of [0, 1]) await legacy(world, [{ ...theirs(n), cents: 8 }]);
  const more = await world.run(projectionsVerify, { name: 'days', against: 'Legacy' });
  expect(more.text).toContain('  Some of them differ in by too, which only Legacy has: `--ignore by` leaves it out.');
  expect(more.text).not.toContain('All that both have');
  expect(more.text.match(/^ {2}(missing|unexpected|different):/gm)).toEqual([
    '  missing:',
    '  unexpected:',
    ...Array.from({ length: 3 }, () => '  different:'),
  ]);
  await legacy(world, [{ ...right, cents: 9 }]);
  const all = await world.run(projectionsVerify, { name: 'days', against: 'Legacy' });
  expect(all.text).toContain('  All that both have differ in cents: correct --map or pipeline.ts');
});

it('over HTTP no file of names can be given, because it would be read on the host', () => {
  const verify = offered(registry).find((operation) => operationName(operation) === 'projections verify');
  expect(Object.keys(verify?.input.shape ?? {})).toContain('against');
  expect(Object.keys(verify?.input.shape ?? {})).not.toContain('map');
});
