// G8 and G9: rules for aggregates and archives only.
import { bytesOf, duration, quantities } from '../model/reader/quantity.ts';
import type { Facts } from '../model/rules/facts.ts';
import { type Rule, type RuleResult, SOURCES, missing, n } from '../model/rules/rule.ts';
import { parseDate } from '../definition/date.ts';
import { examplesOf } from '../model/model.ts';
import type { ArchiveSpec } from '../definition/specs.ts';
import type { ProjectionRow } from '../model/documents.ts';
import type { Contract, Declared } from './declared.ts';

const DAY = 86_400_000;
/** The part of the cell that says how long archived documents are kept: `kept for 3650 d`. */
const KEPT = /\b(kept|keeps?|retained) for\b[^;]*/i;

/** The size above which documents are archived: `larger than 100 KB`. */
const sizeIn = (text: string): number | undefined =>
  quantities(/\b(larger|bigger|more) than [^;,]*|\b(over|above) [^;,]*/i.exec(text)?.[0] ?? '')
    .map(bytesOf)
    .find((size) => size !== undefined);

/** Which pattern to write, and where: one that reads the source, if there is one. */
function servesOf(facts: Facts, row: ProjectionRow): string {
  const source = facts.detail(row.source?.container);
  const read = facts.accesses.find(({ detail, write, pattern }) => detail === source && !write && pattern);
  const id = read?.pattern?.printed ?? facts.patterns.at(-1)?.printed ?? '1';
  return `Write \`#${id.replace(/^#/, '')}\` under *Serves* of ${row.name}, or the number of the pattern that reads archived documents; add that pattern if there is none.`;
}

export function aggregatesAndArchives(contract: Contract): Rule[] {
  return [
    {
      id: 'G8',
      title: 'An aggregate states its group and its measures, and its partitions stay below 20 GB',
      severity: 'error',
      source: SOURCES.ours,
      why: 'The document names the fields of the group and at least one measure. Each source document has a contribution of about 0.4 KB in its group’s logical partition. So a partition key value with too many source documents reaches 20 GB.',
      hint: 'State the group or the measures. If a partition gets too large, add a level to the sink’s key, such as the day.',
      *check(facts) {
        const rows = facts.rows.filter(({ kind }) => kind === 'aggregate');
        if (rows.length === 0) {
          yield missing('an aggregate');
          return;
        }
        for (const row of rows) {
          if (row.keys.length === 0) yield { message: `${row.name} states no group`, at: row.at };
          if (row.measures.length === 0 && row.as === undefined)
            yield { message: `${row.name} states no measure`, at: row.at };
          const like = row.as === undefined ? row : facts.rows.find(({ name }) => name === row.as);
          if (!like)
            yield { message: `${row.name} is "as ${row.as ?? ''}", but no projection has this name`, at: row.at };
          const sink = facts.detail(row.sink?.container);
          if (!sink) continue;
          // About the size of a contribution.
          const bytes = 400;
          const largest = facts.requirements?.relationships.find(
            ({ parent, child, max }) =>
              max !== undefined &&
              sink.container.partitionKey.length === 1 &&
              sink.container.partitionKey[0] === `/${parent.charAt(0).toLowerCase()}${parent.slice(1)}Id` &&
              child.toLowerCase().startsWith((row.source?.type ?? '').toLowerCase()),
          );
          const gb = ((largest?.max ?? 0) * bytes) / 1e9;
          if (gb > 20)
            yield {
              message: `${row.name}: the contributions of the largest ${largest?.parent.toLowerCase() ?? ''} take ${n(gb)} GB in one logical partition`,
              at: row.at,
              evidence: `${n(largest?.max ?? 0)} × ${bytes} B = ${n(gb)} GB > 20 GB`,
            };
        }
      },
    },
    {
      id: 'G9',
      title: 'An archive states its rule, its path and the pattern that reads it',
      severity: 'error',
      source: SOURCES.ours,
      why: 'The document states when documents are archived, the path of the blobs, and a pattern that reads cold data. The code has the same rule and the same date field. A pattern that says from which age on it reads there ("completed more than 90 days ago") has at least the age of the rule. The TTL leaves enough time to archive and verify a document before it expires.',
      hint: 'Add the missing statement, or correct the wrong side.',
      *check(facts) {
        const rows = facts.rows.filter(({ kind }) => kind === 'archive');
        if (rows.length === 0) {
          yield missing('an archive');
          return;
        }
        for (const row of rows) {
          const text = `${row.fieldsText} ${row.keyText} ${row.sourceText}`;
          const after = duration(row.fieldsText.replace(KEPT, ''));
          const kept = duration(KEPT.exec(row.fieldsText)?.[0] ?? '');
          const size = sizeIn(row.fieldsText);
          const date = /\d{4}[-/]\d\d[-/]\d\d/.exec(row.fieldsText)?.[0];
          if (
            after === undefined &&
            date === undefined &&
            size === undefined &&
            !/\bwhere\b|\bwhen\b|\bonce\b/i.test(text)
          )
            yield {
              message: `${row.name} doesn't state when documents are archived`,
              at: row.at,
              hint: 'Write it under *Fields / measures*, as in `all; 400 d after placedAt`.',
            };
          if (row.sinkText === '')
            yield {
              message: `${row.name} doesn't state the path of its blobs`,
              at: row.at,
              hint: `Write \`blob:${row.name}\` under *Sink*, and the folders under *Key mapping*, as in \`yyyy/mm of placedAt; id = id\`.`,
            };
          if (row.serves.length === 0)
            yield {
              message: `${row.name}: no pattern reads the archived data`,
              at: row.at,
              hint: servesOf(facts, row),
            };
          const life = facts.detail(row.source?.container)?.container.defaultTtl ?? -1;
          const need = (after ?? 0) + (row.lagMs ?? 0) + DAY;
          if (life > 0 && life * 1000 < need)
            yield {
              message: `${row.name}: documents expire after ${n((life * 1000) / DAY)} d, before they are archived and verified`,
              at: row.at,
              evidence: `${n((after ?? 0) / DAY)} d + lag ${n((row.lagMs ?? 0) / DAY)} d + verifying 1 d = ${n(need / DAY)} d`,
            };
          if (after !== undefined) yield* servedOtherwise(facts, row, after);
          const declared = contract.named(row.name);
          if (declared?.spec.kind !== 'archive') continue;
          const { rule, dateField, largerThan, keep } = declared.spec;
          if (!new RegExp(String.raw`\b${dateField}\b`).test(text))
            yield {
              message: `${row.name} uses the date ${dateField} in the code, but the document doesn't name it`,
              at: row.at,
              hint: `Write \`after ${dateField}\` under *Fields / measures*, or change \`date\` in the code.`,
              related: [contract.at(declared, dateField)],
            };
          yield* statedOtherwise(contract, row, declared, declared.spec);
          if (rule.kind === 'after' && after !== undefined && after !== rule.ms)
            yield {
              message: `${row.name} archives after ${n(after / DAY)} d in the document, but after ${rule.text} in the code`,
              at: row.at,
              related: [contract.at(declared, 'after')],
            };
          if (rule.kind === 'before' && date !== undefined && parseDate(date) !== rule.ms)
            yield {
              message: `${row.name} archives before ${date} in the document, but before ${rule.text} in the code`,
              at: row.at,
              related: [contract.at(declared, 'before')],
            };
          if (size !== largerThan?.bytes)
            yield {
              message: `${row.name} archives ${size === undefined ? 'documents of any size' : `what is larger than ${n(size)} bytes`} in the document, but ${largerThan ? `what is larger than ${largerThan.text}` : 'documents of any size'} in the code`,
              at: row.at,
              related: [contract.at(declared, 'largerThan')],
            };
          if (kept !== keep?.ms)
            yield {
              message: `${row.name} keeps archived documents ${kept === undefined ? 'for good' : `for ${n(kept / DAY)} d`} in the document, but ${keep ? `for ${keep.text}` : 'for good'} in the code`,
              at: row.at,
              related: [contract.at(declared, 'keep')],
            };
          if ((rule.kind === 'after' && after === undefined) || (rule.kind === 'before' && date === undefined))
            yield {
              message: `${row.name} archives ${rule.kind} ${rule.text} in the code, but the document has another rule`,
              at: row.at,
              related: [contract.at(declared, rule.kind)],
            };
          if (facts.design) {
            const examples = examplesOf(facts.design.model, declared.from);
            if (examples.length > 0 && examples.every((example) => example[dateField] === undefined))
              yield {
                message: `${row.name} uses the date ${dateField}, which no example of ${declared.from?.type ?? ''} has`,
                at: contract.at(declared, dateField),
                related: [facts.type(declared.from)?.at ?? row.at],
              };
          }
        }
      },
    },
  ];
}

/** `over 2 days` alone may be a span: "summed over 2 days". */
const AGE =
  /\b(?:more than|older than|longer than|over(?=\s+[\d,.]+\s?[a-z]+\s+(?:old|ago)\b))\s+(?<age>[\d,.]+\s?(?:d|days?|weeks?|months?|years?))\b/i;
/** Months and years have no certain number of days. */
const CALENDAR = 0.05;

/**
 * The age from which a pattern reads the archive, against the age at which documents leave for it. A greater age is
 * right: such documents are there.
 */
function* servedOtherwise(facts: Facts, row: ProjectionRow, after: number): Iterable<RuleResult> {
  for (const id of row.serves) {
    const pattern = facts.pattern(id);
    const age = AGE.exec(pattern?.description ?? '')?.groups?.['age'];
    const stated = duration(age ?? '');
    if (!pattern || age === undefined || stated === undefined || stated >= (1 - CALENDAR) * after) continue;
    yield {
      severity: 'warning',
      message: `${row.name} archives after ${n(after / DAY)} d, but pattern ${pattern.printed} reads there what is older than ${age}`,
      at: row.at,
      related: [pattern.at],
    };
  }
}

/** The date beside the path, beside the rule and behind "with", and the name of the blobs. */
function* statedOtherwise(
  contract: Contract,
  row: ProjectionRow,
  declared: Declared,
  { name, dateField }: ArchiveSpec,
): Iterable<RuleResult> {
  const dates = [
    /\bof `?([\p{L}_]\w*)/u.exec(row.keyText)?.[1],
    /\bafter `?([\p{L}_]\w*)/u.exec(row.fieldsText)?.[1] ?? /([\p{L}_]\w*)`? before\b/u.exec(row.fieldsText)?.[1],
    /\) with `?([\p{L}_]\w*)`?\s*$/u.exec(row.sourceText)?.[1],
  ];
  const other = dates.find((date) => date !== undefined && date !== dateField);
  if (other !== undefined)
    yield {
      message: `${row.name} takes the date ${other} in the document, but ${dateField} in the code`,
      at: row.at,
      related: [contract.at(declared, dateField)],
    };
  const blobs = /\bblobs?:\s*`?([\w-]+)/i.exec(row.sinkText)?.[1];
  if (blobs !== undefined && blobs !== name)
    yield {
      message: `${row.name} writes the blobs ${blobs} in the document, but the archive's name is ${name}`,
      at: row.at,
      related: [declared.at],
    };
}
