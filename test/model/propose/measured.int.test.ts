// The RU that a proposal states, against the charges of the embedded server: each pattern's operation is run on the
// containers of the proposal, with documents of the stated size and as many rows as the pattern has. The profile
// counts the bytes of a query's result and not its rows, so 100 documents of 0.2 KB cost 3.4 times the estimate.
import { CosmosClient } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Emulator, startEmulator } from '../../../src/emulator/index.ts';
import { needsOf } from '../../../src/model/propose/needs.ts';
import { propose } from '../../../src/model/propose/propose.ts';
import { rowsOf } from '../../../src/model/propose/design.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { type Shop, requirementsOf } from '../../../bench/designs/form.ts';
import { ORDERS, READINGS, USERS } from './shops.ts';

let emulator: Emulator;
let client: CosmosClient;
beforeAll(async () => {
  emulator = await startEmulator();
  client = new CosmosClient(emulator.clientOptions);
});
afterAll(async () => {
  client.dispose();
  await emulator.close();
});

describe.each(Object.entries({ ORDERS, READINGS, USERS }))('%s', (name, shop: Shop) => {
  test('the charges are those that the proposal states, within a factor of 4, and together within 2', async () => {
    const { needs } = needsOf(requirementsOf(shop), 'r.md');
    const design = parseDesign(propose(needs).design, 'm.md');
    const { database } = await client.databases.create({ id: name });
    let [stated, measured] = [0, 0];
    for (const { container, size } of design.containers) {
      const { partitionKey, indexingPolicy } = container;
      const definition = {
        id: container.name,
        partitionKey: { paths: [...partitionKey] },
        ...(indexingPolicy && { indexingPolicy }),
      };
      const { container: live } = await database.containers.create(
        definition as Parameters<typeof database.containers.create>[0],
      );
      const [example] = container.types[0]?.examples ?? [];
      const [field = 'id'] = partitionKey.map((path) => path.slice(1));
      const sized = (id: string) => {
        const doc: Record<string, unknown> = { ...example, id };
        const filler = Math.max(0, size.average - JSON.stringify(doc).length - 10);
        return { ...doc, filler: 'x'.repeat(filler) };
      };
      for (const row of design.mapping.filter(({ containers }) => containers.includes(container.name))) {
        const access = needs.accesses.find(({ id }) => row.ids.includes(id));
        const [operation] = row.operations;
        if (!access || row.ru === undefined || operation === undefined) continue;
        let charge = 0;
        const id = `${access.id}-0`;
        const { item, requestCharge } = await live.items.create(sized(id));
        const key = field === 'id' ? id : (example?.[field] as string);
        if (operation === 'create') charge = requestCharge;
        else if (operation === 'replace') charge = (await item.replace({ ...sized(id), cents: 7 })).requestCharge;
        else if (operation === 'point-read') charge = (await live.item(id, key).read()).requestCharge;
        else {
          const rows = rowsOf(needs, access);
          const found = row.queries[0]?.text ?? '';
          await Promise.all(
            Array.from({ length: rows }, (_, at) => live.items.create(sized(`${access.id}-row-${at}`))),
          );
          const parameters = access.by.map((by) => ({ name: `@${by}`, value: example?.[by] as string }));
          const iterator = live.items.query({ query: found, parameters });
          while (iterator.hasMoreResults()) charge += (await iterator.fetchNext()).requestCharge;
        }
        expect(charge / row.ru, `pattern ${row.printed}: ${charge} RU measured, ${row.ru} stated`).toBeGreaterThan(0.4);
        expect(charge / row.ru, `pattern ${row.printed}: ${charge} RU measured, ${row.ru} stated`).toBeLessThan(4);
        stated += access.average * row.ru;
        measured += access.average * charge;
      }
    }
    expect(measured).toBeGreaterThan(0);
    expect(measured / stated).toBeGreaterThan(0.5);
    expect(measured / stated).toBeLessThan(2);
  });
});
