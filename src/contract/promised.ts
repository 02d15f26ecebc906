// G16: what a row promises beside fields and filters: that keys never change, every field, and the form of events.
import type { ProjectionRow } from '../model/documents.ts';
import type { Facts } from '../model/rules/facts.ts';
import type { RuleResult } from '../model/rules/rule.ts';
import type { PublishSpec } from '../definition/specs.ts';
import { type Contract, type Declared, writing } from './declared.ts';
import type { Trace, Whole } from './trace.ts';

/** Without a locator a write costs less, and a key that changes leaves the old document behind. */
export function* stability(
  contract: Contract,
  row: ProjectionRow,
  declared: Declared & { spec: Whole },
): Iterable<RuleResult> {
  const [stated, code] = [/\bstable\b/i.test(row.keyText), declared.spec.stable];
  if (stated === code) return;
  yield {
    ...(code && { severity: 'warning' }),
    message: stated
      ? `${row.name} has stable keys in the document, but the code doesn't declare \`stable\``
      : `${row.name} declares \`stable\` in the code, but the document doesn't say that its keys never change`,
    at: row.at,
    related: [contract.at(declared, 'stable')],
    hint: stated
      ? 'Add `stable: true`: without it each row has a locator, which costs RU.'
      : 'Write "; stable" behind the key mapping.',
  };
}

const EVERYTHING = /\b(all|everything|same|whole|full|every)\b/i;

/** Every field that the code writes is among the row's, if the row lists fields and nothing else. */
export function* unlisted(
  contract: Contract,
  row: ProjectionRow,
  declared: Declared & { spec: Whole },
  { runs }: Trace,
): Iterable<RuleResult> {
  const parts = row.fieldsText
    .replaceAll('`', '')
    .split(/[;,]/)
    .filter((part) => part.trim() !== '');
  const listed = parts.map((part) => /^\s*(?:[\p{L}_][\w.]*\s*(?:→|->|=>)\s*)?([\p{L}_]\w*)\s*$/u.exec(part)?.[1]);
  if (listed.length === 0 || listed.includes(undefined) || EVERYTHING.test(row.fieldsText)) return;
  const known = new Set([...listed, ...row.keys, 'id', 'type', 'ttl']);
  const more = new Set(runs.flatMap(({ output }) => Object.keys(output)).filter((field) => !known.has(field)));
  if (more.size > 0)
    yield {
      severity: 'warning',
      message: `${row.name} writes ${[...more].join(', ')} in the code, but the document's list of its fields doesn't have ${more.size === 1 ? 'it' : 'them'}`,
      at: row.at,
      related: [contract.at(declared, [...more][0], writing(declared))],
    };
}

/** What consumers of events rely on: the partition key, the type and the version. */
export function* events(
  facts: Facts,
  contract: Contract,
  row: ProjectionRow,
  declared: Declared,
  spec: PublishSpec,
): Iterable<RuleResult> {
  const key =
    facts.detail(spec.from.container)?.container.partitionKey.map((path) => path.split('/').at(-1) ?? '') ?? [];
  const ordered = row.keys.length > 0 && spec.order === 'partitionKey' && key.length > 0;
  if (ordered && row.keys.join(' ') !== key.join(' '))
    yield {
      message: `${row.name} orders events by ${row.keys.join(', ')} in the document, but the code by the key of ${spec.from.container}, ${key.join(', ')}`,
      at: row.at,
      related: [contract.at(declared, 'order')],
    };
  const stated = [
    ['type', /\btype `?([\w-]+(?:\.[\w-]+)+)/.exec(row.fieldsText)?.[1], spec.type],
    ['version', /\bversion `?(\d[\w.]*)/.exec(row.fieldsText)?.[1], spec.schemaVersion],
  ] as const;
  for (const [what, document, code] of stated)
    if (document !== undefined && document !== code)
      yield {
        message: `${row.name} publishes events of ${what} ${document} in the document, but of ${code ?? `no ${what}`} in the code`,
        at: row.at,
        related: [contract.at(declared, what === 'type' ? 'type' : 'schemaVersion')],
      };
}
