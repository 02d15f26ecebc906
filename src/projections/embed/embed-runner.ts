import { systemClock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { CHILDREN_WITH_THE_PAGE } from '../../definition/builders/embed.ts';
import { type EmbedSpec, projectionId } from '../../definition/specs.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { SinkSession } from '../../sinks/session.ts';
import { Poison, type Refusal, type Runner, evaluate, wantedChanges } from '../runner.ts';
import { askParents } from './ask.ts';
import { type EmbedTarget, type OpenEmbed, PAGE, type Progress, continueEmbed } from './embed-fan-out.ts';
import { EmbedStates, type Held } from './states.ts';

export interface EmbedOptions {
  readonly stateContainer: string;
  /** Containers of the parents and the children, by name. */
  readonly sources: ReadonlyMap<string, SourceContainer>;
  /** How old a read may be, milliseconds (A3). */
  readonly readLagMs: number;
  /** Seconds after which the children's container lets documents expire that don't say so themselves. */
  readonly childTtl?: number | undefined;
}

/** Children that are dealt with in one go, by pages; the rest is left to `resume`. */
const PAGES = CHILDREN_WITH_THE_PAGE / PAGE;
/** How often this host looks for parents that another one left behind. */
const LOOK_MS = 60_000;
/** How long one call of `resume` works. */
const WORK_MS = 20_000;

/** Fields kept as a parent says, in documents that others write (R8, docs/SPEC-embeds.md). */
export function embedRunner(spec: EmbedSpec, options: EmbedOptions): Runner {
  const id = projectionId(spec);
  const containerOf = (name: string): SourceContainer =>
    options.sources.get(name) ?? { name, keyPaths: [], types: new Map() };
  const states = new EmbedStates(options.stateContainer, spec);
  const target: EmbedTarget = {
    spec,
    parents: containerOf(spec.from.container),
    children: containerOf(spec.into.container),
    childTtl: options.childTtl,
    states,
    readLagMs: options.readLagMs,
  };
  const open = new Map<string, OpenEmbed>();
  let lookedAt: number | undefined;

  const apply = async (changes: readonly Change[], session: SinkSession): Promise<void> => {
    evaluate(changes, (change) => change);
    const parents = changes.filter(
      ({ container, type }) => container === spec.from.container && type === spec.from.type,
    );
    const children = changes.filter(
      ({ container, type }) => container === spec.into.container && type === spec.into.type,
    );
    const refusals = [
      ...(await tellChildren(wantedChanges(parents, spec), session)),
      ...(await askParents(target, wantedChanges(children, { onDelete: 'remove' }), session)),
    ];
    if (refusals.length > 0) throw new Poison(refusals);
  };

  /** Writes the states, then as many children as a page has time for. */
  const tellChildren = async (changes: readonly Change[], session: SinkSession): Promise<Refusal[]> => {
    const refusals: Refusal[] = [];
    const advance = async (change: Change): Promise<void> => {
      const doc = change.op === 'delete' ? null : (change.doc ?? null);
      const held = await states.advance(change, doc, session).catch(stateRefused);
      if (held instanceof MillraceError) refusals.push({ change, error: held });
      else if (held?.state.job === 'run') refusals.push(...refusalOf(change, await goOn(remember(held), session)));
    };
    await mapSettled(changes, advance, { concurrency: 8 });
    return refusals;
  };

  const remember = (held: Held): OpenEmbed => {
    const { pk, version } = held.state;
    const known = open.get(pk);
    // Known longer under this version: what counts is when it was first seen.
    const since = known?.held.state.version.etag === version.etag ? known.since : systemClock.monotonic();
    const one = { held, since };
    open.set(pk, one);
    return one;
  };

  const goOn = async (one: OpenEmbed, session: SinkSession): Promise<Progress> => {
    const { pk } = one.held.state;
    const progress = await continueEmbed(target, one, session, { pages: PAGES, signal: session.fence.signal });
    // A newer change of the parent may have come in between: that one is to be remembered.
    if (open.get(pk) === one) {
      if (progress.kind === 'done') open.delete(pk);
      else open.set(pk, progress.next);
    }
    return progress;
  };

  const resume = async (session: SinkSession): Promise<{ idle: boolean; refusals: Refusal[] }> => {
    const begun = systemClock.monotonic();
    if (lookedAt === undefined || begun - lookedAt > LOOK_MS) {
      for (const held of await states.open(session)) if (!open.has(held.state.pk)) remember(held);
      lookedAt = begun;
    }
    const refusals: Refusal[] = [];
    for (const one of open.values()) {
      if (systemClock.monotonic() - begun > WORK_MS) break;
      refusals.push(...refusalOf(changeOf(spec, one.held), await goOn(one, session)));
    }
    return { idle: open.size === 0, refusals };
  };

  return { id, order: 'document', sources: [spec.from, spec.into], apply, resume };
}

/** What a parent is refused for: children that can't take what it says. */
function refusalOf(change: Change, { refused }: Progress): Refusal[] {
  const [first] = refused;
  if (!first) return [];
  const [child, { code, message, mend }] = first;
  const others = refused.size > 1 ? ` (of ${refused.size})` : '';
  const why = `Child ${child}${others} can't take the fields: ${message}`;
  return [{ change, error: new MillraceError(code, why, mend === undefined ? {} : { mend }) }];
}

/** A parent too large for its state to be kept is that parent's trouble. */
function stateRefused(error: unknown): MillraceError {
  if (error instanceof MillraceError && error.code === 'state-refused') return error;
  throw error;
}

/** A parent's change as its state remembers it, for what is found out long after its page. */
const changeOf = ({ from }: EmbedSpec, { state: { parent, version, doc } }: Held): Change => ({
  ...parent,
  type: from.type,
  version,
  at: 0,
  op: doc === null ? 'delete' : 'upsert',
  ...(doc && { doc }),
});
