import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { fetchList } from '../../cosmos/fetch-all.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import type { Identity } from '../../feed/reading/change.ts';
import type { RangePosition } from '../../feed/reading/position.ts';
import { type KeySpan, spansOverlap } from '../../shards/keys/spans.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { WAIT_FOR_MOVE } from '../errors.ts';
import { Claim, type Claimed } from '../journal/claim.ts';

/**
 * - `copying`: the map gives the keys to the source. Until the switch the move can be cancelled
 * - `switched`: the map gives the keys to the target; the source is followed until the grace ends
 * - `clearing`: the source's documents are removed
 * - `cancelling`: the target's documents are removed
 */
export type MoveStep = 'copying' | 'switched' | 'clearing' | 'done' | 'cancelling' | 'cancelled';

/** How far a container is moved. */
export interface ContainerProgress {
  /** Positions in the source's feed up to which it was copied; at most as far as that. */
  positions: RangePosition[];
  /** The epoch of the source, in which its hosts read. Null: no host has read a container of the source. */
  epoch: number | null;
  /** Documents up to these positions were copied by a move that was cancelled: copies of them need a later version. */
  renews: RangePosition[];
  /** Where the source's feed ended when the move was cancelled: it has copied nothing after that. */
  cancelledAt?: RangePosition[];
}

/** A move of keys from one shard to another; a document beside the maps. */
export interface MoveDocument extends KeySpan, Claimed {
  readonly type: 'millrace.move';
  readonly map: string;
  /** The keys, for people. */
  readonly keys: string;
  /** Ids of shards. */
  readonly from: string;
  readonly to: string;
  readonly step: MoveStep;
  /** ISO 8601 UTC. */
  readonly startedAt: string;
  readonly switchedAt?: string;
  readonly endedAt?: string;
  readonly containers: Readonly<Record<string, ContainerProgress>>;
  /** Documents that were written to the source after the switch, while the target had them in a version of its own. */
  readonly parked: readonly Identity[];
  /** The range of which it is a batch, and how many keys its documents had when it began. */
  readonly range?: BatchOf;
}

export interface BatchOf {
  readonly id: string;
  readonly keys: number;
}

export const isUnfinished = ({ step }: MoveDocument): boolean => step !== 'done' && step !== 'cancelled';

/** Whether the map gives the keys to the target. */
export const isSwitched = ({ step }: MoveDocument): boolean =>
  step === 'switched' || step === 'clearing' || step === 'done';

/** The token of the lock that a move has on its mapping. */
export const ownerOf = ({ id }: Pick<MoveDocument, 'id'>): string => `move-${id}`;

/** Whether the lock of a mapping is a move's. */
export const isOfMove = (owner: string | undefined): boolean => owner?.startsWith(ownerOf({ id: '' })) === true;

/** The name by which a move holds epochs. */
export const heldBy = ({ map, id }: Pick<MoveDocument, 'map' | 'id'>): string => `${map}/${id}`;

/** A process that has stored nothing for this long has died, or is cut off. It can't save when it comes back. */
const SILENT_MS = 30_000;
/** A process that has stored nothing for this long stores what it has. */
const SAVED_MS = 5_000;

export const isSilentSince = (aliveAt: string, now: number): boolean => now - Date.parse(aliveAt) >= SILENT_MS;
export const isSilent = ({ aliveAt }: MoveDocument, now: number): boolean => isSilentSince(aliveAt, now);

const partitionOf = (map: string): string => `moves|${map.toLowerCase()}`;

/** The moves of a map, the oldest first. */
export async function movesOf(maps: Container, map: string, signal: AbortSignal): Promise<MoveDocument[]> {
  const partitionKey = partitionOf(map);
  const found = await fetchList<MoveDocument>(maps, 'SELECT * FROM c', signal, { partitionKey });
  return found.toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

/** @throws UsageError `not-found` */
export function moveNamed(moves: readonly MoveDocument[], id: string, map: string): MoveDocument {
  const found = moves.find((one) => one.id === id);
  if (found) return found;
  throw sharedError('not-found', `There is no move ${id} of ${map}`, {
    hint: `Run \`millrace shards moves ${map}\` to see the moves.`,
  });
}

/** The stored record of one move, as one process changes it. */
export class MoveRecord {
  readonly #claim: Claim<MoveDocument> | undefined;
  readonly #clock: Clock;
  /** What the next save stores too. */
  #unsaved: MoveDocument['containers'] = {};
  /** By the monotonic clock. */
  #savedAt = -Infinity;
  now: MoveDocument;

  private constructor(now: MoveDocument, clock: Clock, claim?: Claim<MoveDocument>) {
    this.#claim = claim;
    this.#clock = clock;
    this.now = now;
  }

  static async begin(
    maps: Container,
    facts: Pick<MoveDocument, 'map' | 'keys' | 'low' | 'high' | 'from' | 'to' | 'containers' | 'range'>,
    clock: Clock = systemClock,
  ): Promise<MoveRecord> {
    const startedAt = new Date(clock.now()).toISOString();
    const at = { id: randomUUID().slice(0, 8), pk: partitionOf(facts.map) };
    const of = {
      ...facts,
      type: 'millrace.move',
      ...formatOf('move'),
      step: 'copying',
      startedAt,
      parked: [],
    } as const;
    const claim = await Claim.take<MoveDocument>(maps, at, () => of, { what: whatOf({ ...at, ...facts }), clock });
    return new MoveRecord(claim.now, clock, claim);
  }

  /** To look at a move: this process is not the one that works on it, and can't save. */
  static asRead(found: MoveDocument): MoveRecord {
    return new MoveRecord(found, systemClock);
  }

  /** Goes on with a move whose process has died. @throws MillraceError `under-way` if it has stored progress lately */
  static async resume(
    maps: Container,
    found: MoveDocument,
    { clock = systemClock, force = false }: { readonly clock?: Clock; readonly force?: boolean } = {},
  ): Promise<MoveRecord> {
    const next = (stored: MoveDocument | undefined): MoveDocument => {
      if (!stored) throw sharedError('not-found', `The record of the move ${found.id} was removed`);
      if (!force && !isSilent(stored, clock.now())) throw underWay(stored);
      return stored;
    };
    const claim = await Claim.take(maps, found, next, { what: whatOf(found), clock });
    return new MoveRecord(claim.now, clock, claim);
  }

  /**
   * The process of the move has stored nothing for a while, and can't any more: the next caller goes on at once. False:
   * the process lives, or another one has taken the move over.
   */
  static async abandon(maps: Container, found: MoveDocument, clock: Clock = systemClock): Promise<boolean> {
    const { after } = await rewrite(maps, found, (stored?: MoveDocument): MoveDocument | undefined =>
      stored?.holder === found.holder && isSilent(stored, clock.now()) ? { ...stored, holder: '' } : stored,
    );
    return after?.holder === '';
  }

  /**
   * Stores progress, with `containers` only those that have some.
   * @throws MillraceError `overtaken` if another process has taken the move over
   */
  async save({
    containers,
    ...change
  }: Partial<Pick<MoveDocument, 'step' | 'switchedAt' | 'endedAt' | 'containers' | 'parked'>> = {}): Promise<void> {
    if (!this.#claim) throw underWay(this.now);
    const at = this.#clock.monotonic();
    let unsaved = this.#unsaved;
    await this.#claim.save((stored) => {
      unsaved = this.#unsaved;
      return { ...stored, ...change, containers: { ...stored.containers, ...unsaved, ...containers } };
    });
    this.#savedAt = at;
    // There may be more meanwhile.
    if (this.#unsaved === unsaved) this.#unsaved = {};
    const { now } = this.#claim;
    this.now = { ...now, containers: { ...now.containers, ...this.#unsaved } };
  }

  /** Progress that is stored with the next save; at once if the last one was so long ago that the process may seem silent. */
  async saveSoon(containers: MoveDocument['containers']): Promise<void> {
    this.#unsaved = { ...this.#unsaved, ...containers };
    this.now = { ...this.now, containers: { ...this.now.containers, ...containers } };
    if (this.#clock.monotonic() - this.#savedAt > SAVED_MS) await this.save();
  }
}

const whatOf = ({ id, keys }: Pick<MoveDocument, 'id' | 'keys'>): string => `The move ${id} of ${keys}`;

export const underWay = ({ id, keys, step }: MoveDocument): Error =>
  sharedError('under-way', `The move ${id} of ${keys} is under way: ${step}`, { hint: WAIT_FOR_MOVE });

export const ofKeys = (moves: readonly MoveDocument[], span: KeySpan): MoveDocument[] =>
  moves.filter((one) => spansOverlap(one, span));
