// G2 and G3: field by field, what is copied and whether it may be.
import { canonical, isObject } from '../../base/json.ts';
import type { ProjectionRow, Prose } from '../../model/documents.ts';
import type { Facts } from '../../model/rules/facts.ts';
import { type Rule, SOURCES, type Verdict, missing } from '../../model/rules/rule.ts';
import type { Doc, Pipeline, ProjectionSpec } from '../kinds.ts';
import { near } from '../near.ts';
import { recompute, rowKey, visible } from '../recompute.ts';
import type { Contract, Declared } from './declared.ts';
import { noContract } from './existence.ts';
import { type Trace, type Whole, depends, embedded, examplesOf, jsonTypes, trace } from './trace.ts';
import type { Model } from '../../model/model.ts';

/** Fields of a sink that no projection need write. */
const FREE = new Set(['id', 'type', 'ttl']);
const SNAPSHOT =
  /as sold|snapshot|record of|nothing refreshes|never (refreshed|changes?)|at the time|immutable|as it was|not refreshed|frozen|as of the/i;

export function fields(contract: Contract): Rule[] {
  return [
    {
      id: 'G2',
      title: 'Every copied field is there on both sides, of one type, listed, and kept fresh',
      severity: 'error',
      source: SOURCES.ours,
      why: 'The projection’s functions are run on the document’s examples: what they read must be in a source’s example, what they write in a sink’s, of the same JSON type, with the values that the sink’s example of the same id has. A copied field that no projection keeps fresh goes stale; one that isn’t listed under Denormalization surprises who reads the document.',
      mend: 'Correct the field in the code, in the example, or in the list.',
      *check(facts) {
        if (facts.rows.length === 0 && contract.declared.length === 0) {
          yield noContract;
          return;
        }
        for (const row of facts.rows) yield* rowFields(facts, contract, row);
        const { pipeline } = contract;
        if (pipeline && facts.design) {
          for (const declared of contract.declared) {
            if (declared.kind === 'copy' || declared.kind === 'aggregate' || declared.kind === 'reference')
              yield* declaredFields(facts, contract, declared, pipeline);
            if (declared.kind === 'embed') yield* embeddedFields(facts, contract, declared);
          }
          for (const projection of pipeline.projections) yield* values(facts, contract, projection, pipeline);
        }
        yield* listed(facts, contract);
        yield* stale(facts, contract);
      },
    },
    {
      id: 'G3',
      title: 'What is copied may be copied',
      severity: 'warning',
      source: 'the modelling prompt’s upstream template',
      why: 'A copy is right where it saves a look-up, and where its value seldom changes or its readers accept that it is behind. Each condition is answered in the documents: by a pattern with its tolerance ("may be 5 s old"), or under Denormalization.',
      mend: 'Say for each copied field what it avoids, and how old it may be.',
      *check(facts) {
        const copies = facts.rows.filter(
          ({ kind, joins }) => (kind === 'copy' || kind === 'embed') && joins.length + (kind === 'embed' ? 1 : 0) > 0,
        );
        if (copies.length === 0) {
          yield missing('a copy of another document’s fields');
          return;
        }
        const text = denormalization(facts)
          .map((piece) => piece.text)
          .join(' ');
        for (const row of copies) {
          const patterns = row.serves.flatMap((id) => facts.pattern(id) ?? []);
          const tolerant = patterns.some(({ cells }) =>
            /\bold\b|stale|behind|eventual|delay|within \d|可以延迟/i.test(Object.values(cells).join(' ')),
          );
          const fixed = /never|rarely|seldom|mostly fixed|times a|twice a|refreshed by|不变|很少/i.test(text);
          if (!tolerant && !fixed)
            yield {
              message: `${row.name}: whether its copied fields may be behind, or seldom change, isn't answered`,
              at: row.at,
            };
          if (
            !/avoid|instead of|saves?|second query|look-?up|each page|one partition|beside|避免/i.test(
              `${text} ${patterns.map(({ considerations }) => considerations).join(' ')}`,
            )
          )
            yield { message: `${row.name}: what its copied fields avoid isn't answered`, at: row.at };
        }
      },
    },
  ];
}

export const denormalization = (facts: Facts): Prose[] =>
  facts.prose.filter(({ label }) => /denormali[sz]|反规范化/i.test(label ?? ''));

/** What the row of the section says, against examples and code. */
function* rowFields(facts: Facts, contract: Contract, row: ProjectionRow): Iterable<Verdict> {
  const sink = facts.type(row.sink);
  const source = [row.source, ...row.joins].flatMap((of) => facts.type(of) ?? []);
  const sinkFields = new Set((sink?.examples ?? []).flatMap(Object.keys));
  const declared = contract.named(row.name);
  if (sink && sink.examples.length > 0) {
    for (const { from, to } of row.pairs) {
      if (!sinkFields.has(to))
        yield {
          message: `${row.name} copies into ${to}, which no example of ${row.sink?.container ?? ''} (${sink.name}) has`,
          at: row.at,
          related: [sink.at],
          mend: suggestField(to, sinkFields),
        };
      const [alias, field] = from.includes('.') ? from.split('.') : ['', from];
      const known = new Set(
        source
          .filter(({ name }) => alias === '' || name === alias || source.every((type) => type.name !== alias))
          .flatMap(({ examples }) => examples.flatMap(Object.keys)),
      );
      if (field !== undefined && known.size > 0 && !known.has(field))
        yield {
          message: `${row.name} copies ${from}, which no example of its sources has`,
          at: row.at,
          mend: suggestField(field, known),
        };
    }
    for (const { field } of row.measures) {
      if (field !== '' && !sinkFields.has(field))
        yield {
          message: `${row.name} has measure ${field}, which no example of ${sink.name} has`,
          at: row.at,
          related: [sink.at],
          mend: suggestField(field, sinkFields),
        };
    }
    if (row.kind === 'aggregate' && row.measures.length > 0 && row.as === undefined) {
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
  }
  if (declared?.spec.kind !== 'aggregate' || row.kind !== 'aggregate') return;
  const like = row.as === undefined ? row : (facts.rows.find(({ name }) => name === row.as) ?? row);
  const code = declared.spec.measures;
  for (const { field, kind } of like.measures) {
    const measure = code[field];
    if (field !== '' && !measure)
      yield {
        message: `${row.name}: measure ${field} is in the document and not in the code`,
        at: row.at,
        related: [contract.at(declared)],
      };
    else if (measure && kind !== undefined && kind !== measure.kind)
      yield {
        message: `${row.name}: ${field} is ${kind} in the document and ${measure.kind} in the code`,
        at: row.at,
        related: [contract.at(declared, field)],
      };
  }
  if (like.measures.length > 0) {
    for (const field of Object.keys(code)) {
      if (!like.measures.some((measure) => measure.field === field || measure.field === ''))
        yield {
          message: `${row.name}: measure ${field} is in the code and not in the document`,
          at: contract.at(declared, field),
          related: [row.at],
        };
    }
  }
}

const suggestField = (field: string, known: ReadonlySet<string>): string => {
  const best = near(field, [...known]);
  return best === undefined ? `There are: ${[...known].join(', ')}.` : `Did you mean ${best}?`;
};

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
  const { spec, into, from } = declared;
  if (!model || !into || (spec.kind !== 'copy' && spec.kind !== 'aggregate' && spec.kind !== 'reference')) return;
  const target = examplesOf(model, into);
  if (examplesOf(model, from).length === 0 || target.length === 0) {
    yield missing(`examples of ${examplesOf(model, from).length === 0 ? (from?.type ?? '') : into.type}`);
    return;
  }
  const { runs, read, unknown, failed } = trace(spec, model, pipeline);
  for (const { of, field } of unknown) {
    const known = new Set(examplesOf(model, of).flatMap(Object.keys));
    yield {
      message: `${declared.name} reads ${field}, which no example of ${of.container} (${of.type}) has`,
      at: contract.at(declared, field),
      mend: suggestField(field, known),
      related: [facts.type(of)?.at ?? declared.at],
    };
  }
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
  const sinkFields = new Set(target.flatMap(Object.keys));
  const at = facts.type(into)?.at ?? declared.at;
  for (const [field, made] of produced) {
    if (made.every((value) => value === undefined)) continue;
    if (!sinkFields.has(field)) {
      yield {
        message: `${declared.name} writes ${field}, which no example of ${into.container} (${into.type}) has`,
        at: contract.at(declared, field),
        related: [at],
        mend: suggestField(field, sinkFields),
      };
      continue;
    }
    const [ours, theirs] = [jsonTypes(made), jsonTypes(target.map((example) => example[field]))];
    if (ours.size > 0 && theirs.size > 0 && [...ours].some((type) => !theirs.has(type)))
      yield {
        message: `${declared.name} writes ${field} as ${[...ours].join(' or ')}; the examples of ${into.type} have ${[...theirs].join(' or ')}`,
        at: contract.at(declared, field),
        related: [at],
      };
  }
  const others = new Set(
    contract.declared.flatMap((other) =>
      other.spec.kind === 'embed' && other.into?.container === into.container && other.into.type === into.type
        ? [...Object.keys(other.spec.set), other.spec.each?.field ?? '']
        : [],
    ),
  );
  for (const field of sinkFields) {
    if (!produced.has(field) && !FREE.has(field) && !others.has(field))
      yield {
        message: `${into.container} (${into.type}) has ${field}, which ${declared.name} doesn't write`,
        at,
        related: [declared.at],
      };
  }
}

/** One example lacks what the projection reads and all others of its type have: it was forgotten, or is optional. */
function* odd(facts: Facts, declared: Declared, model: Model, read: Trace['read']): Iterable<Verdict> {
  for (const { of, field } of read) {
    const all = examplesOf(model, of);
    const lacking = all.filter((example) => example[field] === undefined);
    const [only] = lacking;
    if (only && lacking.length === 1 && all.length > 2)
      yield {
        severity: 'information',
        message: `One example of ${of.container} (${of.type}) lacks ${field}, which ${declared.name} reads`,
        at: facts.example(only, facts.type(of)?.at ?? declared.at),
        mend: 'Add it; where it is optional, let two examples be without it.',
        related: [declared.at],
      };
  }
}

function* embeddedFields(facts: Facts, contract: Contract, declared: Declared): Iterable<Verdict> {
  const model = facts.design?.model;
  if (!model || declared.spec.kind !== 'embed') return;
  const { spec } = declared;
  const items = examplesOf(model, spec.into)
    .flatMap((child) => (spec.each ? [child[spec.each.field]].flat() : [child]))
    .filter(isObject);
  for (const [field, made] of embedded(spec, model)) {
    const there = items.map((item) => item[field]);
    if (items.length > 0 && there.every((value) => value === undefined))
      yield {
        message: `${declared.name} embeds ${field}, which no example of ${spec.into.container} (${spec.into.type}) has`,
        at: contract.at(declared, field),
      };
    const [ours, theirs] = [jsonTypes(made), jsonTypes(there)];
    if (ours.size > 0 && theirs.size > 0 && [...ours].some((type) => !theirs.has(type)))
      yield {
        message: `${declared.name} embeds ${field} as ${[...ours].join(' or ')}; the examples have ${[...theirs].join(' or ')}`,
        at: contract.at(declared, field),
      };
  }
}

/** Sink examples whose id the projection makes of the source's examples have the values that it makes. */
function* values(facts: Facts, contract: Contract, spec: ProjectionSpec, pipeline: Pipeline): Iterable<Verdict> {
  const model = facts.design?.model;
  const container = model?.containers.find(({ name }) => name === spec.into.container);
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
  const embeds = new Set(
    contract.declared.flatMap((other) =>
      other.spec.kind === 'embed' && other.into?.container === spec.into.container
        ? [...Object.keys(other.spec.set), other.spec.each?.field ?? '']
        : [],
    ),
  );
  const at = facts.type(spec.into)?.at ?? declared.at;
  for (const [key, example, raw] of both) {
    const row = made.get(key) ?? {};
    const wrong = [...new Set([...Object.keys(row), ...Object.keys(example)])].filter(
      (field) =>
        !embeds.has(field) && field !== 'ttl' && canonical(row[field] ?? null) !== canonical(example[field] ?? null),
    );
    const [field] = wrong;
    if (field !== undefined) {
      yield {
        message: `${spec.name} makes ${field} ${JSON.stringify(row[field] ?? null)} of the examples; that of ${String(example['id'])} says ${JSON.stringify(example[field] ?? null)}`,
        at: facts.example(raw, at),
        related: [contract.at(declared, field)],
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

/** Fields of joined documents stand under Denormalization; what stands there is kept fresh. */
function* listed(facts: Facts, contract: Contract): Iterable<Verdict> {
  const pieces = denormalization(facts);
  const design = pieces.filter(({ at }) => at.file === facts.design?.file);
  const model = facts.design?.model;
  if (!model) return;
  if (design.length === 0) {
    yield missing('a bullet Denormalization');
    return;
  }
  const text = design.map((piece) => piece.text).join(' ');
  for (const declared of contract.declared) {
    const { spec } = declared;
    if (spec.kind !== 'copy' || spec.joins.length === 0 || !contract.pipeline) continue;
    const row = facts.rows.find(({ name }) => name === declared.name);
    for (const field of joinedFields(spec, model, contract.pipeline)) {
      if (!new RegExp(String.raw`\b${field}\b`).test(text))
        yield {
          severity: 'warning',
          message: `${declared.name} copies ${field} from a joined document; it isn't listed under Denormalization`,
          at: design[0]?.at ?? declared.at,
          related: [row?.at ?? declared.at],
        };
    }
  }
  for (const { text: piece, at } of design) {
    for (const match of piece.matchAll(/\b([A-Za-z_][\w-]*)\.([A-Za-z_]\w*)\b/g)) {
      const detail = facts.detail(match[1]);
      if (!detail) {
        const best = near(
          match[1] ?? '',
          facts.containers.map(({ container }) => container.name),
        );
        if (best !== undefined)
          yield {
            severity: 'warning',
            message: `Denormalization names ${match[0]}; no container is called ${match[1] ?? ''}`,
            at,
            mend: `Did you mean ${best}?`,
          };
        continue;
      }
      const known = new Set(detail.container.types.flatMap(({ examples }) => examples.flatMap(Object.keys)));
      const field = match[2] ?? '';
      if (known.size > 0 && !known.has(field))
        yield {
          message: `Denormalization names ${match[0]}, which no example has`,
          at,
          mend: suggestField(field, known),
          related: [detail.container.at],
        };
      const copied = /\b(to|in|into|as|到)\W{0,3}$/i.test(piece.slice(0, match.index));
      if (copied && known.has(field) && !keptFresh(facts, contract, detail.container.name))
        yield {
          message: `${match[0]} is a copy, and no projection keeps it fresh`,
          at,
          related: [detail.container.at],
        };
    }
  }
}

const keptFresh = (facts: Facts, contract: Contract, container: string): boolean =>
  contract.pipeline
    ? contract.declared.some(({ into }) => into?.container === container)
    : facts.rows.some(({ sink }) => sink?.container.toLowerCase() === container.toLowerCase());

/** Sink fields whose value changes with a joined document. */
function joinedFields(
  spec: Extract<Whole, { kind: 'copy' }>,
  model: Parameters<typeof trace>[1],
  pipeline: Pipeline,
): string[] {
  const found = new Set<string>();
  for (const { source, joined, output } of trace(spec, model, pipeline).runs) {
    for (const [name, doc] of Object.entries(joined)) {
      if (!doc) continue;
      for (const field of Object.keys(doc)) {
        for (const target of Object.keys(output)) {
          if (depends(doc, field, (changed) => spec.map(source, { ...joined, [name]: changed })[target] ?? null))
            found.add(target);
        }
      }
    }
  }
  return [...found];
}

/** `customerName` beside a type `customer` with a `name`: a copy by its name, which somebody must keep fresh. */
function* stale(facts: Facts, contract: Contract): Iterable<Verdict> {
  const types = facts.containers.flatMap(({ container, derived }) =>
    container.types.map((type) => ({ container, type, derived })),
  );
  const copied = (name: string) =>
    types.find(
      ({ type }) =>
        name.toLowerCase().startsWith(type.name.toLowerCase()) &&
        type.examples.some((example) =>
          Object.keys(example).some(
            (field) => field !== 'id' && `${type.name}${field.charAt(0).toUpperCase()}${field.slice(1)}` === name,
          ),
        ),
    );
  for (const { container, type } of types) {
    if (keptFresh(facts, contract, container.name)) continue;
    const inside = type.examples.flatMap((example) => [
      ...Object.keys(example),
      ...Object.values(example).flatMap((value) =>
        Array.isArray(value) ? value.filter(isObject).flatMap(Object.keys) : [],
      ),
    ]);
    for (const field of new Set(inside)) {
      const origin = copied(field);
      if (!origin || origin.type === type) continue;
      const told = facts.prose.some(
        ({ text, label }) => new RegExp(String.raw`\b${field}\b`).test(text) && SNAPSHOT.test(`${label ?? ''} ${text}`),
      );
      if (!told)
        yield {
          message: `${container.name} (${type.name}) holds ${field}, a copy of ${origin.container.name} (${origin.type.name}), and no projection keeps it fresh`,
          at: type.at,
          related: [origin.type.at],
          mend: 'Declare a projection, or say that it is a snapshot ("as sold").',
        };
    }
  }
}
