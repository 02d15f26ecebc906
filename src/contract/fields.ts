// G2: field by field, what is copied.
import { canonical } from '../base/json.ts';
import type { ProjectionRow } from '../model/documents.ts';
import { type Facts, didYouMean } from '../model/rules/facts.ts';
import { type Rule, type Verdict, SOURCES, missing } from '../model/rules/rule.ts';
import { same } from '../definition/declaration.ts';
import type { AggregateSpec, Doc, Pipeline, ProjectionSpec, SourceRef } from '../definition/specs.ts';
import { recompute, rowKey, visible } from '../definition/oracle/recompute.ts';
import { type Contract, type Declared, writing } from './declared.ts';
import { embeddedFields } from './embeds.ts';
import { anyProjection } from './existence.ts';
import { readElsewhere } from './reads.ts';
import type { Read } from './watcher.ts';
import { type Trace, isWhole, jsonTypes, trace } from './trace.ts';
import { type DocumentType, type Model, containerOf, examplesOf } from '../model/model.ts';
import { listed, stale } from './fresh.ts';

/** Fields of a sink that no projection need write. */
const FREE = new Set(['id', 'type', 'ttl']);

export function fields(contract: Contract): Rule[] {
  return [
    {
      id: 'G2',
      title: 'Every copied field is there on both sides, of one type, listed, and kept fresh',
      severity: 'error',
      source: SOURCES.ours,
      why: 'The projection’s functions are run on the document’s examples: what they read must be in a source’s example, what they write in a sink’s, of the same JSON type, with the values that the sink’s example of the same id has. A copied field that no projection keeps fresh goes stale; one that isn’t listed under Denormalization surprises who reads the document.',
      mend: 'Correct the field in the code, in the example, or in the list.',
      needs: [anyProjection(contract)],
      *check(facts) {
        for (const row of facts.rows) yield* rowFields(facts, contract, row);
        const { pipeline } = contract;
        if (pipeline && facts.design) {
          for (const declared of contract.declared) {
            if (isWhole(declared)) yield* declaredFields(facts, contract, declared, pipeline);
            else {
              const { read, unknown } = readElsewhere(declared.spec, facts.design.model, pipeline);
              yield* unknownFields(facts, contract, declared, unknown);
              yield* odd(facts, declared, facts.design.model, read);
            }
            if (declared.spec.kind === 'embed') yield* embeddedFields(facts, contract, declared, declared.spec);
          }
          for (const projection of pipeline.projections) yield* values(facts, contract, projection, pipeline);
        }
        yield* listed(facts, contract);
        yield* stale(facts, contract);
      },
    },
  ];
}

/** What the row of the section says, against the examples and the code. */
function* rowFields(facts: Facts, contract: Contract, row: ProjectionRow): Iterable<Verdict> {
  const sink = facts.type(row.sink);
  if (sink && sink.examples.length > 0) {
    yield* rowPairs(facts, row, sink);
    yield* rowMeasures(facts, row, sink);
  }
  const declared = contract.named(row.name);
  if (declared?.spec.kind === 'aggregate' && row.kind === 'aggregate')
    yield* declaredMeasures(facts, contract, row, declared, declared.spec.measures);
}

/** `name → customerName`: both are in the examples. */
function* rowPairs(facts: Facts, row: ProjectionRow, sink: DocumentType): Iterable<Verdict> {
  const source = [row.source, ...row.joins].flatMap((of) => facts.type(of) ?? []);
  const sinkFields = fieldsOf(sink.examples);
  for (const { from, to } of row.pairs) {
    if (!sinkFields.has(to))
      yield {
        message: `${row.name} copies into ${to}, which no example of ${row.sink?.container ?? ''} (${sink.name}) has`,
        at: row.at,
        related: [sink.at],
        mend: didYouMean(to, [...sinkFields]),
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
        mend: didYouMean(field, [...known]),
      };
  }
}

/** The sink's examples have every measure of the row, and nothing that neither measure nor group makes. */
function* rowMeasures(facts: Facts, row: ProjectionRow, sink: DocumentType): Iterable<Verdict> {
  const sinkFields = fieldsOf(sink.examples);
  for (const { field } of row.measures) {
    if (field !== '' && !sinkFields.has(field))
      yield {
        message: `${row.name} has measure ${field}, which no example of ${sink.name} has`,
        at: row.at,
        related: [sink.at],
        mend: didYouMean(field, [...sinkFields]),
      };
  }
  if (row.kind !== 'aggregate' || row.measures.length === 0 || row.as !== undefined) return;
  const stated = new Set([...row.measures.map(({ field }) => field), ...row.keys]);
  for (const field of sinkFields) {
    if (!FREE.has(field) && !stated.has(field) && !fedByAnother(facts, row, field))
      yield {
        message: `${row.name}: no measure and no group makes ${field} of ${sink.name}`,
        at: row.at,
        related: [sink.at],
      };
  }
}

/** The row's measures and the code's are the same. */
function* declaredMeasures(
  facts: Facts,
  contract: Contract,
  row: ProjectionRow,
  declared: Declared,
  code: AggregateSpec['measures'],
): Iterable<Verdict> {
  const like = row.as === undefined ? row : (facts.rows.find(({ name }) => name === row.as) ?? row);
  for (const { field, kind } of like.measures) {
    const measure = code[field];
    if (field !== '' && !measure)
      yield {
        message: `${row.name}: measure ${field} is in the document and not in the code`,
        at: row.at,
        related: [contract.at(declared, 'measures')],
      };
    else if (measure && kind !== undefined && kind !== measure.kind)
      yield {
        message: `${row.name}: ${field} is ${kind} in the document and ${measure.kind} in the code`,
        at: row.at,
        related: [contract.at(declared, field, writing(declared))],
      };
  }
  if (like.measures.length === 0) return;
  for (const field of Object.keys(code)) {
    if (!like.measures.some((measure) => measure.field === field || measure.field === ''))
      yield {
        message: `${row.name}: measure ${field} is in the code and not in the document`,
        at: contract.at(declared, field, 'measures'),
        related: [row.at],
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

/** What the code reads and writes, against the examples of both sides. */
function* declaredFields(facts: Facts, contract: Contract, declared: Declared, pipeline: Pipeline): Iterable<Verdict> {
  const model = facts.design?.model;
  const { into, from } = declared;
  if (!model || !into || !isWhole(declared)) return;
  const target = examplesOf(model, into);
  if (examplesOf(model, from).length === 0 || target.length === 0) {
    yield missing(`examples of ${examplesOf(model, from).length === 0 ? (from?.type ?? '') : into.type}`);
    return;
  }
  const { runs, read, unknown, failed } = trace(declared.spec, model, pipeline);
  yield* unknownFields(facts, contract, declared, unknown);
  yield* odd(facts, declared, model, read);
  if (failed !== undefined)
    yield { message: `${declared.name} fails on an example of ${from?.type ?? ''}: ${failed}`, at: declared.at };
  if (runs.length === 0) {
    yield missing(`an example of ${from?.container ?? ''} (${from?.type ?? ''}) that ${declared.name} takes`);
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
        mend: didYouMean(field, [...sinkFields]),
      };
      continue;
    }
    const [ours, theirs] = [jsonTypes(made), jsonTypes(target.map((example) => example[field]))];
    if (ours.size > 0 && theirs.size > 0 && [...ours].some((type) => !theirs.has(type)))
      yield {
        message: `${declared.name} writes ${field} as ${[...ours].join(' or ')}; the examples of ${into.type} have ${[...theirs].join(' or ')}`,
        at: contract.at(declared, field, writing(declared)),
        related: [at],
      };
  }
  const embedded = embeddedInto(contract, into);
  for (const field of sinkFields) {
    if (!produced.has(field) && !FREE.has(field) && !embedded.has(field))
      yield {
        message: `${into.container} (${into.type}) has ${field}, which ${declared.name} doesn't write`,
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
): Iterable<Verdict> {
  for (const { of, path, known } of unknown) {
    const field = path.split('.').at(-1) ?? path;
    yield {
      message: `${declared.name} reads ${path}, which no example of ${of.container} (${of.type}) has`,
      at: contract.at(declared, field),
      mend: didYouMean(field, known),
      related: [facts.type(of)?.at ?? declared.at],
    };
  }
}

/** One example lacks what the projection reads and all others of its type have: it was forgotten, or is optional. */
function* odd(facts: Facts, declared: Declared, model: Model, read: Trace['read']): Iterable<Verdict> {
  for (const { of, path: field } of read) {
    const all = examplesOf(model, of);
    const lacking = all.filter((example) => example[field] === undefined);
    const [only] = lacking;
    if (only && lacking.length === 1 && all.length > 1)
      yield {
        severity: 'information',
        message: `One example of ${of.container} (${of.type}) lacks ${field}, which ${declared.name} reads`,
        at: facts.example(only, facts.type(of)?.at ?? declared.at),
        mend: 'Add it; where it is optional, let another example be without it.',
        related: [declared.at],
      };
  }
}

/** Sink examples whose id the projection makes of the source's examples have the values that it makes. */
function* values(facts: Facts, contract: Contract, spec: ProjectionSpec, pipeline: Pipeline): Iterable<Verdict> {
  const model = facts.design?.model;
  const container = model && containerOf(model, spec.into.container);
  const declared = contract.named(spec.name);
  if (!model || !container || !declared) return;
  let made: Map<string, Doc>;
  try {
    made = recompute(spec, (of) => examplesOf(model, of), pipeline.sources, {
      keyPaths: container.partitionKey,
      refused: () => {},
    });
  } catch {
    return;
  }
  const stated = examplesOf(model, spec.into).map(
    (example) => [rowKey(example, container.partitionKey), visible(example), example] as const,
  );
  const both = stated.filter(([key]) => made.has(key));
  // Examples that were made up apart from the source's say nothing about values.
  if (both.length === 0) return;
  const embedded = embeddedInto(contract, spec.into);
  const at = facts.type(spec.into)?.at ?? declared.at;
  for (const [key, example, raw] of both) {
    const row = made.get(key) ?? {};
    const wrong = [...new Set([...Object.keys(row), ...Object.keys(example)])].filter(
      (field) =>
        !embedded.has(field) && field !== 'ttl' && canonical(row[field] ?? null) !== canonical(example[field] ?? null),
    );
    const [field] = wrong;
    if (field !== undefined) {
      yield {
        message: `${spec.name} makes ${field} ${JSON.stringify(row[field] ?? null)} of the examples; that of ${String(example['id'])} says ${JSON.stringify(example[field] ?? null)}`,
        at: facts.example(raw, at),
        related: [contract.at(declared, field, writing(declared))],
      };
    }
  }
  if (both.length === stated.length && made.size > stated.length) return;
  for (const [key, example, raw] of stated) {
    if (!made.has(key) && both.length * 2 >= stated.length)
      yield {
        message: `${spec.name} makes no ${spec.into.type} ${String(example['id'])} of the examples`,
        at: facts.example(raw, at),
        related: [declared.at],
      };
  }
}
