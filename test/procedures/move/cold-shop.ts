// A shop over the shards `north` and `west` whose hosts archive, with the keys `s0` and `s1` in the map.
import { BlobServiceClient } from '@azure/storage-blob';
import { type TestContext, expect, vi } from 'vitest';
import { AzureBlobStore } from '../../../src/archive/blobs/azure-blob-store.ts';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import { cli } from '../../cli/cli.ts';
import { given } from '../../runtime/spread-world.ts';
import type { Azurite } from '../../support/azurite.ts';

export interface Places<T> {
  readonly code: number;
  readonly places: readonly { readonly place: string; readonly ok: boolean; readonly value: T }[];
}

let used = 0;

export async function coldShop(
  context: Pick<TestContext, 'onTestFinished'>,
  { connectionString }: Azurite,
  folder: string,
) {
  const STORAGE_CONTAINER = `cold-shop-${(used += 1)}`;
  const { signal } = new AbortController();
  const storage = { account: { kind: 'key', connectionString }, container: STORAGE_CONTAINER } as const;
  const world = await given(context, ['north', 'west'], { folder, storage });
  const { stage } = world;
  const { map } = stage;
  for (const [name, value] of Object.entries({ ...stage.env, STORAGE: connectionString, STORAGE_CONTAINER }))
    vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const run = (...args: string[]) => cli([...args, '--pipeline', folder, '--json']);
  const millrace = async <T>(...args: string[]): Promise<Places<T>> => {
    const { code, stdout, stderr } = await run(...args);
    expect(stderr).not.toMatch(/It failed here/);
    return { code, ...(JSON.parse(stdout) as Omit<Places<T>, 'code'>) };
  };
  await cli(['model', 'apply', '--pipeline', folder]);
  const shards = await map.shards();
  const shardOf = (name: string) => shards.find(({ location }) => location.database === name)!;
  await map.createMapping({ shard: shardOf('north'), key: 's0' });
  await map.createMapping({ shard: shardOf('west'), key: 's1' });
  const blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(STORAGE_CONTAINER);
  const move = async (key: string, to: string) =>
    moveMapping(
      {
        map,
        maps: stage.at('maps', 'shardmaps'),
        connect: ({ database }) => stage.at(database, 'Orders').database,
        endpointOf: () => stage.emulator.endpoint,
        stateContainer: 'millrace',
        leases: stage.services.global.leases,
        archives: ['Orders'],
        store: async () => new AzureBlobStore(blobs, { signal }),
        signal,
        readLagMs: 0,
        graceMs: 100,
        // The pause is not what this is about.
        holdMs: 30_000,
      },
      await map.mapping(key),
      shardOf(to),
    );
  return { ...world, signal, blobs, run, millrace, shardOf, move };
}
