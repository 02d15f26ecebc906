// G1, G11, G12: projections exist in code and document, don't read their own writes, and serve a pattern.
import { type Facts, isWrite } from '../model/rules/facts.ts';
import type { Reference } from '../model/documents.ts';
import type { SourceLine } from '../model/model.ts';
import { type Need, type Rule, type RuleResult, missing, noDesign } from '../model/rules/rule.ts';
import { circles } from '../pipeline/fields/field-flow.ts';
import type { SourceRef } from '../pipeline/specs.ts';
import { didYouMean, suggestion } from '../base/near.ts';
import { differencesOf } from './columns.ts';
import type { Contract } from './declared.ts';

export const anyProjection = (contract: Contract): Need => ({
  what: 'projections (section "Change Feed Projections", or pipeline.ts)',
  there: ({ rows }) => rows.length + contract.declared.length > 0,
});
export const SECTION: Need = {
  what: 'the section "Change Feed Projections" (`millrace model check --fix` writes it)',
  there: ({ rows }) => rows.length > 0,
};
export const noPipeline = missing('pipeline.ts');

export function existence(contract: Contract): Rule[] {
  return [
    {
      id: 'G1',
      title: 'Code and document have the same projections, sources and sinks',
      why: 'A projection reads and writes types that the document designs. Every projection of the code is in the document, and every projection of the document is in the code, with the same kind, source, sink and start. A row without a version is about each version that has no row of its own: `orders` and `orders@2`.',
      hint: 'Correct the name, or add the projection to the other side. `millrace model check --fix` rewrites the section from the code.',
      needs: [anyProjection(contract)],
      *check(facts) {
        for (const row of facts.rows) {
          yield* refersTo(facts, [row.source, ...row.joins, row.sink], () => row.at, `Projection ${row.name}`);
          if (!row.source) yield { message: `Projection ${row.name} names no source`, at: row.at };
        }
        for (const declared of contract.declared)
          yield* refersTo(
            facts,
            [declared.from, ...declared.joins, declared.into],
            ({ container }) => contract.at(declared, container),
            `Projection ${declared.name}`,
          );
        if (!contract.pipeline) {
          yield noPipeline;
          return;
        }
        if (!facts.design?.projectionsAt) {
          yield missing(SECTION.what);
          return;
        }
        yield* differencesOf('G1', facts, contract);
        const lacking = facts.rows.filter((row) => !contract.has(row));
        const surplus = contract.declared.filter((declared) => !contract.rowOf(declared, facts.rows));
        for (const declared of surplus)
          yield {
            message: `Projection ${contract.label(declared)} is in the code, but not in the document${suggestion(
              declared.name,
              lacking.map(({ name }) => name),
            )}`,
            at: declared.at,
            related: [facts.design.projectionsAt],
          };
        for (const { name, version, at } of lacking)
          yield {
            message: `Projection ${name}${version === undefined ? '' : `@${version}`} is in the document, but not in the code${suggestion(
              name,
              surplus.map((declared) => declared.name),
            )}`,
            at,
          };
      },
    },
    {
      id: 'G11',
      title: 'Projections don’t feed each other in a circle',
      why: 'In a circle, each write is a new change of the source, without end. A projection may read a type that another projection writes, if this makes no circle.',
      hint: 'Write into another type. Or change one projection, so that it reads only fields that the others don’t write.',
      needs: [anyProjection(contract)],
      *check(facts) {
        if (!contract.pipeline || !facts.design) {
          yield contract.pipeline ? noDesign : noPipeline;
          return;
        }
        for (const names of circles(contract.pipeline, facts.design.model)) {
          const [first = ''] = names;
          yield {
            message: `${[...names, first].join(' → ')}: these projections feed each other in a circle`,
            at: contract.named(first)?.at ??
              facts.design.model.containers[0]?.at ?? { file: facts.design.file, line: 1 },
          };
        }
      },
    },
    {
      id: 'G12',
      title: 'Every projection serves a pattern that is mapped to its sink',
      severity: 'warning',
      why: 'A copy without readers costs writes and has no use. So each projection serves a pattern, and the mapping reads this pattern from the sink.',
      hint: 'State the patterns under Serves, and map them to the sink.',
      needs: [SECTION],
      *check(facts) {
        for (const row of facts.rows) {
          if (row.serves.length === 0) yield { message: `${row.name} serves no pattern`, at: row.at };
          const sink = facts.detail(row.sink?.container);
          if (!sink || row.kind === 'embed') continue;
          for (const id of row.serves) {
            const rows = facts.design?.mapping.filter(({ ids }) => ids.includes(id)) ?? [];
            if (rows.length > 0 && !rows.some(({ containers }) => containers.includes(sink.container.name)))
              yield {
                severity: 'error',
                message: `${row.name} serves ${id}, but this pattern is mapped to ${rows.flatMap(({ containers }) => containers).join(', ') || 'no container'} instead of ${sink.container.name}`,
                at: row.at,
                related: rows.map(({ at }) => at),
              };
          }
        }
        yield* unserved(facts);
      },
    },
  ];
}

/** G12, the other way: a row that reads what only projections write, or that names the projection that serves it. */
function* unserved(facts: Facts): Iterable<RuleResult> {
  for (const row of facts.mapping) {
    const line = facts.design?.lines[row.at.line - 1] ?? '';
    for (const projection of facts.rows.filter(({ name }) => line.includes(`\`${name}\``))) {
      const other = projection.serves.find((id) => !row.ids.includes(id));
      if (other !== undefined && !projection.sink && !projection.serves.some((id) => row.ids.includes(id)))
        yield {
          message: `Row ${row.printed} names ${projection.name}, which serves ${projection.serves.join(', ')} instead`,
          at: projection.at,
          related: [row.at],
        };
    }
    const detail = facts.detail(row.containers[0]);
    const types = detail?.container.types.map(({ name }) => name) ?? [];
    const writers = facts.rows.filter(
      ({ sink, kind }) => sink && kind !== 'embed' && facts.detail(sink.container) === detail,
    );
    const derived = types.length > 0 && types.every((type) => writers.some(({ sink }) => sink?.type === type));
    const reads = row.operations.some((operation) => !isWrite(operation));
    const served = row.ids.some((id) => facts.rows.some(({ serves }) => serves.includes(id)));
    if (detail && derived && reads && !served)
      yield {
        message: `Row ${row.printed} reads ${detail.container.name}, which only projections write, but none serves ${row.ids.join(', ')}`,
        at: row.at,
        related: writers.map(({ at }) => at),
        hint: `Write ${row.ids.map((id) => `\`#${id}\``).join(', ')} under Serves of ${writers.map(({ name }) => name).join(' or ')}.`,
      };
  }
}

function* refersTo(
  facts: Facts,
  references: readonly (Reference | SourceRef | undefined)[],
  place: (of: Reference | SourceRef) => SourceLine,
  who: string,
): Iterable<RuleResult> {
  if (!facts.design) {
    yield noDesign;
    return;
  }
  const seen = new Set<string>();
  for (const of of references) {
    if (!of || seen.has(`${of.container} ${of.type ?? ''}`)) continue;
    seen.add(`${of.container} ${of.type ?? ''}`);
    const detail = facts.detail(of.container);
    if (!detail)
      yield {
        message: `${who} names container ${of.container}, which has no design`,
        at: place(of),
        hint: facts.suggest(of.container),
      };
    else if (of.type !== undefined && !detail.container.types.some(({ name }) => name === of.type)) {
      const names = detail.container.types.map(({ name }) => name);
      yield {
        message: `${who} names ${of.container} (${of.type}), but ${detail.container.name} has no example of that type`,
        at: place(of),
        hint: didYouMean(of.type, names),
        related: [detail.container.at],
      };
    }
  }
}
