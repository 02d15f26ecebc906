// Publishes and sends after a disaster, with --since: each change since then comes again, in a new epoch, and none before.
// docs/SPEC-recover.md, REC-E3, REC-E4.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PublishSpec, SendSpec, Sink } from '../../../src/pipeline/specs.ts';
import { openHubs } from '../../emulator/hubs.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { Shelves, asText, declaring, rowsOf, search } from '../../verbs/projections/shelves.ts';
import { VERSIONS } from '../../verbs/projections/versions.ts';
import { afresh, derive, newRun, recoverOn } from './recovery.ts';

const HOUR = 3_600_000;

let hubs: Awaited<ReturnType<typeof openHubs>>;
let stage: Stage;
let since: string;

beforeEach(async () => {
  hubs = await openHubs();
  stage = await openStage({ faults: { historyMs: 2 * HOUR } }, VERSIONS);
  const account = { kind: 'key', connectionString: hubs.hubs.connectionString } as const;
  stage = { ...stage, settings: { ...stage.settings, eventHubs: { account, checkpoints: 'checkpoints' } } };
  since = new Date(Date.now() + HOUR / 2).toISOString();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
  await hubs[Symbol.asyncDispose]();
});

const published = (start: PublishSpec['start']): PublishSpec => ({
  kind: 'publish',
  name: 'out',
  version: 1,
  from: { container: 'Orders', type: 'order' },
  to: 'telemetry',
  format: 'cloudevents',
  order: 'partitionKey',
  images: false,
  ...(start !== undefined && { start }),
});

const place = (cents: number, ...numbers: number[]) =>
  afresh(stage, async (now) => {
    for (const n of numbers)
      await now.container('Orders').items.upsert({
        id: `o${n}`,
        type: 'order',
        storeId: 's1',
        customerId: 'c1',
        placedAt: '2026-01-01T10:00:00.000Z',
        cents,
      });
  });

/** Hosts publish and send orders 1 and 2 of an hour ago, and 2 and 3 of now. */
async function twoTimes(): Promise<void> {
  await derive(stage);
  await place(101, 1, 2);
  await derive(stage);
  stage.emulator.advance(HOUR);
  await place(102, 2, 3);
  await derive(stage);
}

interface Body {
  readonly id: string;
  readonly subject: string;
  readonly sequence: string;
  readonly data: { readonly id: string; readonly cents: number };
}
const events = (): Body[] => hubs.hubs.events('telemetry').map(({ body }) => body as Body);
const said = (of: readonly Body[]) => of.map(({ data }) => `${data.id} ${data.cents}`);
const run = (input: Record<string, unknown> = { since }) => afresh(stage, (now) => recoverOn(now, newRun(), input));

for (const start of ['now', 'beginning'] as const)
  it(`publishes that begin ${start} publish each change since then again, and none before, though the state is lost`, async () => {
    stage = { ...stage, loaded: declaring(stage, { publishes: [published(start)] }) };
    await twoTimes();
    const before = events();
    expect(said(before)).toEqual(['o1 101', 'o2 101', 'o2 102', 'o3 102']);
    await stage.container('millrace').delete();
    await place(103, 4);
    expect((await run()).ok).toBe(true);
    await derive(stage);
    const again = events().slice(before.length);
    expect(said(again)).toEqual(['o2 102', 'o3 102', 'o4 103']);
    const known = before.filter(({ data }) => data.cents === 102);
    // The documents were not written again, so their events have the same ids, and a consumer may drop them.
    expect(again.slice(0, 2).map(({ id }) => id)).toEqual(known.map(({ id }) => id));
    const higher = again.slice(0, 2).map(({ sequence }, at) => sequence > (known[at]?.sequence ?? ''));
    expect(higher, 'of a new epoch').toEqual([true, true]);
  }, 60_000);

it('a publish of a source that lost writes says what the documents are now, above every lost sequence', async () => {
  stage = { ...stage, loaded: declaring(stage, { publishes: [published('beginning')] }) };
  await twoTimes();
  const before = events();
  stage.emulator.failover('shop/Orders', HOUR / 2);
  await place(104, 2);
  expect((await run()).ok).toBe(true);
  await derive(stage);
  const again = events().slice(before.length);
  // Order 3 was lost: no event takes it back. Order 1 is older than the time.
  expect(said(again)).toEqual(['o2 104']);
  const lost = before.findLast(({ data }) => data.id === 'o2')!;
  expect(again[0]?.id).not.toBe(lost.id);
  expect((again[0]?.sequence ?? '') > lost.sequence).toBe(true);
}, 60_000);

it('a sink with rows ends right after a source lost writes, and one without keeps what no change corrects', async () => {
  const [shown, blind] = [new Shelves(), new Shelves()];
  const withoutRows: Sink = { write: (...given) => blind.sink().write(...given) };
  const to = shown.sink();
  const full = search(to);
  const bare: SendSpec = { ...search(withoutRows), name: 'blind' };
  stage = { ...stage, loaded: declaring(stage, { effects: [full, bare] }) };
  await twoTimes();
  stage.emulator.failover('shop/Orders', HOUR / 2);
  await place(104, 4);
  const { ok, value } = await run();
  expect(ok).toBe(true);
  expect(value.verification?.beyond).toMatchObject([{ name: 'blind', version: 1 }]);
  await derive(stage);
  await afresh(stage, async (now) => expect(asText(shown.rows())).toEqual(await rowsOf(now, full)));
  expect([shown.rows().size, blind.rows().size], 'order 3 is lost').toEqual([3, 4]);
}, 60_000);
