// Hands a container's changes to a function as the Cosmos DB trigger of Azure Functions does: pages of at most 100, one at
// a time for each lease, a checkpoint after each, and on past a page whose function threw (ASM-F1).
import { ChangeFeedProcessor } from '../../src/feed/index.ts';
import { connect } from '../../src/cosmos/connect.ts';
import { TIMINGS } from './timings.ts';
import type { Order } from './order.ts';

const [endpoint = '', key = '', code = ''] = process.argv.slice(2);
const { handler } = (await import(code)) as { handler: (batch: readonly Order[]) => Promise<unknown> };
const database = connect({ kind: 'key', endpoint, key }).database('bench');
const processor = new ChangeFeedProcessor<Order>({
  source: database.container('Orders'),
  leases: database.container('leases'),
  name: 'trigger',
  instance: 'peer',
  start: 'beginning',
  maxItems: 100,
  targetPageMs: 0,
  timings: TIMINGS,
  handler: async (changes) => {
    try {
      await handler(changes.map(({ doc }) => doc));
    } catch (error) {
      console.error(error);
    }
  },
});
await processor.start();
