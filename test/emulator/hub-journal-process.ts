// Run as its own process by the test of a full disk: stores batches until the disk takes no more, then smaller ones, and
// tells how many events were stored and what it was refused with.
import { Journal } from '../../src/emulator/eventhubs/journal.ts';
import { Namespace } from '../../src/emulator/eventhubs/namespace.ts';

const journal = new Journal(process.argv[2]!);
const [log] = new Namespace().add('orders', { partitions: 1 }).partitions;
let stored = 0;
let refusal = '';
for (const bytes of [5000, 10]) {
  try {
    for (;;) {
      journal.write('orders', log!, [{ message: Buffer.alloc(bytes), partitionKey: undefined }], 0);
      stored++;
    }
  } catch (error) {
    refusal = `${(error as { condition?: string }).condition}: ${(error as Error).message}`;
  }
}
journal.close();
process.stdout.write(JSON.stringify({ stored, refusal }));
