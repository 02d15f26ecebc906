// Checks the code's projections against the document: the names must exist, and joins must be point reads.
import { fieldAt } from '../../model/fields.ts';
import { type Container, type DocumentType, type Model, containerOf } from '../../model/model.ts';
import { feedModeOf } from '../all-versions.ts';
import { isUnindexed, unindexed } from '../archive-index.ts';
import { about, error, ref, same } from '../declaration.ts';
import type {
  ArchiveSpec,
  Finding,
  IngestSpec,
  Join,
  Pipeline,
  ProjectionSpec,
  ReferenceSpec,
  SourceRef,
} from '../specs.ts';
import { didYouMean } from '../../base/near.ts';
import { checkEmbeds } from './embeds.ts';
import { checkExamples } from './examples.ts';
import { checkShards } from './shards.ts';
import { matched } from './matched.ts';
import { checkTables } from './tables.ts';
import { checkTenants } from './tenants.ts';
import { feedReaders, sourcesOf } from '../pipeline.ts';

/** Findings of the pipeline's declaration and of its comparison with the model, errors first. */
export function checkPipeline(pipeline: Pipeline, model: Model): Finding[] {
  const findings = [...pipeline.findings];
  for (const rules of pipeline.sources) find(model, rules, 'source() names', findings);
  for (const projection of pipeline.projections)
    findings.push(...about(projection.name, checkProjection(projection, model)));
  for (const archive of pipeline.archives)
    findings.push(...about(archive.name, checkArchive(archive, pipeline, model)));
  for (const { name, from } of pipeline.publishes)
    findings.push(...about(name, unknown(model, [from], `Projection ${name} publishes`)));
  for (const effect of pipeline.effects)
    findings.push(...about(effect.name, unknown(model, sourcesOf(effect), `Projection ${effect.name} reads`)));
  for (const { name, from, into } of pipeline.embeds) {
    findings.push(...about(name, unknown(model, [from], `Projection ${name} reads`)));
    findings.push(...about(name, unknown(model, [into], `Projection ${name} embeds into`)));
  }
  // Only without errors so far: an unknown name would be reported a second time.
  if (!findings.some(({ severity }) => severity === 'error'))
    findings.push(...checkExamples(pipeline, model), ...checkTenants(pipeline, model), ...checkTables(pipeline, model));
  findings.push(...checkEmbeds(pipeline, model), ...checkShards(pipeline, model));
  for (const ingest of pipeline.ingests) findings.push(...about(ingest.name, checkIngest(ingest, pipeline, model)));
  if (feedReaders(pipeline).length + pipeline.ingests.length === 0) {
    findings.push({
      code: 'no-projections',
      severity: 'warning',
      message: 'The pipeline has no projections',
      hint: 'Declare a copy or an aggregate.',
    });
  }
  return [
    ...findings.filter((finding) => finding.severity === 'error'),
    ...findings.filter((finding) => finding.severity !== 'error'),
  ];
}

function checkProjection(projection: ProjectionSpec, model: Model): Finding[] {
  const findings: Finding[] = [];
  const from = find(model, projection.from, `Projection ${projection.name} reads`, findings);
  const sink = find(model, projection.into, `Projection ${projection.name} writes`, findings);
  if (sink) findings.push(...checkKey(`Projection ${projection.name}`, sink), ...ownDocuments(projection, sink));
  if (projection.kind === 'copy') {
    for (const join of projection.joins) {
      const joined = find(model, join.of, `Projection ${projection.name} joins`, findings);
      if (!joined) continue;
      findings.push(...checkJoin(projection, join, joined));
      findings.push(
        ...matched(`Projection ${projection.name} joins ${join.name} by`, join.on, joined.type, from?.type),
      );
    }
  }
  if (projection.kind === 'reference') {
    const tenants = find(model, projection.tenants, `Projection ${projection.name} lists its tenants by`, findings);
    findings.push(...checkTenantKey(projection, sink));
    findings.push(
      ...matched(`Projection ${projection.name} takes its key from`, projection.key, sink?.type, tenants?.type),
    );
  }
  return findings;
}

/** If no part of the key came from the tenant, the copies of all tenants would have the same key and id. */
function checkTenantKey({ name, key }: ReferenceSpec, sink: Found | undefined): Finding[] {
  const paths = sink?.container.partitionKey ?? [];
  if (!sink || paths.some((path) => Object.hasOwn(key, path.slice(1)))) return [];
  const message = `Projection ${name} takes no part of its sink's partition key from the tenant`;
  return [error('reference-key', message, `Add one of ${paths.map((path) => path.slice(1)).join(', ')} to its key.`)];
}

/** Projections and joins can't read a document after it left its container. */
function checkArchive(archive: ArchiveSpec, pipeline: Pipeline, model: Model): Finding[] {
  const { projections } = pipeline;
  const findings: Finding[] = [];
  const { name, dateField, from } = archive;
  const found = find(model, from, `Archive ${name} reads`, findings);
  if (found && found.type.fields[dateField] === undefined) {
    const message = `Archive ${name} uses the date ${dateField}, which ${from.type} in ${found.container.name} doesn't have`;
    findings.push(error('archive-date-unknown', message, 'Name a field of the document, or add it to the model.'));
  }
  if (found && isUnindexed(archive, found.container.indexingPolicy))
    findings.push({ code: 'archive-unindexed', severity: 'warning', ...unindexed(archive) });
  if (found && found.container.defaultTtl === undefined && feedModeOf(pipeline, from.container) === 'all-versions') {
    const message = `Archive ${name} takes ${ref(from)} from a container that is read by its all-versions feed and has no default time to live: documents that leave would never expire`;
    const hint = `State \`ttl: 'per document'\` for ${from.container} in the model, then run \`millrace model apply\`.`;
    findings.push(error('archive-no-ttl', message, hint));
  }
  if (archive.keep && feedModeOf(pipeline, from.container) === 'all-versions') {
    const message = `Archive ${name} deletes documents after a time, and its container is read by the all-versions feed: an expiry that no host has read yet would be taken for a deletion`;
    findings.push(error('archive-keep-feed', message, 'Remove keep, or read the container by its latest versions.'));
  }
  for (const projection of projections) {
    if (same(projection.into, from)) {
      const message = `Archive ${name} takes ${ref(from)}, which projection ${projection.name} writes`;
      findings.push(
        error('archive-of-derived', message, 'Archive its source instead; derived documents can be recomputed.'),
      );
    }
    if (projection.kind === 'copy' && projection.joins.some(({ of }) => same(of, from))) {
      const message = `Archive ${name} takes ${ref(from)}, which projection ${projection.name} joins`;
      const hint = 'Don’t archive joined documents: a join doesn’t find them in the archive.';
      findings.push(error('archive-of-joined', message, hint));
    }
  }
  return findings;
}

/** An ingest writes source documents: a projection must not write documents of the same type. */
function checkIngest({ name, from, into }: IngestSpec, { projections, publishes }: Pipeline, model: Model): Finding[] {
  const findings: Finding[] = [];
  const sink = find(model, into, `Ingest ${name} writes`, findings);
  if (sink) findings.push(...checkKey(`Ingest ${name}`, sink));
  for (const projection of projections) {
    if (!same(projection.into, into)) continue;
    const message = `Ingest ${name} writes ${ref(into)}, which projection ${projection.name} writes too`;
    findings.push(error('ingest-into-derived', message, 'Give one of them another type.'));
  }
  for (const publish of publishes) {
    if (publish.to !== from || !same(publish.from, into)) continue;
    const message = `Ingest ${name} reads ${from} into ${ref(into)}, which ${publish.name} publishes to ${from} again`;
    findings.push(error('hub-cycle', message, 'Publish to another event hub.'));
  }
  return findings;
}

/** Findings for names that the model doesn't have. */
function unknown(model: Model, names: readonly SourceRef[], what: string): Finding[] {
  const findings: Finding[] = [];
  for (const of of names) find(model, of, what, findings);
  return findings;
}

interface Found {
  readonly container: Container;
  readonly type: DocumentType;
}

function find(model: Model, of: SourceRef, what: string, findings: Finding[]): Found | undefined {
  const container = containerOf(model, of.container);
  if (!container) {
    const names = model.containers.map(({ name }) => name);
    const message = `${what} container ${of.container}, which ${model.file} doesn't have`;
    findings.push(error('container-unknown', message, didYouMean(of.container, names)));
    return undefined;
  }
  const type = container.types.find(({ name }) => name === of.type);
  if (!type) {
    const names = container.types.map(({ name }) => name);
    const message = `${what} ${ref(of)}, which ${container.name} in ${model.file} doesn't have`;
    findings.push(error('type-unknown', message, didYouMean(of.type, names)));
    return undefined;
  }
  return { container, type };
}

/** A join is a point read by id and whole key: it finds at most one document, and a change finds its dependent copies. */
function checkJoin(projection: ProjectionSpec, join: Join, { container }: Found): Finding[] {
  const covered = new Set(Object.keys(join.on).map((field) => `/${field}`));
  const lacking = ['/id', ...container.partitionKey].filter((path) => !covered.has(path));
  if (lacking.length === 0) return [];
  const fields = [...new Set(lacking)].map((path) => path.slice(1));
  const message = `Projection ${projection.name} joins ${join.name} without ${fields.join(' and ')} of ${container.name}`;
  return [
    error(
      'join-not-a-point-read',
      message,
      `Add ${fields.map((field) => `${field}: '…'`).join(', ')} to its on: id and the whole partition key.`,
    ),
  ];
}

function checkKey(what: string, { container, type }: Found): Finding[] {
  return container.partitionKey.flatMap((path) => {
    const field = fieldAt(type.fields, path);
    if (Object.keys(type.fields).length === 0 || (field && !field.isOptional)) return [];
    const message = `${what} writes ${type.name} into ${container.name}, but ${type.name} may lack its key ${path}`;
    return [
      error('sink-key-missing', message, `Give every ${type.name} the field ${path.slice(1)}, or change the key.`),
    ];
  });
}

/** Contributions and tombstones lie in the partition of their sink document, with their own ids and type. */
function ownDocuments({ name, kind }: ProjectionSpec, { container }: Found): Finding[] {
  const bad = container.partitionKey.find((path) => path === '/type' || (path === '/id' && kind === 'aggregate'));
  if (bad === undefined) return [];
  const message = `Projection ${name} can't write into ${container.name}: ${bad} is part of its partition key`;
  const hint =
    bad === '/id'
      ? 'Use a part of the group as the partition key, such as the tenant: an aggregate and its contributions share a logical partition.'
      : 'Use another property as the partition key: Millrace marks tombstones by their type.';
  return [error('sink-key-unfit', message, hint)];
}
