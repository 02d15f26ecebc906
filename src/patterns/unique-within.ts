import { randomUUID } from 'node:crypto';
import type { OperationInput, PartitionKey } from '@azure/cosmos';
import { MillraceError, UsageError } from '../base/errors.ts';
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

/** Races that are lost one after the other before the caller is told to come again. */
const ATTEMPTS = 20;

/** The document beside the one whose value it reserves, under the same key. */
interface Reservation {
  readonly id: string;
  readonly type: 'uniqueness';
  readonly token: string;
  readonly owner: string;
}

/**
 * A value that at most one document of a logical partition has: each document is written in one transaction with a
 * second one that stands for its value, so there is nothing to expire or to finish. Unlike a unique key policy it can be
 * added to a container that exists, and `normalize` says what counts as the same value.
 * @throws UsageError `unique-rule-invalid`
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
      // Its id was free, so nothing of ours was there: the two come together.
      if (failed.at === 1) throw documents.taken(value);
      const there = await documents.ask(document.id, key, mark.token);
      // Ours, where the answer to our own request was lost.
      if ('done' in there) return;
      if (there.refused === 'precondition')
        throw new MillraceError('document-exists', `${documents.container.id} has a document ${document.id} already`);
    }
    throw changing(document.id);
  }

  async change(id: string, key: PartitionKey, to: string): Promise<void> {
    const documents = this.#documents;
    documents.checked(to);
    const mark: Mark = { token: randomUUID() };
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { document, mark: now, value } = await documents.readMarked(id, key, attempt > 0);
      // A moment ago our own request may have succeeded.
      if (now.token === mark.token) return;
      const same = documents.sameValue(value, to);
      const patch = this.#patch(id, now.token, to, same ? now : mark);
      const move: OperationInput[] = [
        { operationType: 'Delete', id: this.#id(value) },
        this.#create(await this.#reservation(document, to, mark)),
      ];
      const failed = await batchOf(documents.container, key, [patch, ...(same ? [] : move)]);
      if (failed === undefined) return;
      // The document was as it was read, so nothing of ours had succeeded.
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
      // Gone since it was read: by us, before the answer was lost, or by somebody else.
      if (failed === undefined || (failed.at === 0 && failed.kind === 'not-found')) return;
      if (!RACES.has(failed.kind)) throw refusedBatch(failed);
    }
    throw changing(id);
  }

  #id(value: string): string {
    return `uniqueness|${this.#documents.reservationId(value)}`;
  }

  #create(document: object): OperationInput {
    // Batches take JSON, which a document is.
    return { operationType: 'Create', resourceBody: document as never };
  }

  #patch(id: string, token: string, value: string, { token: next }: Mark): OperationInput {
    const { name, path } = this.#documents;
    const operations = [
      { op: 'set' as const, path: `/${FIELD}/${name}`, value: { token: next } },
      { op: 'set' as const, path, value },
    ];
    return {
      operationType: 'Patch',
      id,
      resourceBody: { operations, condition: `FROM c WHERE ${this.#documents.isSettled(token)}` },
    };
  }

  /** Under the same key, and no longer there than the document. */
  async #reservation(document: UniqueDocument, value: string, { token }: Mark): Promise<Reservation> {
    const keyed: Record<string, unknown> = {};
    for (const [field = ''] of await this.#documents.keyPaths()) {
      if (field === 'id')
        throw new UsageError('unique-rule-invalid', 'Under the key /id every document is alone', {
          mend: 'Use uniqueAcross.',
        });
      keyed[field] = document[field];
    }
    const { ttl } = document;
    const reservation = { id: this.#id(value), type: 'uniqueness' as const, token, owner: document.id };
    return { ...keyed, ...(ttl === undefined ? {} : { ttl }), ...reservation };
  }
}

/** Somebody else was faster, or our own request has been answered before: read again. */
const RACES: ReadonlySet<string> = new Set(['conflict', 'precondition', 'not-found']);
