import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { digest } from '../../base/json.ts';
import { shardsError } from '../errors.ts';
import {
  type MapDocument,
  type MapHeader,
  type OperationDocument,
  type ShardDocument,
  type ShardLocation,
  isEnded,
  isMapping,
  isOperation,
  isShard,
  operationId,
  shardId,
  shownLocation,
} from './documents.ts';
import { type LocalMaps, Overtaken, type ReadAhead } from './local-maps.ts';
import type { Edit, Sheet, Whole } from './header-guarded-partition.ts';

// The operations on one map. Each is logged in the map first, then made in the local maps, then shown in the map. A
// process that meets a pending operation finishes it at once, and doesn't ask whether its process is alive: every step
// may be made by several processes, and as late as it likes. docs/SPEC-shards.md has the invariants.

/** What an operation will change; decided from the whole map. */
export interface MapPlan {
  readonly removes: readonly MapDocument[];
  readonly adds: readonly MapDocument[];
  /** In this order: shards that lose a mapping come first. */
  readonly shards: readonly string[];
  readonly local?: OperationDocument['local'];
  readonly strays?: OperationDocument['strays'];
}

export interface MapRequest {
  readonly id: string;
  readonly verb: string;
  readonly request: unknown;
}

type State = 'pending' | 'undoing' | 'done' | 'undone';

/** How long an operation that has ended is remembered, seconds. */
const REMEMBERED_S = 86_400;
/** Rounds of one call. Each means that another process changed the map, or that an answer was lost. */
const ROUNDS = 200;

export class Operations {
  readonly #sheet: Sheet<MapHeader>;
  readonly #locals: LocalMaps;
  /** What the operation that this process began last is about to change, by its shard. */
  #ahead: { readonly id: string; readonly headers: ReadonlyMap<string, ReadAhead> } | undefined;

  constructor(sheet: Sheet<MapHeader>, locals: LocalMaps) {
    this.#sheet = sheet;
    this.#locals = locals;
  }

  /** Runs an operation once, however often it is called with its id. `plan` checks, and throws to refuse. */
  async run(asked: MapRequest, plan: (whole: Whole<MapHeader>) => MapPlan): Promise<OperationDocument> {
    const request = digest(asked.request);
    for (let round = 0; round < ROUNDS; round++) {
      const whole = await (round === 0 ? (this.#sheet.recent ?? this.#whole()) : this.#known());
      const known = operationOf(whole, asked.id);
      if (known) {
        const ended = await this.#resume(known, asked, request);
        if (ended) return ended;
      } else if (!(await this.#settleOne(whole))) {
        const decided = await this.#decide(whole, plan);
        if (decided) await this.#begin(whole, asked, request, decided);
      }
    }
    throw sharedError('contended', `The operation ${asked.id} met other changes of its map in every round`);
  }

  /** The map with no operation pending, except those that wait for a shard to be undone. */
  async settled(): Promise<Whole<MapHeader>> {
    for (let round = 0; round < ROUNDS; round++) {
      const whole = await this.#whole();
      if (!(await this.#settleOne(whole))) return whole;
    }
    throw sharedError('contended', 'Other processes began operations on the map in every round');
  }

  /** Tries again to undo what waits for a shard. Returns the map as it is then. */
  async retryUndo(whole: Whole<MapHeader>): Promise<Whole<MapHeader>> {
    for (const operation of operationsOf(whole)) if (operation.state === 'undoing') await this.#undo(operation);
    return this.#whole();
  }

  /**
   * Raises the map to a generation of a local map at least, for a map that was restored to an older state than its shards.
   * Local maps would refuse its operations.
   */
  async raise(generation: number): Promise<void> {
    for (let whole = await this.#whole(); whole.header.generation < generation; whole = await this.#whole())
      await this.#commit(whole, { before: [], after: [] }, generation);
  }

  async #whole(): Promise<Whole<MapHeader>> {
    const whole = await this.#sheet.whole();
    if (whole) return whole;
    throw sharedError('not-found', 'The shard map does not exist any more');
  }

  /**
   * The map as the last commit left it: what this process goes on from needs no reading, because the next commit finds out
   * whether another process was faster, and then it is read.
   */
  async #known(): Promise<Whole<MapHeader>> {
    return this.#sheet.known ?? this.#whole();
  }

  /** A refusal is true only if the map is still as it was read, which a commit that changes nothing finds out. */
  async #decide(whole: Whole<MapHeader>, plan: (whole: Whole<MapHeader>) => MapPlan): Promise<MapPlan | undefined> {
    try {
      return plan(whole);
    } catch (error) {
      if (await this.#commit(whole, { before: [], after: [] })) throw error;
      return undefined;
    }
  }

  /** The operation, if it is done. */
  async #resume(known: OperationDocument, asked: MapRequest, request: string): Promise<OperationDocument | undefined> {
    if (known.verb !== asked.verb || known.request !== request)
      throw sharedError('option-invalid', `The operation ${asked.id} is another one: ${known.verb}`, {
        hint: 'Use an operation id for one call and its repetitions only.',
      });
    if (known.state === 'done') return known;
    if (known.state === 'pending') {
      await this.#settle(known);
      return undefined;
    }
    throw shardsError('map-operation-undone', `The ${known.verb} was undone: ${known.reason}`);
  }

  /** Finishes a pending operation, or decides to undo it. False: none is pending. */
  async #settleOne(whole: Whole<MapHeader>): Promise<boolean> {
    const pending = operationsOf(whole).find(({ state }) => state === 'pending');
    if (!pending) return false;
    await this.#settle(pending);
    return true;
  }

  async #begin(whole: Whole<MapHeader>, { id, verb }: MapRequest, request: string, plan: MapPlan): Promise<void> {
    const waiting = operationsOf(whole).find(({ left = [] }) => left.some((shard) => plan.shards.includes(shard)));
    if (waiting) {
      await this.#undo(waiting);
      const now = operationOf(await this.#whole(), waiting.id.slice(operationId('').length));
      const left = now?.left?.find((shard) => plan.shards.includes(shard));
      if (left !== undefined)
        throw sharedError(
          'unavailable',
          `The shard ${shardName(whole, left)} can't be reached to undo a ${waiting.verb} in it: ${waiting.reason}`,
          { hint: 'Try again when the shard answers. If its database is lost, detach the shard.' },
        );
      return;
    }
    const { removes, adds, shards, local, strays } = plan;
    const operation: OperationDocument = {
      id: operationId(id),
      pk: whole.header.pk,
      type: 'millrace.mapoperation',
      ...formatOf('mapoperation'),
      verb,
      request,
      state: 'pending',
      at: whole.header.generation + 1,
      removes,
      adds,
      shards,
      ...(local && { local }),
      ...(strays && { strays }),
    };
    if (shards.length > 0) {
      this.#ahead = { id: operation.id, headers: this.#readAhead(whole, operation) };
      await this.#commit(whole, { before: [], after: [operation] });
    } else await this.#show(whole, operation, { before: [], after: [] });
  }

  #readAhead(whole: Whole<MapHeader>, operation: OperationDocument): Map<string, ReadAhead> {
    const headers = new Map<string, ReadAhead>();
    // Of these the whole local map is read.
    for (const shard of operation.local ? [] : operation.shards) {
      const location = locationOf(whole, operation, shard);
      if (location) headers.set(shard, this.#locals.readAhead(location, shard));
    }
    return headers;
  }

  async #settle(operation: OperationDocument): Promise<void> {
    const whole = await this.#known();
    const ahead = this.#ahead?.id === operation.id ? this.#ahead.headers : undefined;
    this.#ahead = undefined;
    for (const shard of operation.shards) {
      const location = locationOf(whole, operation, shard);
      if (!location) continue;
      try {
        // The map shows an operation after it, so it has what it had at the begin.
        if (operation.verb === 'rebuildShard')
          await this.#locals.rebuild(operation, shard, location, [...whole.entries.values()].filter(isMapping));
        else await this.#locals.apply(operation, shard, location, ahead?.get(shard));
      } catch (error) {
        // Where another process has ended it, or has decided to undo it, this decides nothing.
        return this.#decideUndo(operation, error);
      }
    }
    await this.#update(operation.id, ['pending'], (now, pending) =>
      this.#show(now, pending, { before: [pending], after: [] }),
    );
  }

  /** Shows an operation in the map, with its result, as done. */
  #show(whole: Whole<MapHeader>, operation: OperationDocument, edit: Edit): Promise<boolean> {
    const { removes, adds } = operation;
    const before = [...removes, ...adds].flatMap(({ id }) => whole.entries.get(id) ?? []);
    const unique = new Map(before.map((document) => [document.id, document])).values();
    const done: OperationDocument = { ...operation, state: 'done' };
    return this.#end(whole, {
      before: [...edit.before, ...unique],
      after: [...edit.after, ...adds, done],
    });
  }

  /** The decision is stored in the map first. From then on no process can show the operation. */
  async #decideUndo(operation: OperationDocument, cause: unknown): Promise<void> {
    const above = cause instanceof Overtaken ? cause.generation : 0;
    const decided = await this.#update(operation.id, ['pending'], (whole, pending) => {
      const generation = Math.max(whole.header.generation, above) + 1;
      const undoing: OperationDocument = {
        ...pending,
        state: 'undoing',
        undoAt: generation,
        reason: messageOf(cause),
        left: pending.shards,
      };
      return this.#commit(whole, { before: [pending], after: [undoing] }, generation);
    });
    if (decided?.state === 'undoing') await this.#undo(decided);
  }

  /** Undoes an operation in the shards that are left, the last first. A shard that can't be reached stays left. */
  async #undo(operation: OperationDocument): Promise<void> {
    const whole = await this.#whole();
    const reached = new Set<string>();
    for (const shard of (operation.left ?? []).toReversed()) {
      // Attaching changes no mapping of the local map, so nothing is left of it.
      const location = operation.verb === 'attachShard' ? undefined : locationOf(whole, operation, shard);
      const isUndone = !location || (await this.#locals.undo(operation, shard, location).catch(() => false));
      if (isUndone) reached.add(shard);
    }
    await this.#update(operation.id, ['undoing'], async (now, undoing) => {
      const left = (undoing.left ?? []).filter((shard) => !reached.has(shard));
      if (left.length === undoing.left?.length) return true;
      const { left: _, ...rest } = undoing;
      const after: OperationDocument = left.length > 0 ? { ...rest, left } : { ...rest, state: 'undone' };
      const edit = { before: [undoing], after: [after] };
      return isEnded(after) ? this.#end(now, edit) : this.#commit(now, edit);
    });
  }

  /** Changes a stored operation while it is in one of the states. Returns it as it is then. */
  async #update(
    id: string,
    states: readonly State[],
    write: (whole: Whole<MapHeader>, operation: OperationDocument) => Promise<boolean>,
  ): Promise<OperationDocument | undefined> {
    for (let round = 0; round < ROUNDS; round++) {
      const whole = await this.#known();
      const operation = whole.entries.get(id);
      if (!operation || !isOperation(operation) || !states.includes(operation.state))
        return operation as OperationDocument;
      if (await write(whole, operation)) {
        const now = (await this.#known()).entries.get(id);
        return now as OperationDocument | undefined;
      }
    }
    throw sharedError('contended', `The operation ${id} met other changes of its map in every round`);
  }

  /**
   * Commits the end of an operation. The one that ended last expires only when the next one ends: until then the header's
   * digest has it, and a reader doesn't take documents from before it for the current ones.
   */
  #end(whole: Whole<MapHeader>, { before, after }: Edit): Promise<boolean> {
    const last = operationsOf(whole).filter((one) => isEnded(one) && one.ttl === undefined);
    const expiring = last.map((one) => ({ ...one, ttl: REMEMBERED_S }));
    return this.#commit(whole, { before: [...before, ...last], after: [...after, ...expiring] });
  }

  #commit(whole: Whole<MapHeader>, edit: Edit, generation = whole.header.generation + 1): Promise<boolean> {
    return this.#sheet.commit(whole, { ...whole.header, generation }, edit);
  }
}

export const operationsOf = ({ entries }: Whole<MapHeader>): OperationDocument[] =>
  [...entries.values()].filter(isOperation);

const operationOf = ({ entries }: Whole<MapHeader>, id: string): OperationDocument | undefined => {
  const entry = entries.get(operationId(id));
  return entry && isOperation(entry) ? entry : undefined;
};

/** Where a shard of an operation is; undefined: it was detached or deleted, so it has no local map that counts. */
function locationOf(whole: Whole<MapHeader>, { adds }: OperationDocument, shard: string): ShardLocation | undefined {
  const added = adds.find((entry): entry is ShardDocument => isShard(entry) && entry.shard === shard);
  const entry = added ?? whole.entries.get(shardId(shard));
  return entry && isShard(entry) && !entry.detached ? entry.location : undefined;
}

function shardName(whole: Whole<MapHeader>, shard: string): string {
  const entry = whole.entries.get(shardId(shard));
  return entry && isShard(entry) ? shownLocation(entry.location) : shard;
}
