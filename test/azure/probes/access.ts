import { ChangeFeedStartFrom, type Container, type CosmosClient } from '@azure/cosmos';
import { type Bench, NotProbed, type Probe, refusalOf, same, statusOf } from '../probe.ts';

const signedIn = ({ reader }: Bench): CosmosClient => {
  if (reader) return reader;
  throw new NotProbed('This target signs nobody in by role.');
};

async function asReader(bench: Bench): Promise<Container> {
  const { id, items } = await bench.container();
  await items.create({ id: '1', pk: 'a' });
  return signedIn(bench).database(bench.database.id).container(id);
}

export const access: readonly Probe[] = [
  {
    number: 'ASM-E48',
    asks: 'what a role doesn’t allow is 403/5301, and management by identity 403/5300',
    run: async (bench) => {
      const container = await asReader(bench);
      same(await refusalOf(container.items.create({ id: '2', pk: 'a' })), '403/5301', 'a create');
      const made = signedIn(bench)
        .database(bench.database.id)
        .containers.create({ id: 'by-identity', partitionKey: '/pk' });
      same(await refusalOf(made), '403/5300', 'a container by identity');
    },
  },
  {
    number: 'ASM-E49',
    asks: 'the built-in reader reads items, queries and the change feed, and writes nothing',
    run: async (bench) => {
      const container = await asReader(bench);
      same(await statusOf(container.item('1', 'a').read()), '200', 'a read');
      const { resources } = await container.items.query('SELECT VALUE c.id FROM c').fetchAll();
      same(resources, ['1'], 'a query');
      const changeFeedStartFrom = ChangeFeedStartFrom.Beginning();
      same(
        await statusOf(container.items.getChangeFeedIterator({ changeFeedStartFrom }).readNext()),
        '200',
        'the feed',
      );
      same(
        await refusalOf(container.item('1', 'a').patch([{ op: 'set', path: '/v', value: 1 }])),
        '403/5301',
        'a patch',
      );
    },
  },
  {
    number: 'ASM-A18',
    asks: 'removing a document that is not there asks for the right first: 403, not 404',
    run: async (bench) => {
      const container = await asReader(bench);
      same(await refusalOf(container.item('none', 'a').delete()), '403/5301', 'a delete without the right');
    },
  },
  {
    number: 'ASM-F14',
    asks: 'a role on the database is enough for a client, the read of the account included',
    run: async (bench) => {
      same(
        await statusOf(
          signedIn(bench)
            .getDatabaseAccount()
            .then(() => ({ statusCode: 200 })),
        ),
        '200',
        'the account',
      );
      same(await statusOf(signedIn(bench).database(bench.database.id).read()), '200', 'the database');
    },
  },
];
