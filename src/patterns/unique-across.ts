import { randomUUID } from 'node:crypto';
import type { Container, Item, PartitionKey, PatchOperation } from '@azure/cosmos';
import { assertFormat, formatOf, readableWhere } from '../base/format.ts';
import { once } from '../base/once.ts';
import { withRetry } from '../cosmos/retry.ts';
import { answered, batchOf, createOf, patchWhere } from './conditional.ts';
import {
  FIELD,
  type Mark,
  type Pending,
  type Unique,
  type UniqueDocument,
  UniqueDocuments,
  type UniqueRule,
  changing,
  refusedBatch,
} from './unique-document.ts';
import { sharedError } from '../base/shared-errors.ts';

export interface UniqueAcrossRule extends UniqueRule {
  /** A container with the key `/id` and a default time to live of -1. Several constraints may share it. */
  readonly reservations: Container;
  /** Seconds for which a value is reserved until its document is created, 1 or more; default 60. */
  readonly holdSeconds?: number;
}

export interface UniqueAcross extends Unique {
  /** The document that has a value; undefined if the value is free or only reserved. The read may be stale. */
  ownerOf(value: string): Promise<{ readonly id: string; readonly key: PartitionKey } | undefined>;
  /**
   * Finishes or reverts the unfinished work of processes that died. Call it at intervals, in any process. Returns the
   * number of documents with unfinished work.
   */
  settleAll(): Promise<number>;
}

interface Reservation {
  readonly id: string;
  readonly constraint: string;
  readonly value: string;
  readonly token: string;
  readonly owner: { readonly id: string; readonly key: PartitionKey };
  readonly state: 'reserved' | 'confirmed' | 'released';
  /** Seconds; -1: for ever. */
  readonly ttl: number;
  readonly format?: number;
}

/** How often a call finishes another writer's unfinished work before a value counts as taken. */
const HELPS = 3;
/** Races for a document that a call may lose in a row before it throws `contended`. */
const ATTEMPTS = 20;

/**
 * Keeps a value unique among all documents of a container, across partition keys: docs/SPEC-reservations.md. A document
 * with `uniqueness.<name>.pending` isn't settled and may be reverted: readers for which that matters leave it out.
 * @throws UsageError `option-invalid`
 */
export function uniqueAcross(rule: UniqueAcrossRule): UniqueAcross {
  const { holdSeconds = 60 } = rule;
  if (Number.isInteger(holdSeconds) && holdSeconds >= 1) return new Across(rule, holdSeconds);
  throw sharedError('option-invalid', `holdSeconds is ${holdSeconds}`, {
    hint: 'Give a whole number, 1 or more: longer than it takes to create a document.',
  });
}

class Across implements UniqueAcross {
  readonly #documents: UniqueDocuments;
  readonly #reservations: Container;
  readonly #hold: number;

  constructor(rule: UniqueAcrossRule, hold: number) {
    this.#documents = new UniqueDocuments(rule);
    this.#reservations = rule.reservations;
    this.#hold = hold;
  }

  async create(document: UniqueDocument): Promise<void> {
    const documents = this.#documents;
    const value = documents.valueOf(document);
    const key = await documents.keyOf(document);
    const token = randomUUID();
    await this.#reserve(value, token, { id: document.id, key });
    const pending: Pending = { kind: 'create' };
    if (!(await this.#place(documents.marked(document, { token, pending }), key, token))) {
      await this.#abandon(value, token);
      throw sharedError('exists', `${documents.container.id} already has a document ${document.id}`);
    }
    if (await this.#settle(document.id, key, value, { token, pending })) return;
    throw documents.taken(value, 'went to another document meanwhile', true);
  }

  async change(id: string, key: PartitionKey, to: string): Promise<void> {
    const documents = this.#documents;
    documents.checked(to);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { mark, value } = await this.#settled(id, key, attempt > 0);
      if (documents.sameValue(value, to)) {
        if (await this.#patch(id, key, documents.isSettled(mark.token), { token: mark.token }, to)) return;
        continue;
      }
      const next: Mark = { token: randomUUID(), pending: { kind: 'change', value, token: mark.token } };
      await this.#reserve(to, next.token, { id, key });
      const as = `${documents.isSettled(mark.token)} AND ${documents.says(value)}`;
      const begun = (await this.#patch(id, key, as, next, to)) || 'done' in (await documents.ask(id, key, next.token));
      if (!begun) {
        await this.#abandon(to, next.token);
        continue;
      }
      if (await this.#settle(id, key, to, next)) return;
      throw documents.taken(to, 'went to another document meanwhile', true);
    }
    throw changing(id);
  }

  async delete(id: string, key: PartitionKey): Promise<void> {
    const documents = this.#documents;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { mark, value } = await this.#settled(id, key, attempt > 0);
      const next: Mark = { token: mark.token, pending: { kind: 'delete' } };
      if (!(await this.#patch(id, key, documents.isSettled(mark.token), next))) {
        const now = await documents.ask(id, key, mark.token, 'delete');
        // If the document is gone, another writer has finished its deletion.
        if ('refused' in now && now.refused === 'precondition') continue;
      }
      await this.#settle(id, key, value, next);
      return;
    }
    throw changing(id);
  }

  async ownerOf(value: string): Promise<Reservation['owner'] | undefined> {
    const reservation = this.#reservation(this.#documents.checked(value));
    const { resource } = await withRetry(() => reservation.read<Reservation>(), { reads: true });
    assertFormat('reservation', resource?.format, value);
    return resource?.state === 'confirmed' ? resource.owner : undefined;
  }

  async settleAll(): Promise<number> {
    const { container, name } = this.#documents;
    const query = `SELECT * FROM c WHERE IS_DEFINED(c["${FIELD}"]["${name}"]["pending"])`;
    const { resources } = await withRetry(() => container.items.query<UniqueDocument>(query).fetchAll(), {
      reads: true,
    });
    for (const document of resources) await this.#help(document, await this.#documents.keyOf(document));
    return resources.length;
  }

  /** The document with nothing pending. It finishes the unfinished work of another writer first. */
  async #settled(id: string, key: PartitionKey, present: boolean) {
    for (let helps = 0; ; helps++) {
      const read = await this.#documents.readMarked(id, key, present || helps > 0);
      if (!read.mark.pending) return read;
      if (helps === HELPS) throw changing(id);
      await this.#help(read.document, key);
    }
  }

  async #help(document: UniqueDocument, key: PartitionKey): Promise<void> {
    const mark = this.#documents.markOf(document);
    if (mark?.pending) await this.#settle(document.id, key, this.#documents.valueOf(document), mark);
  }

  /** Reserves a value, or throws. If another reservation is unfinished, it finishes that one first. */
  async #reserve(value: string, token: string, owner: Reservation['owner']): Promise<void> {
    await this.#check();
    const { name } = this.#documents;
    const id = this.#documents.reservationId(value);
    const reservation: Reservation = {
      ...formatOf('reservation'),
      id,
      constraint: name,
      value,
      token,
      owner,
      state: 'reserved',
      ttl: this.#hold,
    };
    for (let helps = 0; ; helps++) {
      if (await createOf(this.#reservations, reservation)) return;
      const ours = `c.token = "${token}"`;
      const now = await this.#patchReservation(value, `${ours} OR c.state = "confirmed"`, [
        { op: 'set', path: '/constraint', value: name },
      ]);
      // The other reservation is gone meanwhile, or its document may never be created.
      if ('refused' in now) {
        if (now.refused === 'not-found' && helps < HELPS) continue;
        throw this.#documents.taken(value, 'is reserved for another document', true);
      }
      const there = now.done;
      assertFormat('reservation', there.format, value);
      // The answer to our own request was lost.
      if (there.token === token) return;
      const document = await this.#documents.read(there.owner.id, there.owner.key);
      const mark = this.#documents.markOf(document);
      const before = mark?.pending?.kind === 'change' ? mark.pending.token : undefined;
      const unfinished = mark?.pending !== undefined && (mark.token === there.token || before === there.token);
      if (helps === HELPS || !document || !unfinished) throw this.#documents.taken(value);
      await this.#help(document, there.owner.key);
    }
  }

  /** True: the document exists with our token. False: another document has its id. */
  async #place(document: UniqueDocument, key: PartitionKey, token: string): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (await createOf(this.#documents.container, document)) return true;
      // If the answer to our own request was lost, the document has our token.
      const now = await this.#documents.ask(document.id, key, token);
      if ('done' in now) return true;
      if (now.refused === 'precondition') return false;
    }
    throw changing(document.id);
  }

  /**
   * Finishes work that any process began; true if it took effect. Every step has a condition on a token that is never
   * used twice, so several processes may do it at the same time, also with stale documents.
   */
  async #settle(id: string, key: PartitionKey, value: string, { token, pending }: Mark): Promise<boolean> {
    if (!pending) return true;
    const isPending = this.#documents.isPending(token, pending.kind);
    if (pending.kind === 'delete') {
      await this.#release(value, token);
      await this.#remove(id, key, token, isPending);
      return true;
    }
    if (await this.#confirm(value, token)) {
      if (pending.kind === 'change') await this.#release(pending.value, pending.token);
      await this.#patch(id, key, isPending, { token });
      return true;
    }
    if (pending.kind === 'create') await this.#remove(id, key, token, isPending);
    else await this.#patch(id, key, isPending, { token: pending.token }, pending.value);
    return false;
  }

  /** True if the value belongs to the token for good. Once false for a token, it is always false. */
  async #confirm(value: string, token: string): Promise<boolean> {
    const operations: PatchOperation[] = [
      { op: 'set', path: '/state', value: 'confirmed' },
      { op: 'set', path: '/ttl', value: -1 },
    ];
    const where = `c.token = "${token}" AND c.state != "released"`;
    return 'done' in (await this.#patchReservation(value, where, operations));
  }

  /** Gives up a reservation; does nothing if another process has confirmed it meanwhile. */
  #abandon(value: string, token: string): Promise<void> {
    return this.#free(value, `c.token = "${token}" AND c.state != "confirmed"`);
  }

  #release(value: string, token: string): Promise<void> {
    return this.#free(value, `c.token = "${token}"`);
  }

  async #free(value: string, where: string): Promise<void> {
    // If this process dies before the delete, the reservation expires.
    const operations: PatchOperation[] = [
      { op: 'set', path: '/state', value: 'released' },
      { op: 'set', path: '/ttl', value: 1 },
    ];
    const patched = await this.#patchReservation(value, where, operations);
    if ('refused' in patched) return;
    const accessCondition = { type: 'IfMatch', condition: patched.done._etag };
    await answered(() => this.#reservation(value).delete({ accessCondition }), ['precondition', 'not-found']);
  }

  #reservation(value: string): Item {
    const id = this.#documents.reservationId(value);
    return this.#reservations.item(id, id);
  }

  #patchReservation(value: string, where: string, operations: PatchOperation[]) {
    return patchWhere<Reservation>(
      this.#reservation(value),
      `(${where}) AND ${readableWhere('reservation')}`,
      operations,
    );
  }

  /** Gives the document another mark, and optionally a value; false if the condition doesn't hold. */
  async #patch(id: string, key: PartitionKey, where: string, mark: Mark, value?: string): Promise<boolean> {
    const { container, name, path } = this.#documents;
    const operations: PatchOperation[] = [
      { op: 'set', path: `/${FIELD}/${name}`, value: { ...mark, ...formatOf('uniqueness') } },
      ...(value === undefined ? [] : [{ op: 'set' as const, path, value }]),
    ];
    return 'done' in (await patchWhere(container.item(id, key), where, operations));
  }

  /** Deletes a document that is pending so. A delete takes no such condition; the patch before it does. */
  async #remove(id: string, key: PartitionKey, token: string, isPending: string): Promise<void> {
    const { container, name } = this.#documents;
    const condition = `FROM c WHERE ${isPending}`;
    const operations = [{ op: 'set' as const, path: `/${FIELD}/${name}/token`, value: token }];
    const failed = await batchOf(container, key, [
      { operationType: 'Patch', id, resourceBody: { operations, condition } },
      { operationType: 'Delete', id },
    ]);
    if (failed && failed.kind !== 'precondition' && failed.kind !== 'not-found') throw refusedBatch(failed);
  }

  /** Without a default time to live, no reservation would ever expire. */
  readonly #check = once(async (): Promise<void> => {
    const { resource } = await withRetry(() => this.#reservations.read(), { reads: true });
    const keys = resource?.partitionKey?.paths.join(', ');
    if (keys === '/id' && resource?.defaultTtl === -1) return;
    const has = `its key is ${keys ?? 'unknown'}, its default time to live is ${resource?.defaultTtl ?? 'off'}`;
    throw sharedError('container-unfit', `${this.#reservations.id} can't hold reservations: ${has}`, {
      hint: 'Create a separate container with the partition key `/id` and a default time to live of -1.',
    });
  });
}
