import { SHARED_ERRORS } from './shared-errors.ts';
import { MillraceError } from './errors.ts';
import { isObject } from './json.ts';

/**
 * The format in which this version writes a kind of document, and the highest format that it reads. It reads every lower
 * one.
 */
export interface Format {
  readonly writes: number;
  readonly reads: number;
}

/**
 * Every kind of document that Millrace stores (docs/SPEC-upgrades.md says where). Kinds whose documents have a `type` are
 * named after it. Raise `reads` in one release and `writes` in the next, so that hosts of both versions may run together.
 * Queries over a group don't return the number of a `contribution` or a `value`. So raise `own` together with these: a
 * fold always reads the aggregate, which has `own`.
 */
export const FORMATS = {
  // One document for each pipeline, projection version, container or operation.
  views: { writes: 1, reads: 1 },
  fingerprint: { writes: 1, reads: 1 },
  starts: { writes: 1, reads: 1 },
  epoch: { writes: 1, reads: 1 },
  erasures: { writes: 1, reads: 1 },
  lease: { writes: 1, reads: 1 },
  gate: { writes: 1, reads: 1 },
  writer: { writes: 1, reads: 1 },
  migration: { writes: 1, reads: 1 },
  checkpoint: { writes: 1, reads: 1 },
  status: { writes: 1, reads: 1 },
  verification: { writes: 1, reads: 1 },
  input: { writes: 1, reads: 1 },
  run: { writes: 1, reads: 1 },
  lock: { writes: 1, reads: 1 },
  certificate: { writes: 1, reads: 1 },
  hold: { writes: 1, reads: 1 },
  tenantsizes: { writes: 1, reads: 1 },
  budget: { writes: 1, reads: 1 },
  sweeping: { writes: 1, reads: 1 },
  // The database of shard maps, and a container in every shard.
  mapstore: { writes: 1, reads: 1 },
  shardmap: { writes: 1, reads: 1 },
  localmap: { writes: 1, reads: 1 },
  shard: { writes: 1, reads: 1 },
  mapping: { writes: 1, reads: 1 },
  mapoperation: { writes: 1, reads: 1 },
  move: { writes: 1, reads: 1 },
  moverange: { writes: 1, reads: 1 },
  shardgate: { writes: 1, reads: 1 },
  router: { writes: 1, reads: 1 },
  // In a container of the application.
  fence: { writes: 1, reads: 1 },
  // One document or more for each source document.
  locator: { writes: 1, reads: 1 },
  contribution: { writes: 1, reads: 1 },
  value: { writes: 1, reads: 1 },
  own: { writes: 1, reads: 1 },
  join: { writes: 1, reads: 1 },
  embed: { writes: 1, reads: 1 },
  listed: { writes: 1, reads: 1 },
  published: { writes: 1, reads: 1 },
  archived: { writes: 1, reads: 1 },
  restoring: { writes: 1, reads: 1 },
  deadLetter: { writes: 1, reads: 1 },
  deferred: { writes: 1, reads: 1 },
  // Blobs.
  manifest: { writes: 1, reads: 1 },
  line: { writes: 1, reads: 1 },
  letterBody: { writes: 1, reads: 1 },
  // The job datastore.
  job: { writes: 1, reads: 1 },
  // Documents that applications write by `millrace/patterns`.
  uniqueness: { writes: 1, reads: 1 },
  reservation: { writes: 1, reads: 1 },
  bin: { writes: 1, reads: 1 },
} satisfies Record<string, Format>;

export type Kind = keyof typeof FORMATS;

const formats: Readonly<Record<string, Format>> = FORMATS;

/**
 * A stored document has a format that this version can't read. Millrace parks no change because of it, and no checkpoint
 * passes the change: the host reads the page again, and succeeds after its upgrade.
 */
export class FormatUnreadable extends MillraceError<'format-too-new'> {
  readonly kind: Kind;
  /** The stored value, of any type. */
  readonly format: unknown;

  constructor(kind: Kind, format: unknown, id: unknown) {
    const { reads }: Format = FORMATS[kind];
    const named = typeof id === 'string' ? ` ${JSON.stringify(id)}` : '';
    super(
      'format-too-new',
      `The ${NAMES[kind] ?? kind} document${named} has format ${JSON.stringify(format)}; this version of Millrace reads ${reads === 1 ? 'format 1' : `formats 1 to ${reads}`}`,
      SHARED_ERRORS['format-too-new'],
    );
    this.kind = kind;
    this.format = format;
  }
}

/** Names for messages, where the name of the kind isn't clear. */
const NAMES: Partial<Record<Kind, string>> = {
  own: '_mr of the',
  deadLetter: 'dead letter',
  letterBody: 'dead letter body',
  line: 'archived',
  archived: 'archive entry',
};

/** What a writer adds to a document of this kind: the field `format`, or nothing while the format is 1. */
export function formatOf(kind: Kind): { readonly format?: number } {
  const { writes }: Format = FORMATS[kind];
  return writes > 1 ? { format: writes } : {};
}

/** Whether this version reads a document of this kind and format. A document without a format has format 1. */
export function isReadable(kind: Kind, format: unknown = 1): boolean {
  const { reads }: Format = FORMATS[kind];
  return Number.isInteger(format) && Number(format) >= 1 && Number(format) <= reads;
}

/** @throws FormatUnreadable */
export function assertFormat(kind: Kind, format: unknown, id?: unknown): void {
  if (!isReadable(kind, format)) throw new FormatUnreadable(kind, format ?? 1, id);
}

/**
 * Checks the format of a stored document; `kindOf` finds the kind. In a user's document it checks only Millrace's part,
 * `_mr`.
 * @throws FormatUnreadable
 */
export function assertReadable(document: unknown): void {
  if (!isObject(document)) return;
  const { format, id, _mr: own } = document;
  const kind = kindOf(document);
  if (kind !== undefined) assertFormat(kind, format, id);
  if (isObject(own)) assertFormat('own', own['format'], id);
}

/** The kind of a stored document; undefined if it isn't a document of Millrace. */
export function kindOf({ type, kind, pk, epoch }: Record<string, unknown>): Kind | undefined {
  if (typeof type === 'string' && type.startsWith('millrace.')) {
    const named = type.slice('millrace.'.length);
    return named in formats ? (named as Kind) : undefined;
  }
  // The `pk` alone doesn't prove it: a user's document may have the same value.
  if (pk === 'epochs' && typeof epoch === 'number') return 'epoch';
  const letter = typeof kind === 'string' && kind.startsWith('dead-letter');
  return letter && typeof pk === 'string' && pk.startsWith('dead-letters|') ? 'deadLetter' : undefined;
}

/** The condition of a patch without an ETag: the stored format is not above the highest that this version reads. */
export function readableWhere(kind: Kind, path = 'c.format'): string {
  const { reads }: Format = FORMATS[kind];
  return `(NOT IS_DEFINED(${path}) OR ${path} <= ${reads})`;
}
