// The protocol of moving keys between two shards, as a world in memory: two shards whose lsns and epochs are their own, the
// hosts of each with a sink of the shard and one of all shards, routers that check and send, and a mover that may die
// between any two steps. It knows nothing of Cosmos DB. docs/SPEC-moves.md says what each step is for.
import { Random } from '../../../support/random.ts';
import { clear } from './move-clearing.ts';
import { isDrained } from './move-deferring.ts';
import { takeCold } from './move-cold.ts';
import { Deletions, deletes } from './move-deleting.ts';
import { type Erasure, seesErasure } from './move-erasing.ts';
import { copyRound, raiseEpoch, renewCopies } from './move-copying.ts';
import { hasDerived, host, renewTenures } from './move-hosting.ts';
import { compareCounts, compareSides, untilSwept } from './move-lag.ts';
import type { MoveMistake } from './move-mistakes.ts';
import { carryLetters, redriveSome } from './move-letters.ts';
import { type Move, type Router, Shard, Sink, type Stored, hasReadAll, isCopy, shows } from './move-shards.ts';

export const KEYS = ['T', 'U'] as const;
/** A write that was admitted lands within this, or its router is known to have stopped: then it may still land. */
const GRACE = 90;
/** What the application removed expires after this, when hosts have it: later than any mover has copied it. */
const EXPIRES = 1_000;
/** Writers open again by themselves. */
export const REOPEN = 80;
const SILENT = 25;

/** An entry says that its document is archived until the change by which that went was drained. */
const isDeferred = ({ deferred }: Shard, id: string): boolean => deferred.some((one) => one.id === id);

export class MoveWorld {
  readonly random: Random;
  readonly mistake: MoveMistake | undefined;
  readonly shards: readonly [Shard, Shard];
  readonly global = new Sink();
  readonly routers: Router[];
  readonly said: string[] = [];
  readonly totals = {
    written: 0,
    moves: 0,
    cancelled: 0,
    deaths: 0,
    stragglers: 0,
    parked: 0,
    retries: 0,
    renewed: 0,
    healed: 0,
    rewound: 0,
    archived: 0,
    restored: 0,
    cold: 0,
    refused: 0,
    redriven: 0,
    carried: 0,
    deferred: 0,
    erased: 0,
    changedBack: 0,
    deleted: 0,
  };
  /** Absent: the application deletes nothing without a trace. */
  readonly deletions: Deletions | undefined;
  readonly owner = new Map<string, Shard>();
  /** The application's last acknowledged write of each document, and those that were parked by name. */
  readonly truth = new Map<string, number>();
  readonly parked = new Set<string>();
  /** On which shards each write was reacted to. */
  readonly effects = new Map<string, Set<string>>();
  readonly moves: Move[] = [];
  /** By the key of the tenant. */
  readonly erasures = new Map<string, Erasure>();
  /** Since when the mapping of a key is offline. */
  readonly offline = new Map<string, number>();
  /** How often administrators have brought a mapping online: a mapping of before is void. */
  readonly #healed = new Map<string, number>();
  now = 0;
  longestHeld = 0;
  /** Writes that landed on a shard that had lost the key, and are neither carried over nor named yet. */
  readonly stragglers = new Map<string, number>();
  /** The documents of all of them: two writes of one document on two shards have no order. */
  readonly late = new Set<string>();
  /** Documents that the application has changed back to what a move had written, with the mark. */
  readonly changedBack = new Set<string>();
  /** Copies as the application has read them, by shard and id. */
  readonly #copies = new Map<string, Stored>();
  /** Writes that landed where the map had their key, online. */
  readonly #right = new Set<number>();
  /** Writes by which the application removed a document, and when it expires. */
  readonly removals = new Map<number, number>();
  readonly #rate: number;
  /** No faults any more. */
  calm = false;
  #count = 0;

  constructor(seed: number, mistake?: MoveMistake, { withDeletions = false } = {}) {
    this.deletions = withDeletions ? new Deletions() : undefined;
    this.random = new Random(seed);
    this.mistake = mistake;
    const { random } = this;
    // Where little is written, documents move there and back as they are.
    this.#rate = random.pick([0.25, 0.05, 0.008, 0.0005]);
    // Each numbers for itself; one may have been rewound before.
    this.shards = [new Shard('A', 100 + random.int(50), 1), new Shard('B', random.int(300), 1 + random.int(2))];
    for (const key of KEYS) this.owner.set(key, random.pick(this.shards));
    this.routers = [1, 2, 3].map(() => ({ knows: new Map(this.owner), silentUntil: 0, sending: undefined }));
  }

  is(mistake: MoveMistake): boolean {
    return this.mistake === mistake;
  }

  /** A step of everything but the mover. `writes`: the application still writes. */
  disturb(writes: boolean): void {
    const { random } = this;
    this.now += 1;
    for (const shard of this.shards)
      for (const [key, since] of shard.held) {
        this.longestHeld = Math.max(this.longestHeld, this.now - since);
        if (this.now - since > REOPEN && !this.is('a silent router is waited for while writes wait'))
          shard.held.delete(key);
      }
    for (const router of this.routers) this.#route(router, writes);
    this.#heal();
    if (random.chance(0.02)) redriveSome(this);
    if (!this.calm && random.chance(0.002)) this.#rewind(random.pick(this.shards));
    for (const shard of this.shards) {
      if (this.calm) shard.downUntil = 0;
      else if (random.chance(0.004)) shard.downUntil = this.now + random.int(300);
      for (const { id, n, lsn, removed } of shard.docs.values())
        if (
          removed &&
          this.now > this.removals.get(n)! &&
          lsn <= shard.position &&
          !shard.page &&
          !isDeferred(shard, id)
        )
          shard.docs.delete(id);
      if (this.now >= shard.downUntil && random.chance(0.4)) host(this, shard);
    }
  }

  /** An administrator finds a key offline whose mover has done nothing for long: it sleeps, or has died. */
  #heal(): void {
    for (const [key, since] of this.offline) {
      const move = this.moves.find((one) => one.key === key && one.step === 'copying');
      if (!move || this.owner.get(key) || this.now - since < SILENT || !this.random.chance(0.05)) continue;
      this.owner.set(key, move.from);
      this.#healed.set(key, (this.#healed.get(key) ?? 0) + 1);
      this.offline.delete(key);
      this.#open(move.from, key);
      this.totals.healed += 1;
    }
  }

  /** An operator reads a shard again from somewhere before, in a later epoch. Refused while keys move from it or to it. */
  #rewind(shard: Shard): void {
    const isHeld = this.moves.some(
      ({ step, from, to }) => step !== 'done' && step !== 'cancelled' && (from === shard || to === shard),
    );
    if (isHeld && !this.is('leases are rewound while keys move')) return;
    shard.position = this.random.int(shard.position + 1);
    shard.epoch += 1;
    // What lies above comes again.
    shard.deferred = shard.deferred.filter(({ lsn }) => lsn <= shard.position);
    renewTenures(shard);
    this.totals.rewound += 1;
  }

  #route(router: Router, writes: boolean): void {
    const { random } = this;
    if (router.sending) {
      // What was admitted is sent now, or after a sleep that no check can see.
      if (router.sending.at <= this.now) {
        this.#land(router.sending);
        router.sending = undefined;
      }
      return;
    }
    if (this.now < router.silentUntil) return;
    if (random.chance(0.01) && !this.calm) router.silentUntil = this.now + 10 + random.int(100);
    // There is something to archive first.
    if (!writes || !random.chance(this.now < 150 ? Math.max(0.1, this.#rate) : this.#rate)) return;
    const key = random.pick(KEYS);
    const known = router.knows.get(key)!;
    // It looks at the gate of the shard that it knows, whose `needs` sends it to the map again.
    const shard = known === this.owner.get(key) || !this.owner.get(key) ? known : this.owner.get(key)!;
    router.knows.set(key, shard);
    // A tenant that leaves writes nothing more; what is under way still lands.
    if (shard.held.has(key) || !this.owner.get(key) || this.erasures.has(key)) return;
    const sleeps = random.chance(0.06) ? 30 + random.int(GRACE - 45) : random.int(3);
    router.sending = { key, shard, id: `${key}${random.int(4)}`, at: this.now + sleeps };
  }

  #land({ key, shard, id }: NonNullable<Router['sending']>): void {
    if (this.#changesBack(shard, key, id) || deletes(this, shard, key, id)) return;
    this.deletions?.now.delete(id);
    const n = (this.#count += 1);
    this.totals.written += 1;
    // What is archived is more often removed than changed.
    const isCold = !shard.docs.has(id) && shard.entries.get(id)?.state === 'archived';
    const removed = this.random.chance(isCold ? 0.5 : 0.1);
    shard.put({ id, key, n, ...(removed && { removed }) });
    if (removed) this.removals.set(n, this.now + EXPIRES);
    const owner = this.owner.get(key);
    if (owner === shard || !owner) {
      this.truth.set(id, n);
      if (owner) this.#right.add(n);
      return;
    }
    this.lateAt(id, n);
  }

  /** An application reads a copy, changes it, and later writes back what it had read, mark and all. */
  #changesBack(shard: Shard, key: string, id: string): boolean {
    const place = `${shard.name}${id}`;
    const there = shard.docs.get(id);
    if (there && isCopy(there)) this.#copies.set(place, there);
    const copy = this.#copies.get(place);
    if (!copy || copy.removed || !there || there.mark || this.owner.get(key) !== shard) return false;
    // One that was read before it was renewed, and is written back when the move has ended, is a gap of SPEC-moves.
    const isRenewed = copy.mark?.version === undefined || this.#renews(shard, key, copy);
    if (!isRenewed || !this.random.chance(0.2)) return false;
    const { lsn: _, ...body } = copy;
    shard.put(body);
    this.truth.set(id, copy.n);
    this.changedBack.add(id);
    this.totals.changedBack += 1;
    return true;
  }

  #renews(shard: Shard, key: string, { mark }: Stored): boolean {
    const isOf = ({ key: of, to, step, switchedAt, epoch }: Move): boolean =>
      of === key &&
      to === shard &&
      step === 'switched' &&
      epoch === mark?.version?.epoch &&
      this.now < switchedAt + GRACE;
    return this.moves.some(isOf);
  }

  /** A write has landed on a shard that had lost its key. */
  lateAt(id: string, n: number): void {
    this.totals.stragglers += 1;
    this.late.add(id);
    this.stragglers.set(id, n);
  }

  /** Whether the shard that the map names has each document, hot or cold (ARC-H1). */
  look(): void {
    for (const [id, n] of this.truth) {
      const at = this.owner.get(id.slice(0, 1));
      if (!at || this.parked.has(id) || this.late.has(id) || !this.#right.has(n)) continue;
      if (this.erasures.has(id.slice(0, 1))) continue;
      const hot = at.docs.get(id);
      const cold = at.entries.get(id);
      const found = hot ? (hot.mark?.gone ? undefined : hot.n) : cold?.state === 'archived' ? cold.n : undefined;
      if (found === undefined && this.removals.has(n)) continue;
      if (found !== n) this.said.push(`${id} is ${n}, and ${at.name} shows ${found}`);
      // A change back counts only when the copy has been renewed.
      if (hot && !isDeferred(at, id) && !this.changedBack.has(id) && hasReadAll(at) && !shows(at, hot))
        this.said.push(`${id} is ${n}, and the sink of ${at.name} doesn't show it`);
    }
    this.said.push(...(this.deletions?.wrong((id) => this.#sees(id)) ?? []));
  }

  /** Undefined: no one knows what the application has written last, or where. */
  #sees(id: string): Shard | undefined {
    return this.parked.has(id) || this.late.has(id) ? undefined : this.owner.get(id.slice(0, 1));
  }

  hasAcknowledged = (shard: Shard, position: number, key: string): boolean =>
    !shard.page &&
    shard.since(shard.position, key).every(({ lsn }) => lsn > position) &&
    shard.position >= Math.min(position, shard.lsn) &&
    isDrained(this, shard, position, key);

  /** The steps of the mover from the record on. After each `yield` it may die; what it kept in memory is lost then. */
  *mover(move: Move): Generator<void, void, undefined> {
    while (move.step !== 'done' && move.step !== 'cancelled') {
      if (move.step === 'copying') yield* this.#copyAndSwitch(move);
      else if (move.step === 'switched') yield* this.#followStragglers(move);
      else if (move.step === 'clearing') yield* clear(this, move);
    }
  }

  *#copyAndSwitch(move: Move): Generator<void, void, undefined> {
    const { from, to, key } = move;
    // A mover that died may have left the keys held, or offline.
    this.#open(from, key);
    this.owner.set(key, from);
    this.offline.delete(key);
    const known = this.#healed.get(key);
    yield;
    yield* untilSwept(this, move);
    if (!this.is('the epoch is raised at the switch')) yield* raiseEpoch(this, move);
    // What is renewed is no event any more, so its hosts must have had it before.
    if (!this.is('a document is renewed before its hosts had it'))
      while (!this.hasAcknowledged(from, move.renews, key)) yield;
    for (let rounds = 0; ;) {
      const copied = yield* copyRound(this, move);
      if (copied < 2 && (rounds += 1) > 1) break;
    }
    yield* compareSides(this, move);
    while (!this.hasAcknowledged(to, to.lsn, key)) yield;
    hasDerived(this, move);
    yield* takeCold(this, move);
    if (this.is('derived documents are copied')) {
      const total = from.sink.totals.get(key);
      if (total !== undefined) to.sink.totals.set(key, total);
    }
    from.held.set(key, this.now);
    const since = this.now;
    for (;;) {
      yield;
      const open = this.routers.filter((one) => this.#isUnderWay(one, from, key) || this.now < one.silentUntil);
      if (open.length === 0) break;
      if (this.is('a silent router is waited for while writes wait')) continue;
      // A router that says nothing for long has expired, and what it sent is a straggler; one that is at work is not.
      if (this.now - since > SILENT) {
        this.totals.retries += 1;
        move.tries += 1;
        this.#open(from, key);
        yield;
        if (move.tries < 3) return;
        from.held.set(key, this.now);
        break;
      }
    }
    for (let quiet = 0; quiet < 1;) quiet = (yield* copyRound(this, move)) === 0 ? quiet + 1 : 0;
    if (this.is('counts are compared before nothing writes any more')) yield* compareCounts(this, move);
    if (!this.is('the mapping moves without a last look')) {
      // Offline: from here on the shard's gate admits nothing, also where routers opened by themselves.
      this.owner.delete(key);
      this.offline.set(key, this.now);
      yield;
      for (let quiet = 0; quiet < 2;) quiet = (yield* copyRound(this, move)) === 0 ? quiet + 1 : 0;
    }
    // Only now nothing is written any more, so what both sides have is what they will have.
    const isCounted = [
      'counts are compared before nothing writes any more',
      'both sides are compared before the pause alone',
    ];
    if (!isCounted.some((mistake) => this.mistake === mistake)) yield* compareCounts(this, move);
    // The mapping that it took offline is void: it begins again.
    const isVoid = this.#healed.get(key) !== known;
    if (isVoid && !this.is('a slow mover switches what was brought back')) return;
    if (this.is('the epoch is raised at the switch')) to.epoch = Math.max(to.epoch, from.epoch) + 1;
    // One conditional write.
    move.closedAt = from.lsn;
    // What has landed since made the counts: a gap of SPEC-moves.
    if (from.since(move.copied, key).length > 0) this.deletions?.lose(key);
    this.owner.set(key, to);
    this.offline.delete(key);
    move.step = 'switched';
    move.switchedAt = this.now;
    this.totals.moves += 1;
    this.#open(from, key);
    yield;
  }

  #isUnderWay({ sending }: Router, shard: Shard, key: string): boolean {
    return sending?.key === key && sending.shard === shard && sending.at - this.now < SILENT / 2;
  }

  #open(shard: Shard, key: string): void {
    shard.held.delete(key);
  }

  *#followStragglers(move: Move): Generator<void, void, undefined> {
    const { from, key } = move;
    // The last look is after the grace.
    for (let isOver = false; !isOver;) {
      isOver = this.now - move.switchedAt > GRACE;
      if (!isOver) yield;
      if (this.is('copies are renewed before the last look')) yield* renewCopies(this, move);
      this.#carryOver(move);
      yield* renewCopies(this, move);
    }
    yield* renewCopies(this, move);
    const early = this.is('letters go before hosts have acknowledged');
    if (early) yield* carryLetters(this, move);
    while (!this.is('the clean-up waits for no host') && !this.hasAcknowledged(from, move.copied, key)) yield;
    if (!early) yield* carryLetters(this, move);
    move.step = 'clearing';
    yield;
  }

  /** What landed on the source since the last copying, before and after the switch. */
  #carryOver(move: Move): void {
    const { from, to, key } = move;
    if (this.is('stragglers are not followed')) return;
    for (const doc of from.since(move.copied, key)) {
      move.copied = doc.lsn;
      if (doc.mark && !doc.mark.restored) continue;
      const there = to.docs.get(doc.id);
      if ((there && isCopy(there)) || (there && this.is('a straggler replaces what was written since'))) {
        to.put({ ...doc, mark: { version: { epoch: move.epoch, lsn: doc.lsn } } });
        this.truth.set(doc.id, doc.n);
        this.stragglers.delete(doc.id);
      } else {
        if (this.#right.has(doc.n) && !doc.mark?.restored)
          this.said.push(`${doc.id}@${doc.n} was written where the map had it, and is parked`);
        this.parked.add(doc.id);
        this.stragglers.delete(doc.id);
        this.totals.parked += 1;
      }
    }
  }

  begin(key: string): Move | undefined {
    const from = this.owner.get(key);
    const to = this.shards.find((one) => one !== from);
    const busy = this.moves.some(
      (one) =>
        (one.key === key && one.step !== 'done' && one.step !== 'cancelled') ||
        // Each raises the epoch of the shard that the other one copies from.
        (one.step === 'copying' && one.from === to),
    );
    // Its own record is stored first, so an erasure that it doesn't see looks for it later.
    const isErasing = [...this.erasures].some(([one, { endedAt }]) => endedAt === undefined && seesErasure(this, one));
    if (isErasing && !this.is('a move begins beside an erasure')) return undefined;
    if (!from || !to || busy || this.parkedOf(key)) return undefined;
    const before = this.moves.filter((one) => one.key === key && one.step === 'cancelled' && one.to === to);
    const move: Move = {
      key,
      from,
      to,
      lockedAt: this.now,
      step: 'copying',
      copied: 0,
      closedAt: 0,
      epoch: from.epoch,
      switchedAt: 0,
      renews: Math.max(0, ...before.map(({ copied }) => copied)),
      tries: 0,
    };
    this.moves.push(move);
    return move;
  }

  parkedOf(key: string): boolean {
    return [...this.parked].some((id) => id.startsWith(key));
  }

  /** All that is left is sent, and read by the hosts. */
  settle(): void {
    this.calm = true;
    for (let at = 0; at < 3_000; at++) this.disturb(false);
  }
}
