import { first } from '../search.ts';
import type { PartitionLog, StoredEvent } from './partition-log.ts';
import { AmqpRefusal } from './refusal.ts';

const FORM = /^amqp\.annotation\.x-opt-(offset|sequence-number|enqueued-time) (>=?) '(@latest|-?\d+)'$/;

/**
 * Index of the first event that a consumer's filter lets through, `log.events.length` where that one is yet to come.
 * Without a filter it is the first there is.
 */
export function startOf(log: PartitionLog, filter: string | undefined): number {
  if (filter === undefined) return 0;
  const [, field, comparison, value = ''] = FORM.exec(filter) ?? [];
  if (field === undefined)
    throw new AmqpRefusal('com.microsoft:argument-error', `The filter ${filter} can't be understood.`);
  if (value === '@latest') return log.events.length;
  const wanted = Number(value);
  const of = (event: StoredEvent): number =>
    field === 'offset' ? Number(event.offset) : field === 'sequence-number' ? event.sequence : event.enqueuedAt;
  // All three rise with the index.
  return first(log.events.length, (at) => {
    const found = of(log.events[at]!);
    return found > wanted || (comparison === '>=' && found === wanted);
  });
}
