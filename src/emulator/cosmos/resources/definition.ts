import { indexingPolicy } from '../storage/indexing.ts';
import { badRequest } from '../wire/wire.ts';
import type { WireDoc } from '../wire/wire.ts';

const SYSTEM = ['_rid', '_self', '_etag', '_ts', '_docs', '_sprocs', '_triggers', '_udfs', '_conflicts'];
const MAX_LEVELS = 3;

/** Each name has letters, digits and `_`, or is in quotes. */
const KEY_PATH = /^(?:\/(?:[\p{L}\p{N}_]+|"[^"]+"))+$/u;

/** Checks the name of a database or container. */
export function checkName(id: unknown): asserts id is string {
  if (typeof id !== 'string' || id === '') {
    throw badRequest("The input content is invalid because the required properties - 'id; ' - are missing.");
  }
  if (/[/\\?#]/.test(id) || id.endsWith(' ') || Buffer.byteLength(id) > 255) {
    throw badRequest(
      `The name ${JSON.stringify(id)} is invalid: it must not contain '/', '\\', '?' or '#', end with a space or exceed 255 bytes.`,
    );
  }
}

/** A container's definition with the service's defaults filled in; refuses what the service refuses. */
export function containerDefinition(body: WireDoc, before?: WireDoc): WireDoc {
  checkName(body.id);
  const definition: WireDoc = {
    conflictResolutionPolicy: {
      mode: 'LastWriterWins',
      conflictResolutionPath: '/_ts',
      conflictResolutionProcedure: '',
    },
    geospatialConfig: { type: 'Geography' },
    ...body,
    indexingPolicy: indexingPolicy(body.indexingPolicy),
    partitionKey: keyDefinition(body.partitionKey ?? before?.partitionKey),
  };
  for (const name of SYSTEM) delete definition[name];
  checkTtl(definition.defaultTtl);
  if (before) checkUnchanged(definition, before);
  else checkUniqueKeys(definition.uniqueKeyPolicy);
  return definition;
}

const isPath = (path: unknown): boolean => typeof path === 'string' && path.startsWith('/');

/** Refuses changes that are not allowed after creation. If the new body has no unique keys, the old ones stay. */
function checkUnchanged(definition: WireDoc, before: WireDoc): void {
  definition.uniqueKeyPolicy ??= before.uniqueKeyPolicy;
  if (definition.uniqueKeyPolicy === undefined) delete definition.uniqueKeyPolicy;
  for (const name of ['partitionKey', 'uniqueKeyPolicy', 'id']) {
    if (JSON.stringify(definition[name]) !== JSON.stringify(before[name])) {
      throw badRequest(`Document collection ${name} cannot be changed after the container was created.`);
    }
  }
}

function keyDefinition(value: unknown): WireDoc {
  if (value === undefined || value === null) return { paths: ['/_partitionKey'], kind: 'Hash', version: 2 };
  const { paths, kind = 'Hash', version = kind === 'MultiHash' ? 2 : 1, ...rest } = value as WireDoc;
  if (!Array.isArray(paths) || paths.length === 0) throw badRequest("The partition key definition needs 'paths'.");
  for (const path of paths as unknown[]) {
    if (typeof path === 'string' && KEY_PATH.test(path)) continue;
    throw badRequest(
      `The partition key component definition path '${String(path)}' could not be accepted. Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character.`,
    );
  }
  if (kind !== 'Hash' && kind !== 'MultiHash')
    throw badRequest(`The partition key kind ${JSON.stringify(kind)} is invalid.`);
  if (version !== 1 && version !== 2)
    throw badRequest(`The partition key version ${JSON.stringify(version)} is invalid.`);
  if (kind === 'Hash' ? paths.length > 1 : paths.length > MAX_LEVELS || version !== 2) {
    throw badRequest(`Too many partition key paths (${paths.length}) for kind ${kind}, or a wrong version ${version}.`);
  }
  return { ...rest, paths, kind, version };
}

function checkTtl(ttl: unknown): void {
  if (ttl === undefined || ttl === null) return;
  if (typeof ttl !== 'number' || !Number.isInteger(ttl) || (ttl !== -1 && ttl <= 0) || ttl > 2147483647) {
    throw badRequest(
      `The input ttl '${JSON.stringify(ttl)}' is invalid. Ensure to provide a nonzero positive integer, or -1.`,
    );
  }
}

function checkUniqueKeys(policy: unknown): void {
  const keys = (policy as { uniqueKeys?: unknown } | undefined)?.uniqueKeys;
  if (keys === undefined) return;
  if (
    !Array.isArray(keys) ||
    !keys.every((key: { paths?: unknown } | null) => Array.isArray(key?.paths) && key.paths.every(isPath))
  ) {
    throw badRequest("The unique key policy needs 'uniqueKeys', each with 'paths'.");
  }
}
