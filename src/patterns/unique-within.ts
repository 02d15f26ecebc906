import { randomUUID } from 'node:crypto';
import type { OperationInput, PartitionKey } from '@azure/cosmos';
import { MillraceError, UsageError } from '../base/errors.ts';
import { kindOfStatus } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import {
  FIELD,
  type Mark,
  type Unique,
  type UniqueDocument,
  UniqueDocuments,
  type UniqueRule,
  changing,
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
 * added to a container that exists, and hold what it counts as the same.
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
    const reserve = this.#create(await this.#reservation(document, value, mark));
    const write = this.#create(documents.marked(document, mark));
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const failed = await this.#batch(key, [reserve, write]);
      if (failed === undefined) return;
      const there = await documents.read(document.id, key);
      // Ours, where the answer to our own request was lost.
      if (documents.markOf(there)?.token === mark.token) return;
      if (failed.kind !== 'conflict') throw refusedBatch(failed.status);
      if (there)
        throw new MillraceError('document-exists', `${documents.container.id} has a document ${document.id} already`);
      if (await this.#held(value, key)) throw documents.taken(value);
    }
    throw changing(document.id);
  }

  async change(id: string, key: PartitionKey, to: string): Promise<void> {
    const documents = this.#documents;
    documents.checked(to);
    const mark: Mark = { token: randomUUID() };
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { document, mark: now, value } = await documents.readMarked(id, key);
      if (now.token === mark.token || value === to) return;
      const same = documents.sameValue(value, to);
      const patch = this.#patch(id, now.token, to, same ? now : mark);
      const move: OperationInput[] = [
        { operationType: 'Delete', id: this.#id(value) },
        this.#create(await this.#reservation(document, to, mark)),
      ];
      const failed = await this.#batch(key, [patch, ...(same ? [] : move)]);
      if (failed === undefined) return;
      if (failed.kind === 'conflict' && (await this.#held(to, key))) {
        // A moment ago our own request may have succeeded.
        if ((await documents.readMarked(id, key)).mark.token === mark.token) return;
        throw documents.taken(to);
      }
      if (!RACES.has(failed.kind)) throw refusedBatch(failed.status);
    }
    throw changing(id);
  }

  async delete(id: string, key: PartitionKey): Promise<void> {
    let read = await this.#documents.readMarked(id, key);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const failed = await this.#batch(key, [
        this.#patch(id, read.mark.token, read.value, read.mark),
        { operationType: 'Delete', id },
        { operationType: 'Delete', id: this.#id(read.value) },
      ]);
      // Gone since it was read: by us, before the answer was lost, or by somebody else.
      if (failed === undefined || !(await this.#documents.read(id, key))) return;
      if (!RACES.has(failed.kind)) throw refusedBatch(failed.status);
      read = await this.#documents.readMarked(id, key);
    }
    throw changing(id);
  }

  #id(value: string): string {
    return `uniqueness|${this.#documents.reservationId(value)}`;
  }

  #create(document: object): OperationInput {
    // Batches take JSON, which a document is.
    return {
      operationType: 'Create',
      resourceBody: document as Extract<OperationInput, { operationType: 'Create' }>['resourceBody'],
    };
  }

  #patch(id: string, token: string, value: string, mark: Mark): OperationInput {
    const { name, path } = this.#documents;
    const operations = [
      { op: 'set' as const, path: `/${FIELD}/${name}`, value: { ...mark } },
      { op: 'set' as const, path, value },
    ];
    return {
      operationType: 'Patch',
      id,
      resourceBody: { operations, condition: this.#documents.hasToken(token, false) },
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

  async #held(value: string, key: PartitionKey): Promise<boolean> {
    return (await this.#documents.read(this.#id(value), key)) !== undefined;
  }

  /** undefined: done. */
  async #batch(key: PartitionKey, operations: OperationInput[]) {
    const { container } = this.#documents;
    const { result, code } = await withRetry(
      async () => {
        const answer = await container.items.batch(operations, key);
        const status = answer.result?.find(({ statusCode }) => statusCode >= 400 && statusCode !== 424)?.statusCode;
        // A batch is throttled by what its operations say.
        if (status === 429 || status === 449) throw Object.assign(new Error('Throttled'), { code: status });
        return answer;
      },
      // Every operation is conditional, so what is repeated after a lost answer does no harm.
      { reads: true },
    );
    const status = result?.find(({ statusCode }) => statusCode >= 400 && statusCode !== 424)?.statusCode ?? code ?? 200;
    return status < 400 ? undefined : { kind: kindOfStatus(status), status };
  }
}

/** Somebody else was faster, or our own request has been answered before: read again. */
const RACES: ReadonlySet<string> = new Set(['conflict', 'precondition', 'not-found']);

const refusedBatch = (status: number): MillraceError =>
  new MillraceError('document-refused', `Cosmos DB refused the transaction with ${status}`, {
    mend: 'Check the size of the document, its id, and the rights of the identity.',
  });
