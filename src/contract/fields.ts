// G2: compares each copied field in code and document.
import type { ProjectionRow } from '../model/documents.ts';
import { didYouMean } from '../base/near.ts';
import type { Facts } from '../model/rules/facts.ts';
import { type Rule, type RuleResult, missing } from '../model/rules/rule.ts';
import { same } from '../pipeline/declaration.ts';
import type { Doc, Pipeline, ProjectionSpec, SourceRef } from '../pipeline/specs.ts';
import { rowKey, visible } from '../pipeline/oracle/recompute.ts';
import { differencesOf } from './columns.ts';
import { type Contract, type Declared, writing } from './declared.ts';
import { embeddedFields } from './embeds.ts';
import { anyProjection } from './same-projections.ts';
import { type Read, joinedReads } from './reads.ts';
import { differing, madeRows } from './rows.ts';
import { isWhole, jsonTypes, traceFunctions } from './trace.ts';
import { type DocumentType, containerOf, examplesOf } from '../model/model.ts';

/** Fields of a sink that a projection doesn't have to write. */
const FREE = new Set(['id', 'type', 'ttl']);

export function fields(contract: Contract): Rule[] {
  return [
    {
      id: 'G2',
      title: 'Every copied field is in the examples of both sides, and has one type',
      why: 'The rule runs the projection’s functions on the document’s examples. An example of the source must have every field that they read. The sink’s examples must have every field that they write, with the same JSON type and, for the same id, the same value.',
      hint: 'Correct the field in the code or in the example.',
      needs: [anyProjection(contract)],
      *check(facts) {
        for (const row of facts.rows) {
          const sink = facts.type(row.sink);
          if (!sink || sink.examples.length === 0) continue;
          yield* rowPairs(facts, row, sink);
          yield* rowMeasures(facts, row, sink);
        }
        yield* differencesOf('G2', facts, contract);
        const { pipeline } = contract;
        if (pipeline && facts.design) {
          for (const declared of contract.declared) {
            if (isWhole(declared)) yield* declaredFields(facts, contract, declared, pipeline);
            else {
              const unknown = joinedReads(declared.spec, facts.design.model, pipeline);
              yield* unknownFields(facts, contract, declared, unknown);
            }
            if (declared.spec.kind === 'embed') yield* embeddedFields(facts, contract, declared, declared.spec);
          }
          for (const projection of pipeline.projections) yield* values(facts, contract, projection, pipeline);
        }
      },
    },
  ];
}

/** `name → customerName`: the examples must have both fields. */
function* rowPairs(facts: Facts, row: ProjectionRow, sink: DocumentType): Iterable<RuleResult> {
  const source = [row.source, ...row.joins].flatMap((of) => facts.type(of) ?? []);
  const sinkFields = fieldsOf(sink.examples);
  for (const { from, to } of row.pairs) {
    if (!sinkFields.has(to))
      yield {
        message: `${row.name} copies to ${to}, which no example of ${row.sink?.container ?? ''} (${sink.name}) has`,
        at: row.at,
        related: [sink.at],
        hint: didYouMean(to, [...sinkFields]),
      };
    const [alias, field] = from.includes('.') ? from.split('.') : ['', from];
    const known = fieldsOf(
      source
        .filter(({ name }) => alias === '' || name === alias || source.every((type) => type.name !== alias))
        .flatMap(({ examples }) => examples),
    );
    if (field !== undefined && known.size > 0 && !known.has(field))
      yield {
        message: `${row.name} copies ${from}, which no example of its sources has`,
        at: row.at,
        hint: didYouMean(field, [...known]),
      };
  }
}

/** The sink's examples must have every measure of the row, and no field that is neither a measure nor in the group. */
function* rowMeasures(facts: Facts, row: ProjectionRow, sink: DocumentType): Iterable<RuleResult> {
  const sinkFields = fieldsOf(sink.examples);
  for (const { field } of row.measures) {
    if (field !== '' && !sinkFields.has(field))
      yield {
        message: `${row.name} has measure ${field}, which no example of ${sink.name} has`,
        at: row.at,
        related: [sink.at],
        hint: didYouMean(field, [...sinkFields]),
      };
  }
  if (row.kind !== 'aggregate' || row.measures.length === 0 || row.as !== undefined) return;
  const stated = new Set([...row.measures.map(({ field }) => field), ...row.keys]);
  for (const field of sinkFields) {
    if (!FREE.has(field) && !stated.has(field) && !fedByAnother(facts, row, field))
      yield {
        message: `${row.name}: the field ${field} of ${sink.name} is neither a measure nor in the group`,
        at: row.at,
        related: [sink.at],
      };
  }
}

const fieldsOf = (examples: readonly Doc[]): Set<string> => new Set(examples.flatMap(Object.keys));

const fedByAnother = (facts: Facts, row: ProjectionRow, field: string): boolean =>
  facts.rows.some(
    (other) =>
      other !== row &&
      other.sink?.container === row.sink?.container &&
      other.sink?.type === row.sink?.type &&
      `${other.fieldsText} ${other.keyText}`.includes(field),
  );

/** Compares the fields that the code reads and writes with the examples of source and sink. */
function* declaredFields(
  facts: Facts,
  contract: Contract,
  declared: Declared,
  pipeline: Pipeline,
): Iterable<RuleResult> {
  const model = facts.design?.model;
  const { into, from } = declared;
  if (!model || !into || !isWhole(declared)) return;
  const target = examplesOf(model, into);
  if (examplesOf(model, from).length === 0 || target.length === 0) {
    yield missing(`examples of ${examplesOf(model, from).length === 0 ? (from?.type ?? '') : into.type}`);
    return;
  }
  const { runs, unknown, failed } = traceFunctions(declared.spec, model, pipeline);
  yield* unknownFields(facts, contract, declared, unknown);
  if (failed !== undefined)
    yield { message: `${declared.name} fails on an example of ${from?.type ?? ''}: ${failed}`, at: declared.at };
  if (runs.length === 0) {
    yield missing(`an example of ${from?.container ?? ''} (${from?.type ?? ''}) that ${declared.name} doesn't skip`);
    return;
  }
  const produced = new Map<string, unknown[]>();
  for (const { output } of runs)
    for (const [field, value] of Object.entries(output)) produced.set(field, [...(produced.get(field) ?? []), value]);
  const sinkFields = fieldsOf(target);
  const at = facts.type(into)?.at ?? declared.at;
  for (const [field, made] of produced) {
    if (made.every((value) => value === undefined)) continue;
    if (!sinkFields.has(field)) {
      yield {
        message: `${declared.name} writes ${field}, which no example of ${into.container} (${into.type}) has`,
        at: contract.at(declared, field, writing(declared)),
        related: [at],
        hint: didYouMean(field, [...sinkFields]),
      };
      continue;
    }
    const [ours, theirs] = [jsonTypes(made), jsonTypes(target.map((example) => example[field]))];
    if (ours.size > 0 && theirs.size > 0 && [...ours].some((type) => !theirs.has(type)))
      yield {
        message: `${declared.name} writes ${field} as ${[...ours].join(' or ')}, but the examples of ${into.type} have ${[...theirs].join(' or ')}`,
        at: contract.at(declared, field, writing(declared)),
        related: [at],
      };
  }
  const embedded = embeddedInto(contract, into);
  for (const field of sinkFields) {
    if (!produced.has(field) && !FREE.has(field) && !embedded.has(field))
      yield {
        message: `${into.container} (${into.type}) has ${field}, but ${declared.name} doesn't write it`,
        at,
        related: [contract.at(declared, writing(declared))],
      };
  }
}

/** The fields of a type that embeds write into its documents. */
const embeddedInto = ({ declared }: Contract, into: SourceRef): Set<string> =>
  new Set(
    declared.flatMap(({ spec }) =>
      spec.kind === 'embed' && same(spec.into, into) ? [...Object.keys(spec.set), spec.each?.field ?? ''] : [],
    ),
  );

function* unknownFields(
  facts: Facts,
  contract: Contract,
  declared: Declared,
  unknown: readonly Read[],
): Iterable<RuleResult> {
  for (const { of, path, known } of unknown) {
    const field = path.split('.').at(-1) ?? path;
    yield {
      message: `${declared.name} reads ${path}, which no example of ${of.container} (${of.type}) has`,
      at: contract.at(declared, field),
      hint: didYouMean(field, known),
      related: [facts.type(of)?.at ?? declared.at],
    };
  }
}

/** Sink examples that the projection also makes from the source's examples must have the same values. */
function* values(facts: Facts, contract: Contract, spec: ProjectionSpec, pipeline: Pipeline): Iterable<RuleResult> {
  const model = facts.design?.model;
  const container = model && containerOf(model, spec.into.container);
  const declared = contract.named(spec.name);
  if (!model || !container || !declared) return;
  const made = madeRows(spec, model, pipeline);
  if (!made) return;
  const embedded = embeddedInto(contract, spec.into);
  const at = facts.type(spec.into)?.at ?? declared.at;
  const wrong = examplesOf(model, spec.into).flatMap((raw) => {
    const row = made.get(rowKey(raw, container.partitionKey));
    const example = visible(raw);
    const field = row && differing(row, example).find((name) => !embedded.has(name) && name !== 'ttl');
    return row && field !== undefined ? [{ row, example, field, at: facts.example(raw, at) }] : [];
  });
  // One fault of the code is in many rows.
  for (const [field, all] of Map.groupBy(wrong, (one) => one.field)) {
    const [first, ...more] = all;
    if (!first) continue;
    const { row, example } = first;
    const others = more.length > 0 ? `; ${more.length} more ${more.length === 1 ? 'differs' : 'differ'} too` : '';
    yield {
      message: `From the source’s examples ${spec.name} computes ${field} ${JSON.stringify(row[field] ?? null)}, but the example ${String(example['id'])} has ${JSON.stringify(example[field] ?? null)}${others}`,
      at: first.at,
      words: `"${field}"`,
      related: [...more.map((one) => one.at), contract.at(declared, field, writing(declared))],
    };
  }
}
