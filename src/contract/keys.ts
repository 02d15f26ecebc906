// G5, G6, G7: the partition key, the id and the deletion of derived documents.
import { canonical } from '../base/json.ts';
import type { Facts } from '../model/rules/facts.ts';
import { type Rule, type RuleResult, missing, noDesign } from '../model/rules/rule.ts';
import { typeRules } from '../pipeline/discriminator.ts';
import { attempt } from '../pipeline/fields/watched.ts';
import { aggregateId } from '../pipeline/derived-ids.ts';
import type { Doc, ProjectionSpec } from '../pipeline/specs.ts';
import { differencesOf } from './columns.ts';
import { type Contract, type Declared, writing } from './declared.ts';
import { anyProjection } from './same-projections.ts';
import { examplesOf, exampleValueAt } from '../model/model.ts';
import { depends, isWhole, outputsOf, traceFunctions } from './trace.ts';

const wholes = (contract: Contract) => contract.declared.filter(isWhole);

const idOf = (spec: ProjectionSpec, output: Doc): unknown => {
  if (spec.kind !== 'aggregate') return output['id'];
  const group = Object.entries(output).filter(([field]) => !Object.hasOwn(spec.measures, field));
  return aggregateId(spec.into.type, Object.fromEntries(group));
};

export function keys(contract: Contract): Rule[] {
  return [
    {
      id: 'G5',
      title: 'The source determines the sink’s key, and a stable projection’s key never changes',
      why: 'The key mapping names every level of the sink’s partition key, and the code gives it a value for every example. A projection that is declared `stable` has no locator, so no write may change a field that determines its key.',
      hint: 'Name the level in the key mapping. Remove `stable` if a pattern changes the field.',
      needs: [anyProjection(contract)],
      *check(facts) {
        for (const row of facts.rows) {
          const sink = facts.detail(row.sink?.container);
          if (!sink || row.kind === 'embed') continue;
          const lacking = sink.container.partitionKey.filter(
            (path) => !row.keys.includes(path.split('/').at(-1) ?? ''),
          );
          if (lacking.length > 0)
            yield {
              message: `${row.name}: the key mapping doesn't name ${lacking.join(', ')} of ${sink.container.name}`,
              at: row.at,
              related: [facts.place(sink, 'partitionKey')],
            };
          const levels = sink.container.partitionKey.map((path) => path.split('/').at(-1) ?? '');
          const foreign = row.kind === 'copy' ? row.keys.filter((field) => !levels.includes(field)) : [];
          if (foreign.length > 0 && lacking.length === 0)
            yield {
              message: `${row.name}: the key mapping names ${foreign.join(', ')}, which isn't a level of ${sink.container.name}'s key`,
              at: row.at,
              related: [facts.place(sink, 'partitionKey')],
            };
        }
        yield* differencesOf('G5', facts, contract);
        if (!contract.pipeline || !facts.design) return;
        for (const declared of wholes(contract)) {
          const container = facts.detail(declared.into?.container)?.container;
          if (!container) continue;
          const { spec } = declared;
          const { runs } = traceFunctions(spec, facts.design.model, contract.pipeline);
          for (const path of container.partitionKey) {
            const none = runs.find(({ output }) => exampleValueAt(output, path) === undefined);
            if (none && path !== '/id')
              yield {
                message: `${declared.name} gives ${path} of ${container.name} no value for the example ${String(none.source['id'])}`,
                at: contract.at(declared, path.slice(1), spec.kind === 'aggregate' ? 'groupBy' : 'map'),
                related: [facts.detail(container.name)?.container.places.partitionKey ?? container.at],
              };
          }
          yield* unstable(facts, contract, declared, container.partitionKey);
          yield* foreignJoin(facts, contract, declared);
        }
      },
    },
    {
      id: 'G6',
      title: 'The sink’s ids are reproducible and unique',
      why: 'A source’s id is unique only within its partition key. If the sink’s key and id don’t depend on a level of the source’s key, two source documents may become one sink document, unless the document says that the id is unique. The rule runs the functions twice, and once with each level changed.',
      hint: 'Add the source’s key to the id. Or state in the document that the id is unique.',
      *check(facts) {
        if (!contract.pipeline) {
          yield missing('pipeline.ts');
          return;
        }
        if (!facts.design) {
          yield noDesign;
          return;
        }
        for (const declared of wholes(contract)) {
          const { spec } = declared;
          const [source, sink] = [facts.detail(declared.from?.container), facts.detail(declared.into?.container)];
          if (!source || !sink) continue;
          const { runs } = traceFunctions(spec, facts.design.model, contract.pipeline);
          const again = traceFunctions(spec, facts.design.model, contract.pipeline).runs;
          const place = contract.at(declared, 'id', writing(declared));
          const identity = (output: Doc): unknown => [
            sink.container.partitionKey.map((path) => exampleValueAt(output, path) ?? null),
            idOf(spec, output),
          ];
          const changed = runs.findIndex(({ output }, index) => canonical(output) !== canonical(again[index]?.output));
          if (changed >= 0)
            yield {
              message: `${declared.name} returns another document for the example ${String(runs[changed]?.source['id'])} when it runs a second time`,
              at: declared.at,
            };
          if (spec.kind === 'aggregate') continue;
          const untyped = runs.find(({ output }) => typeof output['id'] !== 'string' || output['id'] === '');
          if (untyped)
            yield {
              message: `${declared.name} returns no id for the example ${String(untyped.source['id'])}`,
              at: place,
            };
          if (spec.kind !== 'copy') continue;
          const unique = [source, sink].some((detail) =>
            detail.prose.some(
              ({ label, text }) =>
                /document types|attributes|^id$/i.test(label ?? '') && /\bunique\b|guid|uuid|唯一/i.test(text),
            ),
          );
          const [run] = runs;
          if (!run || unique) continue;
          for (const path of [...source.container.partitionKey, '/id']) {
            const field = path.split('/')[1] ?? '';
            if (!depends(run.source, field, (doc) => identity(outputsOf(spec, doc, run.joined)[0] ?? {})))
              yield {
                message: `${declared.name}: neither key nor id of ${sink.container.name} depends on ${field} of ${source.container.name}, so two documents may become one`,
                at: place,
              };
          }
        }
      },
    },
    {
      id: 'G7',
      title: 'Code and document declare the same effect of a delete',
      why: 'Without a rule for the delete marker in the code, marked documents stay in every copy and sum. The column Deletes says remove, subtract or keep. The sink’s documents must not expire before those of the source.',
      hint: 'Add `source({ of, deleted })` to the code, and fill the column Deletes.',
      needs: [anyProjection(contract)],
      *check(facts) {
        for (const row of facts.rows) {
          const [life, own] = [row.source, row.sink].map(
            (of) => facts.detail(of?.container)?.container.defaultTtl ?? -1,
          );
          if (own !== undefined && own > 0 && life === -1)
            yield {
              message: `${row.name}: its sink's documents expire after ${own} s, but its source's don't`,
              at: facts.detail(row.sink?.container)?.container.places.defaultTtl ?? row.at,
              related: [row.at],
              hint: 'Set the TTL of the sink to -1, or let the documents of the source expire too.',
            };
          if (row.deletes === '') yield { message: `${row.name} doesn't state what a delete does`, at: row.at };
        }
        yield* differencesOf('G7', facts, contract);
        if (!contract.pipeline || !facts.design) return;
        const seen = new Set<string>();
        for (const { from, at, kind } of contract.declared) {
          const key = `${from?.container ?? ''} ${from?.type ?? ''}`;
          if (!from || seen.has(key) || kind === 'archive') continue;
          seen.add(key);
          const marked = examplesOf(facts.design.model, from).filter((example) =>
            Object.keys(example).some((field) => /^(is)?deleted(At)?$|^removedAt$/i.test(field)),
          );
          const [example] = marked;
          if (!example) continue;
          const rules = typeRules(contract.pipeline.sources, from);
          if (rules.feed !== 'all-versions' && !attempt(() => rules.deleted?.(example)))
            yield {
              message: rules.deleted
                ? `${from.container} (${from.type}) has an example with a delete marker, but \`deleted\` of the code doesn't take it for deleted`
                : `${from.container} (${from.type}) has a delete marker, but no source() of the code declares it`,
              at: facts.type(from)?.at ?? at,
              related: [at],
              ...(rules.deleted && { hint: 'Correct `deleted` of the source in the code, or the example.' }),
            };
        }
      },
    },
  ];
}

/** The projection is `stable`, but a pattern changes a field that determines key or group. */
function* unstable(
  facts: Facts,
  contract: Contract,
  declared: Declared & { spec: ProjectionSpec },
  paths: readonly string[],
): Iterable<RuleResult> {
  if (!declared.spec.stable || !contract.pipeline || !facts.design) return;
  const [run] = traceFunctions(declared.spec, facts.design.model, contract.pipeline).runs;
  if (!run) return;
  const { spec } = declared;
  const identity = (doc: Doc): unknown => {
    const [output = {}] = outputsOf(spec, doc, run.joined);
    return [paths.map((path) => exampleValueAt(output, path) ?? null), idOf(spec, output)];
  };
  for (const { row, detail, pattern } of facts.accesses) {
    const [operation] = row.operations;
    if (
      facts.detail(declared.from?.container) !== detail ||
      operation === undefined ||
      !['replace', 'patch', 'upsert'].includes(operation) ||
      !pattern
    )
      continue;
    const changed = Object.keys(run.source).filter((field) =>
      new RegExp(String.raw`\b${field}\b`).test(pattern.attributes),
    );
    for (const field of changed) {
      if (field !== 'id' && depends(run.source, field, identity))
        yield {
          message: `${declared.name} is declared stable, but pattern ${pattern.printed} changes ${field}, which determines its key`,
          at: contract.at(declared, 'stable'),
          related: [pattern.at],
        };
    }
  }
}

/** A join needs only id and partition key: a further field is probably a mistake. */
function* foreignJoin(
  facts: Facts,
  contract: Contract,
  declared: Declared & { spec: ProjectionSpec },
): Iterable<RuleResult> {
  if (declared.spec.kind !== 'copy') return;
  for (const { name, of, on } of declared.spec.joins) {
    const container = facts.detail(of.container)?.container;
    const more = Object.keys(on).filter((field) => field !== 'id' && !container?.partitionKey.includes(`/${field}`));
    if (container && container.partitionKey.length > 0 && more.length > 0)
      yield {
        severity: 'warning',
        message: `${declared.name} also joins ${name} by ${more.join(', ')}, which is neither id nor key of ${container.name}`,
        at: contract.at(declared, name),
        related: [container.places.partitionKey ?? container.at],
      };
  }
}
