// C7: keys that grow with time.
import type { Place } from '../model.ts';
import { aboutKeys, sharding } from './c-keys.ts';
import { examplesIn, valueAt } from './facts.ts';
import { type Rule, DESIGN, together } from './rule.ts';
import { linesSaying } from './said.ts';

/** "with value = `YYYY-MM`" beside the key. */
const DATE_AS_KEY = /\bYYYY[-/]?MM\b/;
/** `north|2026-01`: a time behind a word. */
const BINNED = /^[A-Za-z][A-Za-z ]*[|:_#-]\d{4}-?\d\d/;
/** `{region}|{year-month}` in the text: what stands before the time has few values. */
const FEW_AND_TIME =
  /\b(?:region|country|site|zone|status|state|type|category|environment|channel|source|market|team|department)\}?\s*[|:_#+-]\s*\{?(?:year[-_]?month|yyyy[-/]?mm|month|date|day|year|week|hour)\b/i;
const NO_LINES = { lines: [] };

export const GROWING_KEYS: readonly Rule[] = [
  {
    id: 'C7',
    title: 'The key doesn’t grow with time',
    severity: 'warning',
    source: 'the modelling prompt’s upstream template',
    why: 'If the first level of the key is a date, a time or a counter, all current writes go to one partition. A string of a region and a month isn’t better: all current writes of the region go to one partition.',
    hint: 'Use another field as the first level, or add a shard suffix.',
    needs: [DESIGN],
    *check(facts) {
      const found: { name: string; key: string; at: Place; further: Place[] }[] = [];
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
        const told = linesSaying(facts.design ?? NO_LINES, DATE_AS_KEY).find(([, text]) =>
          // A row of a table says it in the cell of the key; another cell may be of the id.
          text.trimStart().startsWith('|')
            ? text.split('|').some((cell) => cell.includes(first) && DATE_AS_KEY.test(cell))
            : text.includes(first) && /\b(?:key|pk|partition\w*)\b/i.test(text),
        );
        const binned = values.length > 0 && values.every((value) => typeof value === 'string' && BINNED.test(value));
        const bins = binned && facts.design ? linesSaying(facts.design, FEW_AND_TIME) : [];
        if (
          (dated || told || bins.length > 0) &&
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
            further: [...(told ? [told] : []), ...bins].map(([line]) => ({ ...detail.container.at, line })),
          });
      }
      const keys = [...new Set(found.map(({ key }) => key))].join(', ');
      yield* together(
        found,
        `${found.map(({ name }) => name).join(', ')}: the key ${keys} grows with time, so all current writes go to one partition, or to one for each value beside the time`,
        found.flatMap(({ further }) => further),
      );
    },
  },
];
