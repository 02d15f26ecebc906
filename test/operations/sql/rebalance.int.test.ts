import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli } from '../../cli/cli.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millrace-growth-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function rebalance(sizes: unknown, ...flags: string[]) {
  await writeFile(join(directory, 'sizes.json'), typeof sizes === 'string' ? sizes : JSON.stringify(sizes));
  return cli(['sql', 'rebalance', 'sizes.json', '--table', 'orders', '--tenant', 'store_id', ...flags], { directory });
}

describe('sql rebalance', () => {
  it('isolates the tenants with a share of a node, and rebalances', async () => {
    const { code, stdout } = await rebalance({
      tenants: [
        { tenant: 7, bytes: '1200' },
        { tenant: "o'neill", bytes: 200 },
        { tenant: 9, bytes: 199 },
      ],
      nodes: [
        { node: 'a:5432', bytes: 1500 },
        { node: 'b:5432', bytes: 500 },
      ],
    });
    expect({ code, lines: stdout.trimEnd().split('\n') }).toEqual({
      code: 0,
      lines: [
        'tenant   size    of a node',
        '7        1.2 KB  120 %',
        "o'neill  200 B   20 %",
        'a:5432 is 50 % above the average of 1.0 KB.',
        '7 is larger than an average node: larger nodes help it, and more nodes don’t.',
        '5 statements to run on the coordinator, one at a time:',
        "SELECT isolate_tenant_to_new_shard('orders', 7, 'CASCADE');",
        "SELECT isolate_tenant_to_new_shard('orders', 'o''neill'::text, 'CASCADE');",
        'SELECT * FROM get_rebalance_table_shards_plan();',
        'SELECT citus_rebalance_start();',
        'SELECT * FROM citus_rebalance_status();',
      ],
    });
  });

  it('says that nothing is needed', async () => {
    const { stdout } = await rebalance({ tenants: [{ tenant: 1, bytes: 5 }], nodes: [{ node: 'a', bytes: 100 }] });
    expect(stdout).toBe('No tenant needs a shard of its own, and the nodes are in balance (100 B on average).\n');
  });

  it('prints the queries that measure, and refuses a file without sizes', async () => {
    const { stdout } = await cli(['sql', 'rebalance', '--table', 'orders', '--tenant', 'store_id'], { directory });
    expect(stdout).toContain('SELECT "store_id" AS tenant, sum(pg_column_size(t.*)) AS bytes FROM orders t GROUP BY 1');
    const wrong = await rebalance('{"tenants": []}');
    expect({ code: wrong.code, named: wrong.stderr.includes('sizes.json has no sizes') }).toEqual({
      code: 2,
      named: true,
    });
    expect((await rebalance('no')).code).toBe(2);
  });
});
