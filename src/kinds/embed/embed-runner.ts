import { systemClock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { CHILDREN_WITH_THE_PAGE } from '../../pipeline/builders/embed.ts';
import { type EmbedSpec, projectionId } from '../../pipeline/specs.ts';
import { type SourceContainer, tenantByKey } from '../../feed/reading/mapper.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { Poison, type Refusal, type Runner, evaluate, wantedChanges } from '../runner.ts';
import { askParents } from './ask.ts';
import { type EmbedTarget, type OpenEmbed, PAGE, type FanOutProgress, continueEmbed } from './embed-fan-out.ts';
import { EmbedStates, type StoredState } from './states.ts';

export interface EmbedRunnerOptions {
  readonly stateContainer: string;
  /** Containers of the parents and the children, by name. */
  readonly sources: ReadonlyMap<string, SourceContainer>;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  /** Default time to live of the children's container, in seconds. */
  readonly childTtl?: number | undefined;
}

/** Pages of children that one call updates; `resume` updates the rest. */
const PAGES = CHILDREN_WITH_THE_PAGE / PAGE;
/** How often this host looks for parents that another host left unfinished. */
const LOOK_MS = 60_000;
/** How long one call of `resume` works. */
const WORK_MS = 20_000;

/** Keeps fields of a parent in documents that others write (EMB-M1). */
export function embedRunner(spec: EmbedSpec, options: EmbedRunnerOptions): Runner {
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

  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    evaluate(changes, (change) => change);
    const parents = changes.filter(
      ({ container, type }) => container === spec.from.container && type === spec.from.type,
    );
    const children = changes.filter(
      ({ container, type }) => container === spec.into.container && type === spec.into.type,
    );
    const refusals = [
      ...(await updateChildren(wantedChanges(parents, spec), access)),
      ...(await askParents(target, wantedChanges(children, { onDelete: 'remove' }), access)),
    ];
    if (refusals.length > 0) throw new Poison(refusals);
  };

  /** Writes the states, then as many children as a page has time for. */
  const updateChildren = async (changes: readonly Change[], access: DocumentAccess): Promise<Refusal[]> => {
    const refusals: Refusal[] = [];
    const advance = async (change: Change): Promise<void> => {
      const doc = change.op === 'delete' ? null : (change.doc ?? null);
      const stored = await states.advance(change, doc, access).catch(stateRefused);
      if (stored instanceof MillraceError) refusals.push({ change, error: stored });
      else if (stored?.state.job === 'run')
        refusals.push(...refusalOf(change, await continueOne(remember(stored), access)));
    };
    await mapSettled(changes, advance, { concurrency: 8 });
    return refusals;
  };

  const remember = (stored: StoredState): OpenEmbed => {
    const { pk, version } = stored.state;
    const known = open.get(pk);
    // If this host knows the version already, the time when it first saw it counts.
    const since = known?.stored.state.version.etag === version.etag ? known.since : systemClock.monotonic();
    const one = { stored, since };
    open.set(pk, one);
    return one;
  };

  const continueOne = async (one: OpenEmbed, access: DocumentAccess): Promise<FanOutProgress> => {
    const { pk } = one.stored.state;
    const progress = await continueEmbed(target, one, access, { pages: PAGES, signal: access.fence.signal });
    // A newer change of the parent may have replaced the entry meanwhile: then that one stays.
    if (open.get(pk) === one) {
      if (progress.kind === 'done') open.delete(pk);
      else open.set(pk, progress.next);
    }
    return progress;
  };

  const resume: Runner['resume'] = async (access, isErased) => {
    const begun = systemClock.monotonic();
    if (lookedAt === undefined || begun - lookedAt > LOOK_MS) {
      for (const stored of await states.open(access)) if (!open.has(stored.state.pk)) remember(stored);
      lookedAt = begun;
    }
    const refusals: Refusal[] = [];
    for (const [pk, one] of open) {
      if (systemClock.monotonic() - begun > WORK_MS) break;
      const change = changeOf(target, one.stored);
      // The erasure removes the state. Without it the work would never be done.
      if (isErased?.(change.tenant)) open.delete(pk);
      else refusals.push(...refusalOf(change, await continueOne(one, access)));
    }
    return { idle: open.size === 0, refusals };
  };

  return { id, order: 'document', sources: [spec.from, spec.into], apply, resume };
}

/** Refuses a parent whose children can't take its fields. */
function refusalOf(change: Change, { refused }: FanOutProgress): Refusal[] {
  const [first] = refused;
  if (!first) return [];
  const [child, { code, message, hint }] = first;
  const others = refused.size > 1 ? ` (of ${refused.size})` : '';
  const why = `Child ${child}${others} can't take the fields: ${message}`;
  return [{ change, error: MillraceError.from({ code, message: why, hint }) }];
}

/** Only this parent is refused if its state is too large to store. */
function stateRefused(error: unknown): MillraceError {
  if (error instanceof MillraceError && error.code === 'state-refused') return error;
  throw error;
}

/** A parent's change, made from its stored state: a child may be refused long after the page of the change. */
const changeOf = ({ spec, parents }: EmbedTarget, { state: { parent, version, doc } }: StoredState): Change => ({
  ...parent,
  type: spec.from.type,
  ...tenantByKey(parents, parent.key, doc ?? {}),
  version,
  at: 0,
  op: doc === null ? 'delete' : 'upsert',
  ...(doc && { doc }),
});
