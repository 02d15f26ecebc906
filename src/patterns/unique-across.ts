import { randomUUID } from 'node:crypto';
import type { Container, PartitionKey, PatchOperation } from '@azure/cosmos';
import { MillraceError, UsageError } from '../base/errors.ts';
import { withRetry } from '../cosmos/retry.ts';
import {
  FIELD,
  type Mark,
  type Pending,
  type Unique,
  type UniqueDocument,
  UniqueDocuments,
  type UniqueRule,
  answered,
  changing,
} from './unique-document.ts';

export interface UniqueAcrossRule extends UniqueRule {
  /** Keyed by `/id`, with a default time to live of -1: reservations expire by it. Several constraints may share it. */
  readonly reservations: Container;
  /** Seconds that a value is held for a document that isn't there yet, 1 or more; default 60. */
  readonly holdSeconds?: number;
}

export interface UniqueAcross extends Unique {
  /** Who has a value for good; undefined where it is free, or only held. As old as a read may be. */
  ownerOf(value: string): Promise<{ readonly id: string; readonly key: PartitionKey } | undefined>;
  /**
   * Finishes, or takes back, what a process left behind that died: once in a while, by any process, at any time.
   * Returns how many documents it looked after.
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
}

/** As often as somebody else's unfinished work is finished before a value counts as taken. */
const HELPS = 3;

/**
 * A value that at most one document of a container has, whatever their keys: docs/SPEC-reservations.md. A document with
 * `uniqueness.<name>.pending` isn't settled: it may be taken back, and readers for whom that matters leave it out.
 * @throws UsageError `unique-rule-invalid`
 */
export function uniqueAcross(rule: UniqueAcrossRule): UniqueAcross {
  const { holdSeconds = 60 } = rule;
  if (Number.isInteger(holdSeconds) && holdSeconds >= 1) return new Across(rule, holdSeconds);
  throw new UsageError('unique-rule-invalid', `A value can't be held for ${holdSeconds} s`, {
    mend: 'Give whole seconds, 1 or more: longer than a document takes to be created.',
  });
}

class Across implements UniqueAcross {
  readonly #documents: UniqueDocuments;
  readonly #reservations: Container;
  readonly #hold: number;
  #checked: Promise<void> | undefined;

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
    const marked = documents.marked(document, { token, pending: { kind: 'create' } });
    const created = await answered(() => documents.container.items.create(marked), ['conflict']);
    // Ours, where the answer to our own request was lost.
    const other = 'refused' in created && !(await this.#has(document.id, key, token));
    if (other) await this.#abandon(value, token);
    if (await this.#settle(document.id, key, value, { token, pending: { kind: 'create' } })) return;
    if (!other) throw documents.taken(value, 'was given to another document meanwhile', true);
    throw new MillraceError('document-exists', `${documents.container.id} has a document ${document.id} already`);
  }

  async change(id: string, key: PartitionKey, to: string): Promise<void> {
    const documents = this.#documents;
    documents.checked(to);
    const { mark, value } = await this.#settled(id, key);
    if (documents.sameValue(value, to)) {
      if (value !== to) await this.#patch(id, key, mark.token, false, to, mark);
      return;
    }
    const token = randomUUID();
    await this.#reserve(to, token, { id, key });
    const pending: Pending = { kind: 'change', value, token: mark.token };
    const patched = await this.#patch(id, key, mark.token, false, to, { token, pending });
    const other = !patched && !(await this.#has(id, key, token));
    if (other) await this.#abandon(to, token);
    if (await this.#settle(id, key, to, { token, pending })) return;
    throw other ? changing(id) : documents.taken(to, 'was given to another document meanwhile', true);
  }

  async delete(id: string, key: PartitionKey): Promise<void> {
    const { mark, value } = await this.#settled(id, key);
    const pending: Pending = { kind: 'delete' };
    const marked = await this.#patch(id, key, mark.token, false, undefined, { token: mark.token, pending });
    // Whoever else deletes it, or we before an answer was lost: it is being deleted.
    if (!marked && (await this.#now(id, key, mark.token)) !== 'delete') throw changing(id);
    await this.#settle(id, key, value, { token: mark.token, pending });
  }

  async ownerOf(value: string): Promise<Reservation['owner'] | undefined> {
    const reservation = await this.#read(this.#documents.checked(value));
    return reservation?.state === 'confirmed' ? reservation.owner : undefined;
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

  /** The document, with nothing pending. What somebody left behind is finished first. */
  async #settled(id: string, key: PartitionKey) {
    for (let helps = 0; ; helps++) {
      const read = await this.#documents.readMarked(id, key);
      if (!read.mark.pending) return read;
      if (helps === HELPS) throw changing(id);
      await this.#help(read.document, key);
    }
  }

  async #help(document: UniqueDocument, key: PartitionKey): Promise<void> {
    const mark = this.#documents.markOf(document);
    if (mark?.pending) await this.#settle(document.id, key, this.#documents.valueOf(document), mark);
  }

  /** Holds a value, or throws. What stands in the way is finished first, where its owner has left it unfinished. */
  async #reserve(value: string, token: string, owner: Reservation['owner']): Promise<void> {
    await this.#check();
    const { name } = this.#documents;
    const id = this.#documents.reservationId(value);
    const reservation: Reservation = {
      id,
      constraint: name,
      value,
      token,
      owner,
      state: 'reserved',
      ttl: this.#hold,
    };
    for (let helps = 0; ; helps++) {
      const created = await answered(() => this.#reservations.items.create(reservation), ['conflict']);
      if ('done' in created) return;
      const there = await this.#read(value);
      if (there?.token === token) return;
      const held = there?.state === 'confirmed';
      if (helps === HELPS || (there && !held))
        throw this.#documents.taken(value, held ? undefined : 'is held for another document', !held);
      // It went meanwhile, or this read is older than that: the next attempt tells.
      if (!there) continue;
      const document = await this.#documents.read(there.owner.id, there.owner.key);
      const mark = this.#documents.markOf(document);
      const before = mark?.pending?.kind === 'change' ? mark.pending.token : undefined;
      if (!document || !mark?.pending || (mark.token !== there.token && before !== there.token))
        throw this.#documents.taken(value);
      await this.#help(document, there.owner.key);
    }
  }

  /**
   * Brings what has begun to its end, whoever began it: true where it took effect. Every step is decided by a condition
   * on a token that is never used twice, so several may do it at once, on documents as old as they like.
   */
  async #settle(id: string, key: PartitionKey, value: string, { token, pending }: Mark): Promise<boolean> {
    if (!pending) return true;
    if (pending.kind === 'delete') {
      await this.#release(value, token);
      await this.#remove(id, key, token);
      return true;
    }
    if (await this.#confirm(value, token)) {
      if (pending.kind === 'change') await this.#release(pending.value, pending.token);
      await this.#patch(id, key, token, true, undefined, { token });
      return true;
    }
    if (pending.kind === 'create') await this.#remove(id, key, token);
    else await this.#patch(id, key, token, true, pending.value, { token: pending.token });
    return false;
  }

  /** True where the value is the token's for good. Once false for a token, it is false for ever. */
  async #confirm(value: string, token: string): Promise<boolean> {
    const operations: PatchOperation[] = [
      { op: 'set', path: '/state', value: 'confirmed' },
      { op: 'set', path: '/ttl', value: -1 },
    ];
    return (
      (await this.#patchReservation(value, `c.token = "${token}" AND c.state != "released"`, operations)) !== undefined
    );
  }

  /**
   * Gives up what is only held. A document that says otherwise was read too late; where somebody has confirmed it
   * meanwhile, nothing happens.
   */
  #abandon(value: string, token: string): Promise<void> {
    return this.#free(value, `c.token = "${token}" AND c.state = "reserved"`);
  }

  #release(value: string, token: string): Promise<void> {
    return this.#free(value, `c.token = "${token}"`);
  }

  async #free(value: string, where: string): Promise<void> {
    // Should we die before it is deleted, it expires.
    const operations: PatchOperation[] = [
      { op: 'set', path: '/state', value: 'released' },
      { op: 'set', path: '/ttl', value: 1 },
    ];
    const etag = await this.#patchReservation(value, where, operations);
    if (etag === undefined) return;
    const id = this.#documents.reservationId(value);
    const accessCondition = { type: 'IfMatch', condition: etag };
    await answered(() => this.#reservations.item(id, id).delete({ accessCondition }), ['precondition', 'not-found']);
  }

  /** The new etag, or undefined where the condition doesn't hold. */
  async #patchReservation(value: string, where: string, operations: PatchOperation[]): Promise<string | undefined> {
    const id = this.#documents.reservationId(value);
    const patch = { condition: `FROM c WHERE ${where}`, operations };
    const patched = await answered(() => this.#reservations.item(id, id).patch(patch), ['precondition', 'not-found']);
    return 'done' in patched ? patched.done.etag : undefined;
  }

  async #read(value: string): Promise<Reservation | undefined> {
    const id = this.#documents.reservationId(value);
    const { resource } = await withRetry(() => this.#reservations.item(id, id).read<Reservation>(), { reads: true });
    return resource;
  }

  /** False where the document no longer has the token, or is pending where it shouldn't be, or the other way round. */
  async #patch(
    id: string,
    key: PartitionKey,
    token: string,
    pending: boolean,
    value: string | undefined,
    mark: Mark,
  ): Promise<boolean> {
    const { container, name, path } = this.#documents;
    const operations: PatchOperation[] = [
      { op: 'set', path: `/${FIELD}/${name}`, value: mark },
      ...(value === undefined ? [] : [{ op: 'set' as const, path, value }]),
    ];
    const patch = { condition: this.#documents.hasToken(token, pending), operations };
    return 'done' in (await answered(() => container.item(id, key).patch(patch), ['precondition', 'not-found']));
  }

  /** Deletes a document that is pending with this token. */
  async #remove(id: string, key: PartitionKey, token: string): Promise<void> {
    for (;;) {
      const document = await this.#documents.read(id, key);
      const mark = this.#documents.markOf(document);
      if (!document || mark?.token !== token || !mark.pending) return;
      const accessCondition = { type: 'IfMatch', condition: document._etag };
      const { container } = this.#documents;
      const deleted = await answered(
        () => container.item(id, key).delete({ accessCondition }),
        ['precondition', 'not-found'],
      );
      if (!('refused' in deleted) || deleted.refused === 'not-found') return;
    }
  }

  async #now(id: string, key: PartitionKey, token: string): Promise<Pending['kind'] | undefined> {
    const document = await this.#documents.read(id, key);
    // Gone: another has come to the end of deleting it.
    if (!document) return 'delete';
    const mark = this.#documents.markOf(document);
    return mark?.token === token ? mark.pending?.kind : undefined;
  }

  async #has(id: string, key: PartitionKey, token: string): Promise<boolean> {
    return this.#documents.markOf(await this.#documents.read(id, key))?.token === token;
  }

  /** Without a default time to live nothing would ever expire. */
  #check(): Promise<void> {
    this.#checked ??= (async () => {
      const { resource } = await withRetry(() => this.#reservations.read(), { reads: true });
      const keys = resource?.partitionKey?.paths.join(', ');
      if (keys === '/id' && resource?.defaultTtl === -1) return;
      const has = `its key is ${keys ?? 'unknown'}, its default time to live ${resource?.defaultTtl ?? 'off'}`;
      throw new UsageError('reservations-container', `${this.#reservations.id} can't hold reservations: ${has}`, {
        mend: 'Create a container of its own with the key /id and a default time to live of -1.',
      });
    })();
    this.#checked.catch(() => (this.#checked = undefined));
    return this.#checked;
  }
}
