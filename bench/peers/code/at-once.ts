import pMap from 'p-map';
import type { Order } from '../order.ts';
import { type Count, countPlainly, derive } from './derive.ts';

export const atOnce = (batch: readonly Order[], count: Count): Promise<unknown> =>
  pMap(
    batch,
    async (order) => {
      try {
        await derive(order, count);
      } catch (error) {
        console.error(order.id, error);
      }
    },
    { concurrency: 32 },
  );

export const handler = (batch: readonly Order[]): Promise<unknown> => atOnce(batch, countPlainly);
