// One host of B7 in a process of its own. A page counts as handled once the parent has said so: what a killed host told
// nobody was not done.
import { connect } from '../src/cosmos/connect.ts';
import { openHost } from './support/host.ts';

const [endpoint = '', key = '', name = '', prefix = '', timings = '{}'] = process.argv.slice(2);
const client = connect({ kind: 'key', endpoint, key });
const database = client.database('bench');
let page = 0;
/** By page, who waits for the parent's answer: answers may come several in one turn. */
const answered = new Map<number, () => void>();
process.on('message', (number: number) => answered.get(number)?.());
const host = await openHost({
  source: database.container('Source'),
  leases: database.container('leases'),
  name,
  prefix,
  pageSize: 20,
  timings: JSON.parse(timings) as object,
  handle: async ({ changes }, _fence, { token }) => {
    const number = (page += 1);
    const told = new Promise<void>((resolve) => answered.set(number, resolve));
    process.send?.({ name, page: number, lease: token, ids: changes.map(({ id }) => id) });
    await told;
    answered.delete(number);
  },
});
process.on('disconnect', () => process.exit(0));
await host.processor.start();
process.send?.({ name, page: 0, ids: [] });
