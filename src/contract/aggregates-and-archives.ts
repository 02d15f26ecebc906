// G8 and G9: rules for aggregates and archives only.
import type { Facts } from '../model/rules/facts.ts';
import { type Rule, missing, n } from '../model/rules/rule.ts';
import { examplesOf } from '../model/model.ts';
import type { ProjectionRow } from '../model/documents.ts';
import { archivedIn, differencesOf } from './columns.ts';
import type { Contract } from './declared.ts';

const DAY = 86_400_000;

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
      why: 'The document states when documents are archived, the path of the blobs, and a pattern that reads cold data. The code has the same rule and the same date field. The TTL leaves enough time to archive and verify a document before it expires.',
      hint: 'Add the missing statement, or correct the wrong side.',
      *check(facts) {
        const rows = facts.rows.filter(({ kind }) => kind === 'archive');
        if (rows.length === 0) {
          yield missing('an archive');
          return;
        }
        for (const row of rows) {
          const { after, before, size } = archivedIn(row);
          const text = `${row.fieldsText} ${row.keyText} ${row.sourceText}`;
          if (
            after === undefined &&
            before === undefined &&
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
        }
        yield* differencesOf('G9', facts, contract);
        for (const declared of contract.declared) {
          if (declared.spec.kind !== 'archive' || !facts.design) continue;
          const { dateField } = declared.spec;
          const examples = examplesOf(facts.design.model, declared.from);
          if (examples.length > 0 && examples.every((example) => example[dateField] === undefined))
            yield {
              message: `${declared.name} uses the date ${dateField}, which no example of ${declared.from?.type ?? ''} has`,
              at: contract.at(declared, dateField),
              related: [facts.type(declared.from)?.at ?? declared.at],
            };
        }
      },
    },
  ];
}
