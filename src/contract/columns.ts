// A row of the section "Change Feed Projections" against the code, column by column. `model check` reports each difference
// under the rule of its column; `model check --fix` writes such a row again.
import { misspeltOf } from '../base/near.ts';
import { parseDate } from '../pipeline/date.ts';
import { startOf } from '../pipeline/start.ts';
import type { ArchiveSpec, EmbedSpec, PublishSpec, SourceRef } from '../pipeline/specs.ts';
import type { ProjectionRow, Reference } from '../model/documents.ts';
import { bytesOf, duration, quantities } from '../model/reader/text/quantity.ts';
import type { Facts } from '../model/rules/facts.ts';
import { type RuleResult, n } from '../model/rules/rule.ts';
import { type ColumnRule, type Compared, type Contract, type Said, writing } from './declared.ts';
import { type DerivedPair, derivation, pairsOf, derivationPartsOf, unwritten } from './derivation.ts';
import { filters } from './filters.ts';
import { measured } from './measured.ts';
import { groupOf, isWhole, traceFunctions } from './trace.ts';

/** What is said, under the rule of its column. */
type Difference = Said & { readonly rule: ColumnRule };

/** All differences of one rule. */
export function* differencesOf(rule: ColumnRule, facts: Facts, contract: Contract): Iterable<RuleResult> {
  for (const { row, declared } of contract.matched(facts.rows))
    for (const { rule: own, ...result } of differences({ facts, contract, row, declared }))
      if (own === rule) yield result;
}

export function* differences(of: Compared): Iterable<Difference> {
  yield* kindSourceSink(of);
  yield* group(of);
  yield* measures(of);
  yield* deletes(of);
  yield* lag(of);
  yield* start(of);
  const { spec } = of.declared;
  if (spec.kind === 'archive') yield* archive(of, spec);
  yield* ruled('G16', words(of));
}

function* ruled(rule: ColumnRule, results: Iterable<Said>): Iterable<Difference> {
  for (const result of results) yield { ...result, rule };
}

/** Kinds for which a document may use another word. */
const SAME_KIND: Readonly<Record<string, string>> = { reference: 'copy', send: 'react', custom: 'react' };
const kindOf = (kind: string): string => kind.split(/[\s(,]/)[0]?.replace('denormalised', 'copy') ?? kind;

function* kindSourceSink({ contract, row, declared }: Compared): Iterable<Difference> {
  const say = (what: string, document: string, code: string, of?: SourceRef): Difference => ({
    rule: 'G1',
    message: `${row.name}: ${what} is ${document} in the document, but ${code} in the code`,
    at: row.at,
    related: [contract.at(declared, of?.container)],
  });
  const kind = kindOf(row.kind);
  if (kind !== '' && kind !== declared.kind && kind !== SAME_KIND[declared.kind])
    yield say('the kind', row.kind, declared.kind);
  const print = (of: Reference | undefined): string =>
    of ? `${of.container}${of.type === undefined ? '' : ` (${of.type})`}` : 'none';
  const differ = (a: Reference | undefined, b: SourceRef | undefined): boolean =>
    a !== undefined &&
    b !== undefined &&
    (a.container.toLowerCase() !== b.container.toLowerCase() || (a.type !== undefined && a.type !== b.type));
  if (differ(row.source, declared.from))
    yield say('the source', print(row.source), print(declared.from), declared.from);
  if (differ(row.sink, declared.into)) yield say('the sink', print(row.sink), print(declared.into), declared.into);
  if (row.sink === undefined && declared.into && row.kind !== 'embed')
    yield say('the sink', row.sinkText || 'none', print(declared.into), declared.into);
  if (declared.kind !== 'copy') return;
  const key = (of: Reference): string => `${of.container} ${of.type ?? ''}`;
  const [ours, theirs] = [new Set(row.joins.map(key)), new Set(declared.joins.map(key))];
  for (const of of declared.joins)
    if (!ours.has(key(of)) && !ours.has(`${of.container} `))
      yield say(`the join of ${print(of)}`, 'absent', 'declared', of);
  for (const of of row.joins)
    if (!theirs.has(key(of)) && of.type !== undefined) yield say(`the join of ${print(of)}`, 'stated', 'absent');
}

function* group({ facts, contract, row, declared }: Compared): Iterable<Difference> {
  if (declared.spec.kind !== 'aggregate' || !contract.pipeline || !facts.design) return;
  const { runs } = traceFunctions(declared.spec, facts.design.model, contract.pipeline);
  const code = groupOf(declared.spec, runs);
  const wrong = code.filter((field) => !row.keys.includes(field));
  const differ = wrong.length > 0 || row.keys.some((field) => !code.includes(field));
  if (runs.length > 0 && differ)
    yield {
      rule: 'G5',
      message: `${row.name} groups by ${row.keys.join(', ')} in the document, but by ${code.join(', ')} in the code`,
      at: row.at,
      related: [contract.at(declared, 'groupBy')],
      ...meant(
        wrong,
        row.keys.filter((name) => !code.includes(name)),
      ),
    };
}

/** A misspelt name is corrected before anything else is thought of. */
function meant(wrong: readonly string[], right: readonly string[]): Pick<Said, 'hint'> {
  const found = misspeltOf(wrong, right);
  if (!found) return {};
  return { hint: `Correct the name: it is ${found.name} in the code, and ${found.meant} in the document.` };
}

function* measures({ facts, contract, row, declared }: Compared): Iterable<Difference> {
  if (declared.spec.kind !== 'aggregate' || row.kind !== 'aggregate') return;
  const code = declared.spec.measures;
  const like = row.as === undefined ? row : (facts.rows.find(({ name }) => name === row.as) ?? row);
  const unsaid = Object.keys(code).filter((name) => !like.measures.some(({ field }) => field === name));
  for (const { field, kind } of like.measures) {
    const measure = code[field];
    if (field !== '' && !measure)
      yield {
        rule: 'G2',
        message: `${row.name}: measure ${field} is in the document, but not in the code`,
        at: row.at,
        related: [contract.at(declared, 'measures')],
        ...meant(unsaid, [field]),
      };
    else if (measure && kind !== undefined && kind !== measure.kind)
      yield {
        rule: 'G2',
        message: `${row.name}: ${field} is ${kind} in the document, but ${measure.kind} in the code`,
        at: row.at,
        related: [contract.at(declared, field, writing(declared))],
      };
  }
  if (like.measures.length === 0) return;
  for (const field of Object.keys(code))
    if (!like.measures.some((measure) => measure.field === field || measure.field === ''))
      yield {
        rule: 'G2',
        message: `${row.name}: measure ${field} is in the code, but not in the document`,
        at: contract.at(declared, field, 'measures'),
        related: [row.at],
        ...meant(
          [field],
          like.measures.map((measure) => measure.field).filter((name) => !code[name]),
        ),
      };
}

function* deletes({ contract, row, declared }: Compared): Iterable<Difference> {
  // What left for an archive or an event hub stays there.
  const left = declared.kind === 'archive' || declared.kind === 'publish';
  const effect = left ? 'keep' : declared.onDelete;
  const keeps = /\bkeep|\bstay|\bnothing|\bignore|保留/i.test(row.deletes);
  if (row.deletes === '' || !effect || keeps === (effect === 'keep')) return;
  yield {
    rule: 'G7',
    message: `${row.name}: a delete is "${row.deletes}" in the document, but ${left ? `a${declared.kind === 'archive' ? 'n archive' : ' publish'} keeps what it wrote` : `${effect} in the code`}`,
    at: row.at,
    related: [contract.at(declared, 'onDelete')],
    hint: left ? 'Write "keep" under Deletes.' : 'Correct the column Deletes, or `onDelete` in the code.',
  };
}

function* lag({ contract, row, declared }: Compared): Iterable<Difference> {
  if (row.lagMs === undefined) return;
  if (declared.maxLag !== undefined && duration(declared.maxLag) !== row.lagMs)
    yield {
      rule: 'G10',
      message: `${row.name}: the max lag is ${row.lagText} in the document, but ${declared.maxLag} in the code`,
      hint: 'Correct the document or the code.',
      words: row.lagText,
      at: row.at,
      related: [contract.at(declared, 'maxLag')],
    };
  if (declared.maxLag === undefined && (declared.kind === 'copy' || declared.kind === 'aggregate'))
    yield {
      rule: 'G10',
      severity: 'warning',
      message: `${row.name}: the document states a max lag of ${row.lagText}, but the code states none`,
      at: declared.at,
      related: [row.at],
    };
}

/** `backfill` and `beginning` are one start; a time is compared as a time. Other words aren't read. */
export const startIn = (text: string): string | undefined => {
  const [word = ''] = text
    .replaceAll('`', '')
    .trim()
    .split(/[\s,;]/);
  if (/^(backfill|beginning)$/i.test(word)) return 'beginning';
  if (/^now$/i.test(word)) return 'now';
  const time = parseDate(word);
  return time === undefined ? undefined : new Date(time).toISOString();
};

function* start({ contract, row, declared }: Compared): Iterable<Difference> {
  const [stated, code] = [startIn(row.start), startOf(declared.spec)];
  if (stated === undefined || stated === startIn(code)) return;
  yield {
    rule: 'G1',
    message: `${row.name}: the start is ${row.start} in the document, but ${code} in the code`,
    at: row.at,
    words: row.start,
    related: [contract.at(declared, 'start')],
  };
}

const DAY = 86_400_000;
/** The part of the cell that says how long archived documents are kept: `kept for 3650 d`. */
const KEPT = /\b(kept|keeps?|retained) for\b[^;]*/i;

/** When documents leave for the archive, as `400 d after placedAt; larger than 100 KB; kept for 3650 d` says. */
export const archivedIn = ({ fieldsText }: ProjectionRow) => ({
  after: duration(fieldsText.replace(KEPT, '')),
  before: /\d{4}[-/]\d\d[-/]\d\d/.exec(fieldsText)?.[0],
  size: quantities(/\b(larger|bigger|more) than [^;,]*|\b(over|above) [^;,]*/i.exec(fieldsText)?.[0] ?? '')
    .map(bytesOf)
    .find((bytes) => bytes !== undefined),
  kept: duration(KEPT.exec(fieldsText)?.[0] ?? ''),
});

function* archive({ contract, row, declared }: Compared, spec: ArchiveSpec): Iterable<Difference> {
  const { name, rule, dateField, largerThan, keep } = spec;
  const say = (message: string, word: string, hint?: string): Difference => ({
    rule: 'G9',
    message: `${row.name} ${message}`,
    at: row.at,
    related: [word === name ? declared.at : contract.at(declared, word)],
    ...(hint !== undefined && { hint }),
  });
  const { after, before, size, kept } = archivedIn(row);
  if (!new RegExp(String.raw`\b${dateField}\b`).test(`${row.fieldsText} ${row.keyText} ${row.sourceText}`))
    yield say(
      `uses the date ${dateField} in the code, but the document doesn't name it`,
      dateField,
      `Write \`after ${dateField}\` under *Fields / measures*, or change \`date\` in the code.`,
    );
  const dates = [
    /\bof `?([\p{L}_]\w*)/u.exec(row.keyText)?.[1],
    /\bafter `?([\p{L}_]\w*)/u.exec(row.fieldsText)?.[1] ?? /([\p{L}_]\w{0,99})`? before\b/u.exec(row.fieldsText)?.[1],
    /\) with `?([\p{L}_]\w*)`?\s*$/u.exec(row.sourceText)?.[1],
  ];
  const other = dates.find((date) => date !== undefined && date !== dateField);
  if (other !== undefined)
    yield say(`takes the date ${other} in the document, but ${dateField} in the code`, dateField);
  const blobs = /\bblobs?:\s*`?([\w-]+)/i.exec(row.sinkText)?.[1];
  if (blobs !== undefined && blobs !== name)
    yield say(`writes the blobs ${blobs} in the document, but the archive's name is ${name}`, name);
  if (rule.kind !== 'always') {
    const [stated, ms] = rule.kind === 'after' ? [after, after] : [before, before && parseDate(before)];
    if (stated === undefined)
      yield say(`archives ${rule.kind} ${rule.text} in the code, but the document has another rule`, rule.kind);
    else if (ms !== rule.ms)
      yield say(
        `archives ${rule.kind} ${typeof stated === 'number' ? `${n(stated / DAY)} d` : stated} in the document, but ${rule.kind} ${rule.text} in the code`,
        rule.kind,
      );
  }
  if (size !== largerThan?.bytes)
    yield say(
      `archives ${size === undefined ? 'documents of any size' : `what is larger than ${n(size)} bytes`} in the document, but ${largerThan ? `what is larger than ${largerThan.text}` : 'documents of any size'} in the code`,
      'largerThan',
    );
  if (kept !== keep?.ms)
    yield say(
      `keeps archived documents ${kept === undefined ? 'for good' : `for ${n(kept / DAY)} d`} in the document, but ${keep ? `for ${keep.text}` : 'for good'} in the code`,
      'keep',
    );
}

/** What the cells say in words. */
function* words(of: Compared): Iterable<Said> {
  const { facts, contract, declared } = of;
  const { spec } = declared;
  if (!contract.pipeline || !facts.design) return;
  yield* filters(of);
  if (spec.kind === 'embed') yield* embedded(of, spec);
  else if (spec.kind === 'publish') yield* events(of, spec);
  else if (isWhole(declared)) {
    // The keys of reference data never change.
    if (spec.kind !== 'reference') yield* stability(of, declared.spec.stable);
    yield* derivation(of, declared.spec, traceFunctions(declared.spec, facts.design.model, contract.pipeline));
    if (spec.kind === 'aggregate') yield* measured(of, spec, contract.pipeline);
  }
}

/** Without a locator a write costs less, and a key that changes leaves the old document behind. */
function* stability({ contract, row, declared }: Compared, code: boolean): Iterable<Said> {
  const stated = /\bstable\b/i.test(row.keyText);
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

/** What consumers of events rely on: the partition key, the type and the version. */
function* events({ facts, contract, row, declared }: Compared, spec: PublishSpec): Iterable<Said> {
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

/** An embed's fields, and the fields by which it finds a child's parent. */
function* embedded(of: Compared, spec: EmbedSpec): Iterable<Said> {
  const { contract, row, declared } = of;
  yield* unwritten(of, new Set(Object.keys(spec.set)));
  const pairs = pairsOf(row.keyText);
  if (pairs.length === 0 || pairs.length < derivationPartsOf(row.keyText).length) return;
  const on = [...Object.entries(spec.on), ...Object.entries(spec.each?.on ?? {})];
  // Both directions are written: the child's field first, or the parent's.
  const agrees = ({ to, from }: DerivedPair, [theirs, ours]: readonly [string, string]): boolean =>
    (to === ours && from === theirs) || (to === theirs && from === ours);
  const isSame =
    pairs.every((pair) => on.some((one) => agrees(pair, one))) &&
    on.every((one) => pairs.some((pair) => agrees(pair, one)));
  if (isSame) return;
  const stated = pairs.map(({ to, from }) => `${to} = ${from}`);
  const code = on.map(([theirs, ours]) => `${ours} = ${theirs}`);
  yield {
    message: `${row.name} finds a parent by ${stated.join(', ')} in the document, but by ${code.join(', ')} in the code`,
    at: row.at,
    related: [contract.at(declared, spec.each ? 'onEach' : 'on')],
  };
}
