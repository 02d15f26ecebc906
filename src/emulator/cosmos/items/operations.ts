import { refusalOfId } from '../../../base/item-id.ts';
import { exactParse } from '../wire/exact-json.ts';
import { conditionHolds } from '../query/condition.ts';
import {
  createCharge,
  deleteCharge,
  patchCharge,
  readCharge,
  REFUSED_CHARGE,
  replaceCharge,
} from '../time-and-charge/charge.ts';
import type { StoredVersion } from '../storage/logical-partition.ts';
import { keyText } from '../storage/keys.ts';
import { applyPatch, parsePatch } from './patch.ts';
import type { Transaction } from './transaction.ts';
import { badRequest, conflict, notFound, preconditionFailed } from '../wire/wire.ts';
import type { WireDoc, WireError } from '../wire/wire.ts';

/** One operation on one item, from a request of its own or from a batch. */
export interface ItemOperation {
  readonly type: 'Create' | 'Upsert' | 'Read' | 'Replace' | 'Delete' | 'Patch';
  readonly id?: string | undefined;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

export interface ItemOperationResult {
  readonly status: number;
  readonly charge: number;
  readonly etag?: string;
  readonly text?: string;
}

/** Stages one operation; throws a WireError if the service refuses it. */
export function perform(tx: Transaction, operation: ItemOperation): ItemOperationResult {
  switch (operation.type) {
    case 'Create':
      return create(tx, operation);
    case 'Upsert':
      return upsert(tx, operation);
    case 'Read':
      return read(tx.read(requireId(operation)), operation.ifNoneMatch);
    case 'Replace':
      return replace(tx, operation);
    case 'Delete':
      return remove(tx, operation);
    case 'Patch':
      return patch(tx, operation);
    default:
      throw badRequest(`Unknown operation type ${JSON.stringify(operation.type)}.`);
  }
}

export function read(version: StoredVersion | undefined, ifNoneMatch: string | undefined): ItemOperationResult {
  if (!version) throw charged(notFound(), REFUSED_CHARGE);
  if (ifNoneMatch !== undefined && (ifNoneMatch === '*' || ifNoneMatch === version.etag)) {
    return { status: 304, charge: REFUSED_CHARGE, etag: version.etag };
  }
  return { status: 200, charge: readCharge(version.size), etag: version.etag, text: version.text };
}

function create(tx: Transaction, operation: ItemOperation): ItemOperationResult {
  const doc = documentOf(tx, operation);
  const id = doc.id as string;
  if (tx.read(id)) throw charged(conflict(), REFUSED_CHARGE);
  const { etag, text } = tx.put(id, doc);
  return { status: 201, charge: createCharge(text.length), etag, text };
}

function upsert(tx: Transaction, operation: ItemOperation): ItemOperationResult {
  const doc = documentOf(tx, operation);
  const id = doc.id as string;
  const before = tx.read(id);
  // The service checks If-Match only if the upsert replaces an item (ASM-E14).
  if (before) checkConditions(before, operation);
  const { etag, text } = tx.put(id, doc);
  return before
    ? { status: 200, charge: replaceCharge(text.length), etag, text }
    : { status: 201, charge: createCharge(text.length), etag, text };
}

function replace(tx: Transaction, operation: ItemOperation): ItemOperationResult {
  const id = requireId(operation);
  const doc = documentOf(tx, operation);
  const before = existing(tx, id, operation);
  if (doc.id !== id) {
    if (tx.read(doc.id as string)) throw charged(conflict(), REFUSED_CHARGE);
    tx.remove(before.item.id);
  }
  const { etag, text } = tx.put(doc.id as string, doc);
  return { status: 200, charge: replaceCharge(text.length), etag, text };
}

function remove(tx: Transaction, operation: ItemOperation): ItemOperationResult {
  const before = existing(tx, requireId(operation), operation);
  tx.remove(before.item.id);
  return { status: 204, charge: deleteCharge(before.size) };
}

function patch(tx: Transaction, operation: ItemOperation): ItemOperationResult {
  const { operations, condition } = parsePatch(operation.body);
  const before = existing(tx, requireId(operation), operation);
  const now = (): number => tx.account.now();
  if (condition !== undefined && !conditionHolds(condition, before.doc, now)) {
    throw charged(preconditionFailed(), REFUSED_CHARGE);
  }
  const doc = exactParse(before.text) as WireDoc;
  applyPatch(doc, operations, tx.container.keys.definition.paths);
  const { etag, text } = tx.put(before.item.id, doc);
  return { status: 200, charge: patchCharge(text.length), etag, text };
}

function existing(tx: Transaction, id: string, operation: ItemOperation): StoredVersion {
  const before = tx.read(id);
  if (!before) throw charged(notFound(), REFUSED_CHARGE);
  checkConditions(before, operation);
  return before;
}

function checkConditions(before: StoredVersion, { ifMatch, ifNoneMatch }: ItemOperation): void {
  const stale = ifMatch !== undefined && ifMatch !== '*' && ifMatch !== before.etag;
  const same = ifNoneMatch !== undefined && (ifNoneMatch === '*' || ifNoneMatch === before.etag);
  if (stale || same) throw charged(preconditionFailed(), REFUSED_CHARGE);
}

function requireId(operation: ItemOperation): string {
  if (typeof operation.id !== 'string') throw badRequest("The operation needs the item's id.");
  return operation.id;
}

/** The body as a document of this partition, its id checked. */
function documentOf(tx: Transaction, { body }: ItemOperation): WireDoc {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest('The document must be a JSON object. One of the input values is invalid.');
  }
  const doc = body as WireDoc;
  checkId(doc.id);
  if (keyText(tx.container.keys.of(doc)) !== tx.home.text) {
    throw badRequest("PartitionKey extracted from document doesn't match the one specified in the header.", 1001);
  }
  return doc;
}

export function checkId(id: unknown): void {
  if (typeof id !== 'string' || id === '') {
    throw badRequest("The input content is invalid because the required properties - 'id; ' - are missing.");
  }
  const why = refusalOfId(id);
  if (why !== undefined) throw badRequest(`The id ${why}.`);
}

/** Adds the charge of a refused operation. */
export function charged(error: WireError, charge: number): WireError {
  error.headers['x-ms-request-charge'] = String(charge);
  return error;
}
