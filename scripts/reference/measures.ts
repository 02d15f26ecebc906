// docs/reference/measures.md: every measure with its call and its value, which the oracle computes, and every window.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Doc } from '../../src/pipeline/specs.ts';
import { type WindowUnit, timeWindow } from '../../src/pipeline/time-window.ts';
import { recompute } from '../../src/pipeline/oracle/recompute.ts';
import { docOf, membersOf } from './declarations.ts';
import pipeline from './examples/measures.ts';
import { code, table, written } from './text.ts';

const EXAMPLE = readFileSync(join(import.meta.dirname, 'examples/measures.ts'), 'utf8');
const MEASURES = 'src/pipeline/builders/measures.ts';

const order = (id: string, customerId: string, placedAt: string, cents: number): Doc => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId,
  placedAt,
  cents,
});
/** The third was placed on the 2nd in UTC, and on the 3rd in Berlin. */
const ORDERS = [
  order('o1', 'anna', '2026-06-03T08:00:00Z', 900),
  order('o2', 'anna', '2026-06-03T09:30:00Z', 7000),
  order('o3', 'ben', '2026-06-02T22:15:00Z', 2600),
];

/** A moment in the hour that occurs twice in Berlin, its first time and its second. */
const MOMENTS = ['2026-06-03T22:30:00Z', '2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2027-01-02T12:00:00Z'];
const UNITS: readonly WindowUnit[] = ['hour', 'day', 'week', 'month', 'year'];
const ZONE = 'Europe/Berlin';

export function measuresPage(): string {
  const [spec] = pipeline.projections;
  if (spec?.kind !== 'aggregate') throw new Error('examples/measures.ts declares no aggregate');
  const groups = [...recompute(spec, () => ORDERS, []).values()];
  const [group] = groups;
  if (!group || groups.length > 1) throw new Error('the orders of the example are not one group');
  return `${written('src/pipeline and scripts/reference/examples')}# Measures and windows

An [aggregate](kinds.md#aggregate) has one document for each group. \`groupBy\` names the group, and each field of \`measures\` says what is counted. How they stay exact: [SPEC-aggregates](../SPEC-aggregates.md).

\`\`\`ts
${EXAMPLE}\`\`\`

Of these three orders

\`\`\`json
${ORDERS.map((one) => JSON.stringify(one)).join('\n')}
\`\`\`

it makes one document. The third order was placed on 2 June in UTC, and on 3 June in Berlin.

\`\`\`json
${JSON.stringify(group, null, 2)}
\`\`\`

## Every measure
${docOf(MEASURES, 'Measures')}

${table(['measure', 'called as', 'here', 'meaning'], measureRows(group))}
A field of \`measures\` is a field of the sink's type, so the compiler checks it: \`top\` needs a list of what \`keep\` returns, \`histogram\` needs \`number[]\`, with one number more than there are bounds.

## Several rows of one document
\`each\` makes several rows of a document, and each counts in its group: the lines of an order by product. \`groupBy\` and the measures then take a line, and \`groupBy\` gets the order too. \`examples/storefront/pipeline.ts\` has it (\`product-days\`), and an aggregate of an aggregate (\`store-months\`).

## Windows
${docOf('src/pipeline/time-window.ts', 'timeWindow')}

${table(
  ['moment', ...UNITS.map((unit) => code(`timeWindow(at, '${unit}', '${ZONE}')`))],
  MOMENTS.map((at) => [code(at), ...UNITS.map((unit) => code(timeWindow(at, unit, ZONE)))]),
)}
Without a zone it is UTC: \`timeWindow('${MOMENTS[0]}', 'hour')\` is \`${timeWindow(MOMENTS[0]!, 'hour')}\`. The second and the third moment lie in the hour that Berlin has twice.
`;
}

function measureRows(group: Doc): string[][] {
  const calls = new Map(
    [...EXAMPLE.matchAll(/^ {8}(\w+): \(q\) =>\s+(q\.(\w+)\([^]*?\)),$(?=\n {6}\}|\n {8}\w)/gm)].map(
      ([, field = '', call = '', measure = '']) => [measure, { field, call: onOneLine(call) }],
    ),
  );
  return membersOf('Measures', [MEASURES]).map(({ name, doc }) => {
    const used = calls.get(name);
    if (!used) throw new Error(`examples/measures.ts doesn't call ${name}`);
    if (doc === '') throw new Error(`${MEASURES}: ${name} has no docstring`);
    return [code(name), code(used.call), code(JSON.stringify(group[used.field])), doc];
  });
}

const onOneLine = (call: string): string => call.replaceAll(/\s+/g, ' ').replaceAll('( ', '(').replaceAll(', )', ')');
