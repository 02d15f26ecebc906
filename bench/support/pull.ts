import { ChangeFeedStartFrom, type Container } from '@azure/cosmos';

/** The yardstick: a whole feed by the SDK's own iterator, to its first 304. Throws where it wasn't `documents` long. */
export async function pull(source: Container, documents: number): Promise<void> {
  const iterator = source.items.getChangeFeedIterator({
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    maxItemCount: 1_000,
  });
  for (let read = 0; ;) {
    const { statusCode, count } = await iterator.readNext();
    if (statusCode === 304) {
      if (read !== documents) throw new Error(`Pulled ${read} documents instead of ${documents}`);
      return;
    }
    read += count;
  }
}
