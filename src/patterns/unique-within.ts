import { randomUUID } from 'node:crypto';
import type { OperationInput, PartitionKey } from '@azure/cosmos';
import { formatOf } from '../base/format.ts';
import { batchOf } from './conditional.ts';
import {
  FIELD,
  type Mark,
  type Unique,
  type UniqueDocument,
  UniqueDocuments,
  type UniqueRule,
  changing,
  refusedBatch,
} from './unique-document.ts';
import { sharedError } from '../base/shared-errors.ts';

/** Races that a call may lose in a row before it throws `contended`. */
const ATTEMPTS = 20;

/** Reserves the value of a document, under the same partition key. */
interface Reservation {
  readonly id: string;
  readonly type: 'uniqueness';
  readonly token: string;
  readonly owner: string;
}

/**
 * Keeps a value unique in a logical partition: each document is written in one transaction with a reservation of its
 * value, so nothing has to expire or to be finished. Unlike a unique key policy, it can be added to an existing
 * container, and `normalize` decides which values are equal.
 * @throws UsageError `option-invalid`
 */
export function uniqueWithin(rule: UniqueRule): Unique {
  return new Within(new UniqueDocuments(rule));
}

class Within implements Unique {
  readonly #documents: UniqueDocuments;

  constructor(documents: UniqueDocuments) {
    this.#documents = documents;
  }

  async create(document: UniqueDocument): Promise<void> {
    const documents = this.#documents;
    const value = documents.valueOf(document);
    const key = await documents.keyOf(document);
    const mark: Mark = { token: randomUUID() };
    const write = this.#create(documents.marked(document, mark));
    const reserve = this.#create(await this.#reservation(document, value, mark));
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const failed = await batchOf(documents.container, key, [write, reserve]);
      if (failed === undefined) return;
      if (failed.kind !== 'conflict') throw refusedBatch(failed);
      // The document's id was free, so no earlier attempt succeeded: the value belongs to another document.
      if (failed.at === 1) throw documents.taken(value);
      const there = await documents.ask(document.id, key, mark.token);
      // If the answer to our own request was lost, the document has our token.
      if ('done' in there) return;
      if (there.refused === 'precondition')
        throw sharedError('exists', `${documents.container.id} already has a document ${document.id}`);
    }
    throw changing(document.id);
  }

  async change(id: string, key: PartitionKey, to: string): Promise<void> {
    const documents = this.#documents;
    documents.checked(to);
    const mark: Mark = { token: randomUUID() };
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { document, mark: now, value } = await documents.readMarked(id, key, attempt > 0);
      // An earlier attempt succeeded, and its answer was lost.
      if (now.token === mark.token) return;
      const same = documents.sameValue(value, to);
      const patch = this.#patch(id, now.token, to, same ? now : mark);
      const move: OperationInput[] = [
        { operationType: 'Delete', id: this.#id(value) },
        this.#create(await this.#reservation(document, to, mark)),
      ];
      const failed = await batchOf(documents.container, key, [patch, ...(same ? [] : move)]);
      if (failed === undefined) return;
      // The patch of the document passed, so no earlier attempt succeeded: the value belongs to another document.
      if (failed.kind === 'conflict' && failed.at === 2) throw documents.taken(to);
      if (!RACES.has(failed.kind)) throw refusedBatch(failed);
    }
    throw changing(id);
  }

  async delete(id: string, key: PartitionKey): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { mark, value } = await this.#documents.readMarked(id, key, attempt > 0);
      const failed = await batchOf(this.#documents.container, key, [
        this.#patch(id, mark.token, value, mark),
        { operationType: 'Delete', id },
        { operationType: 'Delete', id: this.#id(value) },
      ]);
      // Deleted since the read: by an attempt whose answer was lost, or by another writer.
      if (failed === undefined || (failed.at === 0 && failed.kind === 'not-found')) return;
      if (!RACES.has(failed.kind)) throw refusedBatch(failed);
    }
    throw changing(id);
  }

  #id(value: string): string {
    return `uniqueness|${this.#documents.reservationId(value)}`;
  }

  #create(document: object): OperationInput {
    // The SDK types a batch's body as JSON; a document is JSON.
    return { operationType: 'Create', resourceBody: document as never };
  }

  #patch(id: string, token: string, value: string, { token: next }: Mark): OperationInput {
    const { name, path } = this.#documents;
    const operations = [
      { op: 'set' as const, path: `/${FIELD}/${name}`, value: { token: next, ...formatOf('uniqueness') } },
      { op: 'set' as const, path, value },
    ];
    return {
      operationType: 'Patch',
      id,
      resourceBody: { operations, condition: `FROM c WHERE ${this.#documents.isSettled(token)}` },
    };
  }

  /** A reservation under the same partition key, with the same time to live as the document. */
  async #reservation(document: UniqueDocument, value: string, { token }: Mark): Promise<Reservation> {
    const keyed: Record<string, unknown> = {};
    for (const [field = ''] of await this.#documents.keyPaths()) {
      if (field === 'id')
        throw sharedError('option-invalid', 'With the key /id, a logical partition has one document only', {
          hint: 'Use `uniqueAcross`.',
        });
      keyed[field] = document[field];
    }
    const { ttl } = document;
    const reservation = {
      id: this.#id(value),
      type: 'uniqueness' as const,
      ...formatOf('uniqueness'),
      token,
      owner: document.id,
    };
    return { ...keyed, ...(ttl === undefined ? {} : { ttl }), ...reservation };
  }
}

/** Another writer was faster, or an earlier attempt succeeded: read again. */
const RACES: ReadonlySet<string> = new Set(['conflict', 'precondition', 'not-found']);
