// Two hosts with clients of their own, so that neither's session makes the other's reads fresh.
import type { CosmosClient, Database } from '@azure/cosmos';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { connect } from '../../src/cosmos/connect.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import { type SourceContainer, toChange } from '../../src/feed/reading/mapper.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import { UNFENCED } from './history.ts';

export interface TwoHosts extends AsyncDisposable {
  readonly emulator: Emulator;
  /** The application's. */
  readonly database: Database;
  /** The access of host 0 or 1. */
  access(host: 0 | 1): CosmosAccess;
  /** Writes a document as the application does, and gives it as its feed would tell of it. */
  write(source: SourceContainer, doc: Doc & { readonly id: string }): Promise<Change>;
  read(container: string, id: string, key: string): Promise<Doc | undefined>;
}

export async function openTwoHosts(containers: Readonly<Record<string, string>>): Promise<TwoHosts> {
  const emulator = await startEmulator();
  const account = { kind: 'key', endpoint: emulator.endpoint, key: emulator.key } as const;
  const { httpClient } = emulator.clientOptions;
  const clients = [1, 2, 3].map(() => connect(account, [], { httpClient }));
  const [application, ...hosts] = clients as [CosmosClient, CosmosClient, CosmosClient];
  await application.databases.create({ id: 'two-hosts' });
  const database = application.database('two-hosts');
  for (const [id, path] of Object.entries({ ...containers, millrace: '/pk' }))
    await database.containers.create({ id, partitionKey: { paths: [path] }, defaultTtl: -1 });
  let lsn = 0;
  return {
    emulator,
    database,
    access: (host) => new CosmosAccess((hosts[host] ?? application).database('two-hosts'), UNFENCED, new Meter()),
    write: async (source, doc) => {
      const { resource } = await database.container(source.name).items.upsert<Doc>(doc);
      lsn += 1;
      const change = toChange(source, { ...resource, _lsn: lsn }, 1);
      if (!change) throw new Error(`${source.name} has no such type`);
      return change;
    },
    read: async (container, id, key) => (await database.container(container).item(id, key).read<Doc>()).resource,
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) client.dispose();
      await emulator.close();
    },
  };
}
