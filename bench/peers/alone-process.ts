// Ours, as Alone.java: counts changes, and prints how long they took from the first page to the last.
import { connect } from '../../src/cosmos/connect.ts';
import { ChangeFeedProcessor } from '../../src/feed/index.ts';
import { TIMINGS } from './timings.ts';

const [endpoint = '', key = '', instance = '', wanted = ''] = process.argv.slice(2);
const database = connect({ kind: 'key', endpoint, key }).database('bench');
let seen = 0;
let first: number | undefined;
const processor = new ChangeFeedProcessor({
  source: database.container('Orders'),
  leases: database.container('leases'),
  name: 'alone',
  instance,
  start: 'beginning',
  targetPageMs: 0,
  timings: TIMINGS,
  handler: (changes) => {
    first ??= performance.now();
    seen += changes.length;
    if (seen >= Number(wanted) && seen - changes.length < Number(wanted))
      console.log(Math.round(performance.now() - first));
  },
});
await processor.start();
