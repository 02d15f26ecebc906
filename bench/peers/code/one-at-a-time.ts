import type { Order } from '../order.ts';
import { countPlainly, derive } from './derive.ts';

export async function handler(batch: readonly Order[]): Promise<void> {
  for (const order of batch) {
    try {
      await derive(order, countPlainly);
    } catch (error) {
      console.error(order.id, error);
    }
  }
}
