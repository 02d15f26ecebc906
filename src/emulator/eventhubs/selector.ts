import { first } from '../search.ts';
import type { PartitionLog, StoredEvent } from './partition-log.ts';
import { AmqpRefusal } from './refusal.ts';

const FORM = /^amqp\.annotation\.x-opt-(offset|sequence-number|enqueued-time) (>=?) '(@latest|-?\d+)'$/;

/**
 * Index of the first event that passes a consumer's filter; `log.events.length` if no stored event does. Without a filter
 * it is the first event.
 * @throws AmqpRefusal if the filter has another form, or names a position beyond the end (ASM-H62)
 */
export function hubStartOf(log: PartitionLog, filter: string | undefined): number {
  if (filter === undefined) return 0;
  const [, field, comparison, value = ''] = FORM.exec(filter) ?? [];
  if (field === undefined)
    throw new AmqpRefusal('com.microsoft:argument-error', `The filter ${filter} is not supported.`);
  if (value === '@latest') return log.events.length;
  const wanted = Number(value);
  const last = field === 'offset' ? (log.last?.offset ?? '-1') : String(log.last?.sequence ?? -1);
  if (field !== 'enqueued-time' && wanted > Number(last)) {
    const what = field === 'offset' ? 'offset' : 'sequence number';
    const why = `The supplied ${what} '${value}' is invalid. The last ${what} in the system is '${last}'`;
    throw new AmqpRefusal('com.microsoft:argument-error', why);
  }
  const of = (event: StoredEvent): number =>
    field === 'offset' ? Number(event.offset) : field === 'sequence-number' ? event.sequence : event.enqueuedAt;
  // All three ascend with the index.
  return first(log.events.length, (at) => {
    const found = of(log.events[at]!);
    return found > wanted || (comparison === '>=' && found === wanted);
  });
}
