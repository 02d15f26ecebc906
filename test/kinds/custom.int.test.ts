// The runner that docs/projections.md shows, as it stands there: many sources share a document of its sink, several hosts
// write it at once, and none of them stalls.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Doc, Pipeline } from '../../src/pipeline/specs.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { openTwoHosts } from './two-hosts.ts';

const root = join(import.meta.dirname, '../..');
const ORDERS = { name: 'Orders', keyPaths: [['customerId']], types: new Map([['order', {}]]) };
const CUSTOMERS = 8;
const STORES = 2;
const ROUNDS = 6;

/** The pipeline of the snippet below a heading, imported as its reader would write it down. */
async function shown(page: string, heading: string): Promise<Pipeline> {
  const text = readFileSync(join(root, page), 'utf8').split(`\n## ${heading}\n`)[1] ?? '';
  const [, code = ''] = /```ts\n([\s\S]*?)```/.exec(text) ?? [];
  mkdirSync(join(root, '.millrace'), { recursive: true });
  const folder = mkdtempSync(join(root, '.millrace/shown-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'pipeline.ts'), code);
  return ((await import(join(folder, 'pipeline.ts'))) as { default: Pipeline }).default;
}

test('hosts that share its sink documents each finish their pages at once, and the boards are right', async () => {
  const { effects } = await shown('docs/projections.md', 'Custom');
  const [spec] = effects;
  if (spec?.kind !== 'custom') throw new Error('The docs show no runner of one’s own');
  await using hosts = await openTwoHosts({ Orders: '/customerId', Boards: '/storeId' });
  const truth = new Map<string, Record<string, string>>();
  const write = async (customerId: string, n: number, status: string): Promise<Change> => {
    const storeId = `s${n % STORES}`;
    const id = `${customerId}-${n}`;
    truth.set(storeId, { ...truth.get(storeId), [id]: status });
    return hosts.write(ORDERS, { id, type: 'order', customerId, storeId, status });
  };
  for (let round = 0; round < ROUNDS; round++) {
    const pages: Change[][] = [];
    for (let customer = 0; customer < CUSTOMERS; customer++) {
      const page: Change[] = [];
      for (let n = 0; n < 12; n++) page.push(await write(`c${customer}`, n, `status-${round}`));
      pages.push(page);
    }
    hosts.emulator.faults({ replicaLagMs: 20, failAfterEffect: 0.05 });
    const given = (page: readonly Change[], host: 0 | 1, access: DocumentAccess): Promise<void> =>
      spec.apply(host === 0 ? page : page.toReversed(), access);
    // Each page once, as a host of its own has it; some by two at a time, late and backwards.
    await Promise.all(
      pages.flatMap((page, at) => [
        given(page, 0, hosts.access(0)),
        ...(at % 4 === 0 ? [given(page, 1, hosts.access(1))] : []),
      ]),
    );
    hosts.emulator.faults({});
  }
  for (const [storeId, orders] of truth) {
    const board = await hosts.read('Boards', 'board', storeId);
    const statuses = Object.entries((board?.['orders'] ?? {}) as Record<string, Doc>);
    expect(Object.fromEntries(statuses.map(([id, { status }]) => [id, status]))).toEqual(orders);
  }
});
