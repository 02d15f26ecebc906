// C7: keys that grow with time.
import type { SourceLine } from '../../model.ts';
import { aboutKeys, sharding } from './keys.ts';
import { examplesIn, valueAt } from '../facts.ts';
import { type Rule, DESIGN, together } from '../rule.ts';

export const GROWING_KEYS: readonly Rule[] = [
  {
    id: 'C7',
    title: 'The key doesn’t grow with time',
    severity: 'warning',
    source: 'the modelling prompt’s upstream template',
    why: 'If the first level of the key is a date, a time or a counter, all current writes go to one partition.',
    hint: 'Use another field as the first level, or add a shard suffix.',
    needs: [DESIGN],
    *check(facts) {
      const found: { name: string; key: string; at: SourceLine }[] = [];
      for (const detail of facts.containers) {
        const [first = ''] = detail.container.partitionKey;
        if (first === '') continue;
        const values = examplesIn(detail.container).map((example) => valueAt(example, first));
        const dated =
          /\/(date|day|month|year|hour|week|time|timestamp|created(At|On|Date)?|updatedAt|_ts|sequence|seq|number|counter)$/i.test(
            first,
          ) ||
          (values.length > 0 &&
            values.every((value) => typeof value === 'string' && /^\d{4}[-/]\d\d([-/]\d\d|$)/.test(value)));
        if (
          dated &&
          !sharding.test(
            aboutKeys(facts, detail)
              .map(({ text }) => text)
              .join(' '),
          )
        )
          found.push({
            name: detail.container.name,
            key: first,
            at: facts.place(detail, 'partitionKey'),
          });
      }
      const keys = [...new Set(found.map(({ key }) => key))].join(', ');
      yield* together(
        found,
        `${found.map(({ name }) => name).join(', ')}: the key ${keys} grows with time, so all current writes go to one partition`,
      );
    },
  },
];
