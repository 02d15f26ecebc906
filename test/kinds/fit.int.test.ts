// What would break the sink's type is parked with its path, in every kind that makes documents or messages of values.
// docs/SPEC-copies.md, COPY-C6.
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CopySpec, CustomSpec, Doc, Entry, ProjectionSpec, SendSpec } from '../../src/pipeline/specs.ts';
import { MillraceError } from '../../src/base/errors.ts';
import type { MeasureSpec } from '../../src/pipeline/builders/measures.ts';
import { custom } from '../../src/kinds/custom/custom-runner.ts';
import { Poison } from '../../src/kinds/runner.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import type { App } from '../../src/runtime/hosts/processor-host.ts';
import { live } from '../verbs/projections/versions.ts';
import { type Stage, openStage } from '../support/stage.ts';

const MENDED = join(import.meta.dirname, '../fixtures/mended');
const { signal } = new AbortController();
let stage: Stage;
let app: App | undefined;

beforeEach(async () => {
  stage = await openStage({}, MENDED);
});
afterEach(async () => {
  await app?.stop();
  app = undefined;
  await stage[Symbol.asyncDispose]();
});

/** Hosts the pipeline with some projections declared otherwise. */
async function host(change: (spec: ProjectionSpec) => ProjectionSpec): Promise<void> {
  await app?.stop();
  const { loaded } = stage;
  const projections = loaded.pipeline.projections.map(change);
  app = await live({ ...stage, loaded: { ...loaded, pipeline: { ...loaded.pipeline, projections } } });
}
type Joined = Parameters<CopySpec['map']>[1];
/** The copy gives this beside what it gives. */
const copying = (given: (order: Doc) => Doc) =>
  host((spec) =>
    spec.kind === 'copy'
      ? { ...spec, map: (doc: Doc, joined: Joined) => ({ ...spec.map(doc, joined), ...given(doc) }) }
      : spec,
  );

const write = (container: string, doc: Doc) => stage.container(container).items.upsert(doc);
const order = async (id: string, more: Doc = {}): Promise<void> => {
  await write('Customers', { id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
  const base = { type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00.000Z', amount: 1 };
  await write('Orders', { id, ...base, ...more });
  await app?.drained(signal);
};
const summary = async (id: string): Promise<Doc | undefined> =>
  (await stage.container('Summaries').item(id, 's1').read<Doc>()).resource;
const letters = async (): Promise<string[]> =>
  (await new DeadLetters(stage.services.place.state).list()).map(
    ({ projection, id, code, message }) => `${projection} ${id} ${code} ${message}`,
  );

it('the engine parks what would be stored as null, with its path, and the rest of the page is applied', async () => {
  await copying(({ amount }) => ({ amount: Math.sqrt(Number(amount)), deep: { list: [1 / Number(amount)] } }));
  await order('negative', { amount: -1 });
  await order('zero', { amount: 0 });
  await order('right', { amount: 4 });
  expect((await letters()).toSorted()).toEqual([
    "summaries@1 negative value-invalid summaries@1: /amount is NaN, which JSON can't hold",
    "summaries@1 zero value-invalid summaries@1: /deep/list/0 is Infinity, which JSON can't hold",
  ]);
  expect(await summary('negative')).toBeUndefined();
  expect(await summary('right')).toMatchObject({ amount: 2 });
  // Once the document is right the letter goes.
  await order('negative', { amount: 9 });
  expect(await letters()).toHaveLength(1);
});

it('the engine parks undefined where each document of the type has a value, and what is of another type', async () => {
  await copying(({ id, amount }) => (id === 'text' ? { amount: String(amount) } : { customerName: undefined }));
  await order('lacking');
  await order('text');
  expect((await letters()).toSorted()).toEqual([
    'summaries@1 lacking value-invalid summaries@1: /customerName is undefined, but every document of the type has it',
    'summaries@1 text value-of-other-type summaries@1: /amount is "1", not a number',
  ]);
});

it('the type of a sink holds reference data, groups and what measures keep to it too', async () => {
  const best: MeasureSpec = {
    kind: 'top',
    n: 1,
    by: () => 1,
    keep: (row) => ({ half: Number((row as Doc)['amount']) / 0 }),
  };
  await host((spec) => {
    if (spec.kind === 'reference')
      return { ...spec, map: (country: Doc) => ({ ...spec.map(country), name: undefined }) };
    if (spec.kind === 'copy') return spec;
    return {
      ...spec,
      groupBy: (row, doc) => ({ ...spec.groupBy(row, doc), ...(doc['id'] === 'group' ? { share: NaN } : {}) }),
      measures: { ...spec.measures, best },
    };
  });
  await write('Stores', { id: 's1', type: 'store', storeId: 's1', name: 's1' });
  await write('Countries', { id: 'AT', type: 'country', region: 'eu', name: 'Austria' });
  await order('group');
  await order('kept');
  expect((await letters()).toSorted()).toEqual([
    'days@1 group value-invalid groupBy returned NaN in the field share',
    "days@1 kept value-invalid Measure best: /half is Infinity, which JSON can't hold",
    'store-countries@1 AT value-invalid store-countries@1: /name is undefined, but every document of the type has it',
  ]);
});

it('the type of a sink holds rows of a sink of one’s own to it, and what a runner of one’s own writes', async () => {
  const from = { container: 'Orders', type: 'order' };
  const rows: Entry[] = [];
  const own: SendSpec = {
    kind: 'send',
    name: 'rows',
    version: 1,
    from,
    onDelete: 'remove',
    to: { write: async (entries) => void rows.push(...entries) },
    map: ({ amount }) => ({ log: Math.log(Number(amount)) }),
  };
  const tickets = custom('tickets', {
    sources: [from],
    apply: async (changes, access) => {
      for (const change of changes) {
        const body = { id: change.id, storeId: 's1', type: 'ticket', log: Math.log(Number(change.doc?.['amount'])) };
        const result = await access.commit('Days', ['s1'], [{ op: 'create', id: change.id, body }]);
        if (result.kind === 'refused')
          throw new Poison([{ change, error: new MillraceError('ticket-refused', result.why) }]);
      }
    },
  }) as unknown as CustomSpec;
  const { loaded } = stage;
  const pipeline = { ...loaded.pipeline, projections: [], effects: [own, tickets] };
  app = await live({ ...stage, loaded: { ...loaded, pipeline } });
  await order('negative', { amount: -1 });
  await order('right', { amount: 1 });
  expect((await letters()).toSorted()).toEqual([
    "rows@1 negative value-invalid rows@1: /log is NaN, which JSON can't hold",
    "tickets@1 negative ticket-refused negative: /log is NaN, which JSON can't hold",
  ]);
  expect(rows.map(({ row }) => row)).toEqual([{ log: 0 }]);
  expect((await stage.container('Days').item('right', 's1').read<Doc>()).resource).toMatchObject({ log: 0 });
});
