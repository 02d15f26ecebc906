// Finds problems of embeds before anything runs.
import { type Model, containerOf, keyPathsOf, typeOf } from '../../model/model.ts';
import { about, error, ref, same } from '../declaration.ts';
import { typeRules } from '../discriminator.ts';
import { circles, readBy, writtenBy } from '../fields/field-flow.ts';
import type { EmbedSpec, Finding, Pipeline } from '../specs.ts';
import { matched } from './matched.ts';

/** Fields that belong to Cosmos DB, to Millrace or to the identity of a document. */
const RESERVED = new Set(['id', 'type', 'ttl', '_mr', '_src', '_etag', '_ts', '_rid', '_self', '_attachments', '_lsn']);

/** Findings of the pipeline's embeds; `checkPipeline` checks their names. */
export function checkEmbeds(pipeline: Pipeline, model: Model): Finding[] {
  return [
    ...pipeline.embeds.flatMap((spec) =>
      about(spec.name, [
        ...pointRead(spec, model),
        ...matched(`Projection ${spec.name} matches by`, spec.on, typeOf(model, spec.from), typeOf(model, spec.into)),
        ...matchedElements(spec, model),
        ...ownFields(spec, pipeline, model),
        ...writable(spec, pipeline),
      ]),
    ),
    ...ownedTwice(pipeline.embeds),
    ...circles(pipeline, model).map((names) =>
      names.length === 1
        ? error(
            'projection-cycle',
            `Projection ${names[0]} writes fields that it reads, so its writes would be its own changes`,
            'Write into another type, or into fields that it doesn’t read.',
          )
        : error(
            'projection-cycle',
            `Projections ${names.join(' → ')} → ${names[0]} feed each other in a circle`,
            'Change one of them, so that it reads only fields that the others don’t write.',
          ),
    ),
  ];
}

/** By fields of the elements of a list, which the model may know. */
function matchedElements({ name, from, into, each }: EmbedSpec, model: Model): Finding[] {
  const element = each && typeOf(model, into)?.fields[each.field]?.element?.fields;
  if (!each || !element) return [];
  const type = { name: `an element of ${each.field}`, fields: element };
  return matched(`Projection ${name} matches by`, each.on, typeOf(model, from), type);
}

function pointRead(spec: EmbedSpec, model: Model): Finding[] {
  const container = containerOf(model, spec.from.container);
  if (!container) return [];
  const covered = new Set(Object.keys({ ...spec.on, ...spec.each?.on }).map((field) => `/${field}`));
  const lacking = [...new Set(['/id', ...container.partitionKey])].filter((path) => !covered.has(path));
  const [first] = lacking;
  if (first === undefined) return [];
  const fields = lacking.map((path) => path.slice(1));
  const message = `Projection ${spec.name} matches ${ref(spec.from)} without ${fields.join(' and ')}`;
  const where = spec.each ? 'on or onEach' : 'on';
  const hint = `Add ${fields.map((field) => `${field}: '…'`).join(', ')} to its ${where}: id and the whole partition key.`;
  return [error('join-not-a-point-read', message, hint)];
}

/** An embed must not write a reserved field, a field of its match or of the partition key, or a field that it reads. */
function ownFields(spec: EmbedSpec, { sources }: Pipeline, model: Model): Finding[] {
  const keys = keyPathsOf(model, spec.into.container).map((path) => path.split('/')[1] ?? '');
  const match = new Set([...Object.values(spec.each?.on ?? spec.on), ...(spec.each ? [] : keys)]);
  const read = readBy(spec, model, sources).item;
  return Object.keys(spec.set).flatMap((field) => {
    if (!spec.each && RESERVED.has(field))
      return error('embed-reserved', `Projection ${spec.name} sets the reserved field ${field}`, 'Set another field.');
    if (match.has(field)) {
      const message = `Projection ${spec.name} sets ${field}, which identifies its parent or its partition`;
      return error('embed-writes-its-match', message, 'Set another field.');
    }
    if (!read.has(field)) return [];
    const message = `Projection ${spec.name} sets ${field}, and also reads it from the same ${spec.each ? 'element' : 'child'}`;
    return error('reads-what-it-writes', message, 'Compute it from the parent and from other fields.');
  });
}

function writable(spec: EmbedSpec, { projections, sources }: Pipeline): Finding[] {
  const findings: Finding[] = [];
  const writer = projections.find(({ into }) => same(into, spec.into));
  if (writer) {
    const message = `Projection ${spec.name} embeds into ${ref(spec.into)}, but projection ${writer.name} writes these documents whole`;
    const hint = `Join ${ref(spec.from)} in ${writer.name} instead, under with.`;
    findings.push(error('embed-into-derived', message, hint));
  }
  if (typeRules(sources, spec.into).upcast) {
    const message = `Projection ${spec.name} embeds into ${ref(spec.into)}, whose documents may be stored in an older shape`;
    findings.push(
      error('embed-into-upcast', message, 'Rewrite them in the present shape, and remove upcast from their source().'),
    );
  }
  return findings;
}

function ownedTwice(embeds: readonly EmbedSpec[]): Finding[] {
  return embeds.flatMap((spec, at) => {
    for (const other of embeds.slice(0, at)) {
      const field = same(spec.into, other.into)
        ? writtenBy(spec).find((one) => overlaps(one, writtenBy(other)))
        : undefined;
      if (field === undefined) continue;
      const message = `Projections ${other.name} and ${spec.name} both write ${field} of ${ref(spec.into)}`;
      return about(spec.name, [error('field-owned-twice', message, 'Remove the field from one of them.')]);
    }
    return [];
  });
}

/** A field overlaps with the fields inside it: a list with the fields of its elements. */
const overlaps = (field: string, others: readonly string[]): boolean =>
  others.some((other) => field === other || field.startsWith(`${other}.`) || other.startsWith(`${field}.`));
