import { formatOf } from '../../base/format.ts';
import { canonical, digest } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type Change, type Version, compareVersions } from '../../feed/reading/change.ts';
import { withoutPaths } from '../../pipeline/fields/ignored.ts';
import type { SourceRef } from '../../pipeline/specs.ts';
import type { DocumentAccess, SinkDocument, Write } from '../../access/document-access.ts';
import { untilDone } from '../../access/change.ts';
import { projectionsError } from '../errors.ts';
import { Poison, type Runner, ifNoThrow, placeText } from '../runner.ts';
import { Rewinds } from './rewinds.ts';

/** What a projection has done for one source document (docs/SPEC-echo.md). Its type has the name of its first use. */
interface EffectRecord {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.published';
  /** The newest version that was seen. */
  readonly version: Version;
  /** A digest of its content without the fields that are no change. */
  readonly content: string;
  /** Which fields those are. Absent: those of embeds alone. */
  readonly ignore?: readonly string[];
  /** The version under which the effect is known. Absent: `version`. */
  readonly of?: Version;
  /** `at` of that version. */
  readonly at?: number;
  /** The newest version of the content before, as far as it was seen. Absent: none was. */
  readonly after?: Version;
  /** False: the effect has begun, or is to begin, and nobody knows that it ended. Absent: it is done. */
  readonly done?: false;
}

type Stored = SinkDocument & EffectRecord;

/** What a record keeps while its content is the same. */
interface Own {
  readonly of: Version;
  readonly at: number | undefined;
  readonly after: Version | undefined;
}

const ownOf = ({ version, of = version, at, after }: EffectRecord): Own => ({ of, at, after });

/** The right to have one effect, which is stored before the effect begins. */
export interface EffectClaim {
  /** True: it was claimed before, and may have happened. */
  readonly begun: boolean;
  /** Stores that the effect has happened. */
  readonly finish: () => Promise<void>;
}

const claims = new WeakMap<Change, EffectClaim>();

/** The claim under which a runner got this change. Undefined: its projection keeps no records. */
export const claimOf = (change: Change): EffectClaim | undefined => claims.get(change);

export interface EffectRecordsOptions {
  readonly stateContainer: string;
  /** `name@version` whose effects they are. */
  readonly projection: string;
  /** The fields of a type that are no change. */
  readonly ignored: (of: SourceRef) => readonly string[];
  /** Of these, the fields that embeds of the pipeline write. */
  readonly embedded?: (of: SourceRef) => readonly string[];
}

interface Work {
  readonly begun: boolean;
  readonly last: Change;
  readonly etag?: string | undefined;
  readonly access: DocumentAccess;
}

/** Changes of one document that follow each other in a page with one content. */
interface Unit {
  readonly change: Change;
  last: Change;
}

const AT_ONCE = 512;

/**
 * One record for each projection and source document. It is claimed before an effect and marked as done after it, so a
 * version that brings nothing but ignored fields has none, and each other change that was shown has its own, under one key.
 */
export class EffectRecords {
  readonly #options: EffectRecordsOptions;
  readonly #rewinds: Rewinds;
  /** What the runner got for a change: the same object if it gets the change again. */
  readonly #passed = new WeakMap<Change, Change>();
  readonly #originals = new WeakMap<Change, Change>();

  constructor(options: EffectRecordsOptions) {
    this.#options = options;
    this.#rewinds = new Rewinds(options.stateContainer);
  }

  /**
   * A runner that has one effect for each change. `meant`: whether a change has an effect; a change at which it throws goes
   * to the runner, which parks it. The runner gets a change under the version by which its effect is known.
   */
  guard(runner: Runner, meant: (change: Change) => boolean = () => true): Runner {
    const isMeant = ifNoThrow(meant);
    const isLeftOut = ifNoThrow((change) => !meant(change));
    const isEcho = (change: Change): boolean => change.echo === true && this.#options.embedded !== undefined;
    const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
      for (const segment of this.#segments(changes.filter((change) => !isEcho(change)))) {
        const claim = (unit: Unit): Promise<Change | undefined> => this.#claim(unit, isLeftOut(unit.change), access);
        const claimed = await mapSettled(segment, claim, { concurrency: AT_ONCE });
        const due = claimed.filter((change) => change !== undefined);
        if (due.length === 0) continue;
        await runner.apply(due, access).catch((error: unknown) => {
          if (!(error instanceof Poison)) throw error;
          throw new Poison(
            error.refusals.map(({ change, ...why }) => ({ ...why, change: this.#originals.get(change) ?? change })),
          );
        });
        await mapSettled(due, async (change) => claims.get(change)?.finish(), { concurrency: AT_ONCE });
      }
      // What only embeds have changed since a move counts as done, also if no host has seen the copy.
      await passOver(changes.filter(isEcho), access);
    };
    const passOver = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
      const here = changes.filter(({ gone, typeUnknown }) => !gone && !typeUnknown);
      const last = new Map(here.map((change) => [placeText(change), change]));
      const asEvent = (change: Change): Change => ({ ...change, backfilled: false, moved: false });
      await mapSettled(last.values(), (change) => this.#note(change, isMeant(asEvent(change)), access), {
        concurrency: AT_ONCE,
      });
    };
    return { ...runner, apply, passOver };
  }

  /** The changes as they were when their content had its effect, where that is known. For history that comes again. */
  async known(changes: readonly Change[], access: DocumentAccess): Promise<Change[]> {
    const stored = await mapSettled(changes, (change) => this.#read(change, access), { concurrency: AT_ONCE });
    return changes.map((change, at) => {
      const record = stored[at];
      return record && this.#isSame(record, change) ? { ...change, version: ownOf(record).of } : change;
    });
  }

  /** Stores what a document is now as done, unless something is stored of it. */
  async baseline(changes: readonly Change[], access: DocumentAccess): Promise<void> {
    await mapSettled(changes, (change) => this.#note(change, true, access, true), { concurrency: AT_ONCE });
  }

  /** Pages cut so that no part has two contents of one document: the second waits until the first is done. */
  #segments(changes: readonly Change[]): Unit[][] {
    const segments: Unit[][] = [];
    const units = new Map<string, Unit>();
    for (const change of changes) {
      const place = placeText(change);
      const before = units.get(place);
      if (before && !change.owed && this.#contentOf(before.change) === this.#contentOf(change)) {
        before.last = change;
        continue;
      }
      if (before) units.clear();
      if (units.size === 0) segments.push([]);
      const unit = { change, last: change };
      units.set(place, unit);
      segments.at(-1)?.push(unit);
    }
    return segments;
  }

  /** The change to have an effect for. Undefined: it has none, or had it. */
  async #claim(unit: Unit, leftOut: boolean, access: DocumentAccess): Promise<Change | undefined> {
    const { last } = unit;
    let claimed: Change | undefined;
    await untilDone(`The record of ${last.container}/${last.id}`, async () => {
      claimed = undefined;
      const stored = await this.#read(last, access);
      const isOld = ({ version }: Change): boolean =>
        stored !== undefined && compareVersions(version, stored.version) === 'older';
      // Of several with one content, a crash may have left the record at a later one.
      const change = !unit.change.owed && isOld(unit.change) ? last : unit.change;
      if (change.owed) {
        // A letter stands for it, whatever was noted since. It never moves the version.
        const itsOwn = { of: change.version, at: change.at, after: undefined };
        const own = stored?.done === false ? ownOf(stored) : itsOwn;
        claimed = this.#pass(change, own, { begun: true, last: change, access });
        return true;
      }
      if (isOld(change)) {
        // Another host has begun it with a later version that brings nothing, and may die: this page must not end before it
        // had its effect, because the next version may have none (ECHO-R1).
        if (stored?.done !== false || leftOut || !this.#isSame(stored, change)) return true;
        const { version, after } = stored;
        // The same content from before another one is a change of its own, which came to an end or was overtaken (ECHO-R12).
        if (after && compareVersions(change.version, after) === 'older') return true;
        const own = ownOf(stored);
        // The read may be old: the write says whether it is still so.
        const etag = await this.#write(change, stored, { version, ...own, done: false }, access);
        if (etag === undefined) return false;
        claimed = this.#pass(change, own, { begun: true, last: { ...change, version }, etag, access });
        return true;
      }
      const same = stored !== undefined && this.#isSame(stored, change);
      const isDone = !same || (stored.done !== false && !(await this.#rewinds.repeats(stored.version, change, access)));
      const due = !leftOut && !(same && isDone);
      // A deletion may be that of a document of another type.
      if (leftOut && change.typeUnknown && !stored) return true;
      const own = same ? ownOf(stored) : { of: change.version, at: change.at, after: stored?.version };
      const version = due ? change.version : last.version;
      const isStored = same && canonical(stored.version) === canonical(version) && (stored.done === false) === due;
      let etag = stored?._etag;
      if (!isStored || !this.#hasList(stored, change)) {
        const answer = await this.#write(change, stored, { version, ...own, done: !due }, access);
        if (answer === undefined) return false;
        etag = answer;
      }
      if (!due) return true;
      claimed = this.#pass(change, own, { begun: same && stored.done === false, last, etag, access });
      return true;
    });
    return claimed;
  }

  #pass(change: Change, own: Own, work: Work): Change {
    const seen = { ...change, version: own.of, at: own.at ?? change.at };
    const before = this.#passed.get(change);
    const passed = before && canonical(before.version) === canonical(seen.version) ? before : seen;
    this.#passed.set(change, passed);
    this.#originals.set(passed, change);
    let finished = false;
    const finish = async (): Promise<void> => {
      if (finished) return;
      await this.#finish(passed, own, work);
      finished = true;
    };
    claims.set(passed, { begun: work.begun, finish });
    return passed;
  }

  async #finish(change: Change, own: Own, { last, etag, access }: Work): Promise<void> {
    const done = { ...own, done: true };
    let known = etag;
    await untilDone(`The record of ${change.container}/${change.id}`, async () => {
      if (known !== undefined) {
        const answer = await this.#write(change, { _etag: known }, { ...done, version: last.version }, access);
        known = undefined;
        return answer !== undefined;
      }
      const stored = await this.#read(change, access);
      // Erased, or another change has claimed it since; or a newer version of this one, which ends it.
      if (stored?.done !== false || canonical(ownOf(stored).of) !== canonical(own.of)) return true;
      if (change.owed)
        return (await this.#write(change, stored, { ...done, version: stored.version }, access, stored)) !== undefined;
      if (compareVersions(last.version, stored.version) === 'older') return true;
      return (await this.#write(change, stored, { ...done, version: last.version }, access)) !== undefined;
    });
  }

  /** Stores a version as one without an effect of its own. What was claimed and isn't done stays so. */
  async #note(change: Change, meant: boolean, access: DocumentAccess, onlyNew = false): Promise<void> {
    await untilDone(`The record of ${change.container}/${change.id}`, async () => {
      const stored = await this.#read(change, access);
      if (!stored && !meant) return true;
      if (stored && (onlyNew || compareVersions(change.version, stored.version) !== 'newer')) return true;
      const { version, at } = change;
      const kept = stored && (stored.done === false || this.#isSame(stored, change));
      const own = kept ? ownOf(stored) : { of: version, at, after: stored?.version };
      return (
        (await this.#write(change, stored, { version, ...own, done: stored?.done !== false }, access)) !== undefined
      );
    });
  }

  /** The ETag; undefined: another writer was faster, or the outcome is unknown. `as`: keeps the content of this record. */
  async #write(
    change: Change,
    stored: { readonly _etag: string } | undefined,
    { version, of, at, after, done }: Own & { readonly version: Version; readonly done: boolean },
    access: DocumentAccess,
    as?: EffectRecord,
  ): Promise<string | undefined> {
    const { pk, id } = this.#place(change);
    const ignore = as ? as.ignore : this.#options.ignored(change);
    const body: EffectRecord = {
      id,
      pk,
      type: 'millrace.published',
      ...formatOf('published'),
      version,
      content: as?.content ?? this.#contentOf(change),
      ...(ignore && ignore.length > 0 && { ignore }),
      ...(canonical(of) !== canonical(version) && { of }),
      ...(at !== undefined && { at }),
      ...(after && { after }),
      ...(!done && { done }),
    };
    const write: Write = stored ? { op: 'replace', id, body, ifMatch: stored._etag } : { op: 'create', id, body };
    const answer = await access.commit(this.#options.stateContainer, [pk], [write]);
    if (answer.kind === 'refused')
      throw projectionsError('state-refused', `The state container refused the record of an effect: ${answer.why}`);
    return answer.kind === 'done' ? answer.etags[0] : undefined;
  }

  async #read(change: Change, access: DocumentAccess): Promise<Stored | undefined> {
    const { pk, id } = this.#place(change);
    const [stored] = await access.read(this.#options.stateContainer, [pk], [id]);
    return stored as Stored | undefined;
  }

  #place({ container, key, id }: Change): { pk: string; id: string } {
    return { pk: `published|${this.#options.projection}|${digest([container, key])}`, id: digest(id) };
  }

  /** Compared under the list of the record: a list that was changed since makes no change of its own. */
  #isSame(stored: EffectRecord, change: Change): boolean {
    return stored.content === this.#contentOf(change, stored.ignore ?? this.#options.embedded?.(change) ?? []);
  }

  #hasList({ ignore }: Partial<EffectRecord> = {}, change: Change): boolean {
    return canonical(ignore ?? []) === canonical(this.#options.ignored(change));
  }

  /** Without `ttl`: another time to live is not another content. System fields and Millrace's are removed before. */
  #contentOf(change: Change, ignore = this.#options.ignored(change)): string {
    const { op, doc = {} } = change;
    const { ttl: _, ...content } = withoutPaths(doc, ignore);
    return digest([op, content]);
  }
}
