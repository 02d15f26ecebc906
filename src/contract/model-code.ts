// G21: the document and model.ts are compared in both directions.
import { canonical } from '../base/json.ts';
import { toModel } from '../model/code/to-model.ts';
import { fromDocument } from '../model/code/write.ts';
import { indexingForm } from '../model/container-definitions.ts';
import type { Field, Fields } from '../model/fields.ts';
import {
  type Container,
  type ContainerFact,
  type DocumentType,
  type Model,
  type SourceLine,
  containerOf,
} from '../model/model.ts';
import type { Found, Rule } from '../model/rules/rule.ts';
import { missing, noDesign } from '../model/rules/rule.ts';
import { suggestion } from '../base/near.ts';
import { shardedContainers, whereIs } from '../pipeline/places.ts';
import type { Contract, SourceText } from './declared.ts';

const FILE = 'model.ts';

export function modelCode(contract: Contract): Rule[] {
  return [
    {
      id: 'G21',
      title: 'The document and model.ts say the same',
      why: 'Hosts read model.ts alone: keys, time to live, indexes, throughput, types and fields. The document is what a team reviews. A field of model.ts may allow more than the examples show: `number` where they are whole, `optional` where each has it.',
      hint: 'Change the side that is wrong. `millrace model types` writes model.ts from the document.',
      *check({ design }) {
        const { pipeline, source } = contract;
        if (!pipeline || !source?.model) {
          yield missing(FILE);
          return;
        }
        if (!design) {
          yield noDesign;
          return;
        }
        const code = toModel(pipeline.model, source.model.file);
        yield* written(source.model, design.model, source.documentDigest);
        yield* differences(design.model, code, source.model, (model, { name }) => {
          const places = shardedContainers(pipeline, model);
          return places && whereIs(places, name);
        });
      },
    },
  ];
}

/** Line 1 of a model.ts that was written from the document names the document's digest. */
function* written({ file, text }: SourceText, model: Model, digest: string | undefined): Iterable<Found> {
  const [first = ''] = text.split('\n');
  const [, document = '', stated] = /^\/\/ from (.+), sha256 ([0-9a-f]{64})\s*$/.exec(first) ?? [];
  if (stated === undefined || digest === undefined || stated === digest) return;
  yield {
    severity: 'warning',
    message: `${FILE} was written from another state of ${document}`,
    at: { file: model.file, line: 1 },
    evidence: `line 1 would be: ${fromDocument(document, digest)}`,
    related: [{ file, line: 1 }],
  };
}

type Whereabouts = (model: Model, container: Container) => string | undefined;

function* differences(document: Model, code: Model, source: SourceText, whereabouts: Whereabouts): Iterable<Found> {
  const [stated, declared] = [document, code].map(({ containers }) => containers.map(({ name }) => name));
  for (const container of document.containers) {
    const other = containerOf(code, container.name);
    if (!other) {
      const near = suggestion(container.name, declared?.filter((name) => !stated?.includes(name)) ?? []);
      yield {
        message: `Container ${container.name} is in the document, but not in ${FILE}${near}`,
        at: container.at,
        related: [{ file: source.file, line: 1 }],
      };
      continue;
    }
    const at = lineOf(source, container.name);
    for (const { what, fact, form, say } of FACTS) {
      if (canonical(form(container) ?? null) === canonical(form(other) ?? null)) continue;
      yield {
        message: `${what} of ${container.name}: ${say(container)} in the document, ${say(other)} in ${FILE}`,
        at: (fact && container.places[fact]) ?? container.at,
        related: [at],
      };
    }
    const [where, declaredWhere] = [whereabouts(document, container), whereabouts(code, other)];
    if (where !== declaredWhere)
      yield {
        message: `The place of ${container.name}: ${where ?? 'not stated'} in the document, ${declaredWhere ?? 'not stated'} in ${FILE}`,
        at: document.shardMaps?.[0]?.at ?? container.at,
        related: [at],
      };
    yield* typesOf(container, other, source, at);
  }
  for (const { name } of code.containers.filter((container) => !containerOf(document, container.name)))
    yield {
      message: `Container ${name} is in ${FILE}, but not in the document`,
      at: lineOf(source, name),
    };
}

interface Compared {
  readonly what: string;
  readonly fact?: ContainerFact;
  /** Equal where both sides say the same. */
  readonly form: (container: Container) => unknown;
  readonly say: (container: Container) => string;
}

const NONE = 'none';
const uniqueForm = ({ uniqueKeys = [] }: Container): string[] =>
  uniqueKeys.map(({ paths }) => paths.join(', ')).toSorted();

const FACTS: readonly Compared[] = [
  {
    what: 'The partition key',
    fact: 'partitionKey',
    form: ({ partitionKey }) => partitionKey,
    say: ({ partitionKey }) => partitionKey.join(', ') || NONE,
  },
  {
    what: 'The time to live',
    fact: 'defaultTtl',
    form: ({ defaultTtl }) => defaultTtl,
    say: ({ defaultTtl }) =>
      defaultTtl === undefined ? 'off' : defaultTtl === -1 ? 'per document' : `${defaultTtl} s`,
  },
  {
    what: 'The unique keys',
    fact: 'uniqueKeys',
    form: uniqueForm,
    say: (container) => uniqueForm(container).join('; ') || NONE,
  },
  {
    what: 'The indexing policy',
    fact: 'indexingPolicy',
    form: ({ indexingPolicy }) => indexingPolicy && indexingForm(indexingPolicy),
    say: ({ indexingPolicy }) =>
      indexingPolicy
        ? [
            ...(indexingPolicy.includedPaths ?? []).map(({ path }) => path),
            ...(indexingPolicy.excludedPaths ?? []).map(({ path }) => `not ${path}`),
            ...(indexingPolicy.compositeIndexes ?? []).map((by) =>
              by.map(({ path, order }) => `${path} ${order}`).join(' then '),
            ),
          ].join(', ')
        : 'every path',
  },
  {
    what: 'The throughput',
    fact: 'throughput',
    form: ({ throughput }) => throughput,
    say: ({ throughput }) => (throughput ? `${throughput.kind} ${throughput.max}` : NONE),
  },
  {
    what: 'Reference data',
    form: ({ reference }) => reference,
    say: ({ reference }) => (reference ? 'yes' : 'no'),
  },
];

function* typesOf(document: Container, code: Container, source: SourceText, at: SourceLine): Iterable<Found> {
  for (const type of document.types) {
    const other = code.types.find(({ name }) => name === type.name);
    if (other)
      yield* fieldsOfType(document.name, type, other, {
        file: source.file,
        line: lineOf(source, type.name, at.line).line,
      });
    else
      yield {
        message: `Type ${type.name} of ${document.name} is in the document, but not in ${FILE}`,
        at: type.at,
        related: [at],
      };
  }
  for (const { name } of code.types.filter((type) => !document.types.some((of) => of.name === type.name)))
    yield {
      message: `Type ${name} of ${document.name} is in ${FILE}, but the document has no example of it`,
      at: document.at,
      related: [lineOf(source, name, at.line)],
    };
}

function* fieldsOfType(container: string, type: DocumentType, code: DocumentType, at: SourceLine): Iterable<Found> {
  // A type without examples shows nothing.
  if (type.examples.length === 0) return;
  for (const { path, document, code: declared } of fieldPairs(type.fields, code.fields, '')) {
    const [shown, said] = [sayField(document), sayField(declared)];
    yield {
      message: `Field ${path} of ${container}/${type.name}: ${shown} in the document, ${said} in ${FILE}`,
      at: type.at,
      related: [at],
    };
  }
}

interface FieldPair {
  readonly path: string;
  readonly document: Field | undefined;
  readonly code: Field | undefined;
}

function* fieldPairs(document: Fields, code: Fields, within: string): Iterable<FieldPair> {
  for (const name of new Set([...Object.keys(document), ...Object.keys(code)])) {
    const [shown, declared] = [own(document, name), own(code, name)];
    // An example shows no field that documents may lack.
    if (!shown && declared?.isOptional) continue;
    yield* fieldPair(shown, declared, within + name);
  }
}

const own = (fields: Fields, name: string): Field | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

function* fieldPair(document: Field | undefined, code: Field | undefined, path: string): Iterable<FieldPair> {
  if (!document || !code || !allows(code, document)) yield { path, document, code };
  else if (document.fields && code.fields) yield* fieldPairs(document.fields, code.fields, `${path}.`);
  else if (document.element && code.element) yield* fieldPair(document.element, code.element, `${path}[]`);
}

/** Whether what examples show is a value of the declared field; what is inside is compared for itself. */
function allows(code: Field, shown: Field): boolean {
  if (shown.isOptional && !code.isOptional) return false;
  if (code.kind === 'any') return true;
  if (shown.isNullable && !code.isNullable) return false;
  // Of a field that is only null, or that has values of several kinds.
  if (shown.kind === 'any') return code.isNullable === true;
  if (shown.kind === code.kind) return true;
  return ALSO[code.kind]?.includes(shown.kind) ?? false;
}

/** What examples may show of a kind besides itself. */
const ALSO: Readonly<Partial<Record<Field['kind'], readonly Field['kind'][]>>> = {
  number: ['int'],
  text: ['moment'],
  // The reader of documents doesn't tell days from other texts.
  day: ['text'],
};

function sayField(field: Field | undefined): string {
  if (!field) return 'absent';
  const kind = field.kind === 'any' ? 'any value' : field.kind;
  return [kind, ...(field.isNullable ? ['or null'] : []), ...(field.isOptional ? ['(optional)'] : [])].join(' ');
}

/** The line in which a member of this name begins, from a line on; else that line. */
function lineOf({ file, text }: SourceText, name: string, from = 1): SourceLine {
  const escaped = name.replaceAll(/[^\w]/g, String.raw`\$&`);
  const member = new RegExp(`^\\s*['"]?${escaped}['"]?\\s*:`);
  const found = text.split('\n').findIndex((line, at) => at >= from - 1 && member.test(line));
  return { file, line: found === -1 ? from : found + 1 };
}
