import type { StoredAccount } from '../storage/account.ts';
import { wireBytesOf } from '../wire/bytes.ts';
import type { StoredContainer } from '../storage/container.ts';
import { perform } from './operations.ts';
import type { ItemOperation, ItemOperationResult } from './operations.ts';
import type { PhysicalPartition } from '../storage/physical-partition.ts';
import { chargeText, itemHeaders, reply } from '../wire/reply.ts';
import { storedHomeOf, rangeById } from '../storage/target.ts';
import { Transaction } from './transaction.ts';
import { badRequest, flag, header, parseJson, bodyText, wireTooLarge, WireError } from '../wire/wire.ts';
import type { WireCall, Reply } from '../wire/wire.ts';

const MAX_OPERATIONS = 100;
const MAX_BYTES = 2 * 1024 * 1024;

interface WireOperation extends Record<string, unknown> {
  readonly operationType: ItemOperation['type'];
}

/** A transactional batch (one key, all or nothing) or a bulk request (one range, each operation separately). */
export function batch(account: StoredAccount, call: WireCall, container: StoredContainer): Reply {
  if (call.body.length > MAX_BYTES) throw wireTooLarge();
  const operations = parseJson(bodyText(call.body));
  if (!Array.isArray(operations) || operations.length === 0) {
    throw badRequest('The batch request must hold an array of operations that is not empty.');
  }
  if (operations.length > MAX_OPERATIONS) {
    throw badRequest(
      `Batch request has more operations than what is supported: ${operations.length} of ${MAX_OPERATIONS}.`,
    );
  }
  const parsed = (operations as unknown[]).map(operationOf);
  const minimal = header(call.headers, 'prefer') === 'return=minimal';
  return flag(call.headers, 'x-ms-cosmos-batch-atomic')
    ? transactional(account, call, container, parsed, minimal)
    : bulk(account, call, container, parsed, minimal);
}

type Parsed = ItemOperation & { readonly key: string | undefined };

function operationOf(value: unknown): Parsed {
  if (typeof value !== 'object' || value === null) throw badRequest('Each operation of a batch must be an object.');
  const { operationType, id, resourceBody, ifMatch, ifNoneMatch, partitionKey } = value as WireOperation;
  return {
    type: operationType,
    id: text(id),
    body: resourceBody,
    ifMatch: text(ifMatch),
    ifNoneMatch: text(ifNoneMatch),
    key: text(partitionKey),
  };
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function transactional(
  account: StoredAccount,
  call: WireCall,
  container: StoredContainer,
  operations: Parsed[],
  minimal: boolean,
): Reply {
  const home = storedHomeOf(container, header(call.headers, 'x-ms-documentdb-partitionkey'));
  const tx = new Transaction(account, container, home);
  const results = new Results();
  let charge = 0;
  for (const operation of operations) {
    const attempted = attempt(tx, operation);
    charge += attempted.charge;
    if (attempted.error) {
      const failed = new Results();
      for (let i = 0; i < operations.length; i++) {
        if (i === results.count) failed.refused(attempted.error, attempted.charge);
        else failed.leftOut();
      }
      return answer(207, container, [tx.range], failed, charge);
    }
    results.done(attempted.result!, minimal);
  }
  tx.commit();
  return answer(200, container, [tx.range], results, charge);
}

function bulk(
  account: StoredAccount,
  call: WireCall,
  container: StoredContainer,
  operations: Parsed[],
  minimal: boolean,
): Reply {
  const rangeId = header(call.headers, 'x-ms-documentdb-partitionkeyrangeid');
  const key = header(call.headers, 'x-ms-documentdb-partitionkey');
  const range = rangeId === undefined ? undefined : rangeById(container, rangeId);
  const goOn = header(call.headers, 'x-ms-cosmos-batch-continue-on-error')?.toLowerCase() !== 'false';
  const results = new Results();
  let charge = 0;
  let failed = false;
  for (const operation of operations) {
    if (failed && !goOn) {
      results.leftOut();
      continue;
    }
    const attempted = single(account, container, range, operation, operation.key ?? key);
    charge += attempted.charge;
    failed ||= attempted.error !== undefined;
    if (attempted.error) results.refused(attempted.error, attempted.charge);
    else results.done(attempted.result!, minimal);
  }
  return answer(failed ? 207 : 200, container, range ? [range] : container.ranges, results, charge);
}

interface Attempt {
  readonly charge: number;
  readonly result?: ItemOperationResult;
  readonly error?: WireError;
}

function single(
  account: StoredAccount,
  container: StoredContainer,
  range: PhysicalPartition | undefined,
  operation: Parsed,
  key: string | undefined,
): Attempt {
  return caught(() => {
    const tx = new Transaction(account, container, storedHomeOf(container, key));
    if (range && tx.range !== range) {
      throw new WireError(410, 'The key does not belong to this partition key range.', 1002);
    }
    const result = perform(tx, operation);
    tx.commit();
    return result;
  });
}

const attempt = (tx: Transaction, operation: ItemOperation): Attempt => caught(() => perform(tx, operation));

function caught(work: () => ItemOperationResult): Attempt {
  try {
    const result = work();
    return { charge: result.charge, result };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { charge: Number(error.headers['x-ms-request-charge'] ?? 0), error };
  }
}

/** The entries of an answer, in pieces, so that a document's text is copied only once, into the page. */
class Results {
  readonly texts = ['['];
  count = 0;

  done({ status, charge, etag, text: body }: ItemOperationResult, minimal: boolean): void {
    const tag = etag === undefined ? '' : `,"eTag":${JSON.stringify(etag)}`;
    this.#next(`{"statusCode":${status},"requestCharge":${chargeText(charge)}${tag}`);
    if (body !== undefined && !minimal) this.texts.push(',"resourceBody":', body);
    this.texts.push('}');
  }

  refused({ status, substatus, message }: WireError, charge: number): void {
    this.#next(JSON.stringify({ statusCode: status, subStatusCode: substatus, requestCharge: charge, message }));
  }

  /** Adds an operation that was not done because another one failed. */
  leftOut(): void {
    this.#next('{"statusCode":424,"subStatusCode":0,"requestCharge":0}');
  }

  #next(head: string): void {
    this.texts.push(this.count++ === 0 ? head : `,${head}`);
  }
}

function answer(
  status: number,
  container: StoredContainer,
  ranges: readonly PhysicalPartition[],
  { texts, count }: Results,
  charge: number,
): Reply {
  const headers = itemHeaders(container, ranges);
  headers['x-ms-item-count'] = String(count);
  return reply(status, charge, headers, wireBytesOf([...texts, ']']));
}
