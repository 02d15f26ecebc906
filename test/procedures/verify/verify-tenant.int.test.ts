// docs/SPEC-tenants.md, TEN-T9: what `projections verify --tenant` reads and finds. In one model the tenant is the whole
// key, in the other the first level of a hierarchical one.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import type { Refusal } from '../../../src/kinds/runner.ts';
import { type Verification, type VerifyOptions, verify } from '../../../src/procedures/verify/verify.ts';
import { askedTenant } from '../../../src/procedures/tenants/tenant-flag.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { openStage } from '../../support/stage.ts';
import { VERSIONS, fast } from '../../verbs/projections/versions.ts';

const TENANTS = 8;
/** The embedded server's index answers where a container has a thousand changes. */
const ORDERS = 1_040;
const { signal } = new AbortController();
const screen = { progress: () => undefined };

const PROOF = join(import.meta.dirname, '../../fixtures/proof');
/** Orders of both models. */
const order = (n: number): Doc => ({
  id: `o${n}`,
  type: 'order',
  storeId: `s${n % TENANTS}`,
  customerId: 'c1',
  status: 'placed',
  placedAt: `2026-01-0${1 + (n % 7)}T10:00:00.000Z`,
  day: `2026-01-0${1 + (n % 7)}`,
  cents: n,
});

it.each([
  ['the whole key', VERSIONS, ['Summaries', 'Days']],
  ['the first level of the key', PROOF, ['Lists', 'Days']],
])(
  'where the tenant is %s, it finds what a verification of all finds of the tenant, for its share of the RU',
  async (_key, folder, sinks) => {
    const opened = await openStage({}, folder);
    await using stage = {
      ...opened,
      loaded: { ...opened.loaded, pipeline: { ...opened.loaded.pipeline, tenant: 'storeId', publishes: [] } },
    };
    await Promise.all(Array.from({ length: ORDERS }, (_, n) => stage.container('Orders').items.upsert(order(n))));
    const app = await compose({ ...stage, ...fast, host: 'live' });
    await app.start();
    await app.drained(signal);
    await app.stop();
    for (const name of sinks) await falsify(name);
    await new DeadLetters(stage.services.place.state).park('days@1', ['s0', 's3'].map(parkedDeletion), new Date());

    const look = async (more: Partial<VerifyOptions> = {}): Promise<[Verification, number]> => {
      const before = stage.emulator.stats().charge;
      const options = { signal, screen, readLagMs: 0, settings: stage.settings, ...more };
      return [await verify(stage.loaded, stage.services, options), stage.emulator.stats().charge - before];
    };
    const [all, charge] = await look();
    for (const tenant of ['s0', 's3', 's7']) {
      const [own, less] = await look({ ofTenant: askedTenant(stage.loaded, tenant) });
      expect(own.differences.length).toBeGreaterThanOrEqual(2 * sinks.length);
      expect(sorted(own)).toEqual(sorted(all).filter(({ document }) => document.startsWith(`["${tenant}",`)));
      expect(own.documents.sources).toBe(ORDERS / TENANTS);
      expect(less).toBeLessThan(charge / 4);
      expect(own.parked.map(({ key }) => key)).toEqual(tenant === 's7' ? [] : [[tenant]]);
    }
    const [left] = await look({ ofTenant: askedTenant(stage.loaded, 's3'), settings: stage.settings, repair: true });
    expect(left).toMatchObject({ different: 0 });
    const others = sorted(all).filter(({ document }) => !document.startsWith('["s3",'));
    expect(sorted((await look())[0])).toEqual(others);

    /** Of each tenant one document of a sink is wrong, one is missing, one is too much, and one contribution is wrong. */
    async function falsify(name: string): Promise<void> {
      const container = stage.container(name);
      const paths = stage.loaded.model.containers.find((of) => of.name === name)?.partitionKey ?? [];
      const item = (doc: Doc) =>
        container.item(
          String(doc['id']),
          paths.map((path) => doc[path.slice(1)] as string),
        );
      const stored = (await container.items.query<Doc>('SELECT * FROM c').fetchAll()).resources;
      for (const [tenant, own] of Map.groupBy(stored, ({ storeId }) => storeId)) {
        const [wrong, missing, more] = own.filter((doc) => !String(doc['type']).startsWith('millrace.'));
        await container.items.upsert({ ...wrong, orders: 77, cents: 77 });
        await item(missing!).delete();
        await container.items.upsert({ ...more, id: `more-${String(tenant)}` });
        const part = own.find((doc) => doc['type'] === 'millrace.contribution' && doc['of'] === more?.['id']);
        if (part) await container.items.upsert({ ...part, values: { rows: 5, m: {} } });
      }
    }
  },
);

const parkedDeletion = (tenant: string): Refusal => ({
  change: {
    container: 'Orders',
    type: 'order',
    key: [tenant],
    id: 'gone',
    tenant,
    version: { epoch: 1, lsn: 1, etag: 'gone' },
    at: 0,
    op: 'delete',
  },
  error: new MillraceError('x', 'no'),
});

const sorted = ({ differences }: Verification) =>
  differences.toSorted((a, b) => (`${a.container} ${a.document}` < `${b.container} ${b.document}` ? -1 : 1));
