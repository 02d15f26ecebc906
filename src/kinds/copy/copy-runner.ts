import { mapSettled } from '../../base/map-settled.ts';
import { type CopySpec, hasLocator, projectionId, waitsFor } from '../../pipeline/specs.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import type { ColdRead } from '../archive/cold-read.ts';
import { untilDone } from '../../access/change.ts';
import { type FitOptions, fitOf } from '../sink-type.ts';
import { Guess } from '../create-first.ts';
import { Locators, locatorHasLeft } from '../locator.ts';
import { type Runner, evaluate, wantedChanges } from '../runner.ts';
import type { SinkContainer } from '../sink-container.ts';
import { type Refresh, refreshCopies } from './copy-fan-out.ts';
import { type JoinState, JoinStates } from './joins.ts';
import { type Placed, WAITS, place } from './place.ts';
import { StablePlaces } from '../stable-places.ts';
import { writeCopies } from './write.ts';

export interface CopyRunnerOptions extends FitOptions {
  readonly stateContainer: string;
  /** Containers of the copied and the joined types, by name. */
  readonly sources: ReadonlyMap<string, SourceContainer>;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  /** Finds a copied document that has left its container for the archive; without it only the container is read. */
  readonly cold?: ColdRead | undefined;
}

/** Denormalised copies under the version guard (COPY-C1), with joined documents from either side (COPY-J1). */
export function copyRunner(spec: CopySpec, sink: SinkContainer, options: CopyRunnerOptions): Runner {
  const id = projectionId(spec);
  const containerOf = (name: string): SourceContainer =>
    options.sources.get(name) ?? { name, keyPaths: [], types: new Map() };
  const stable = hasLocator(spec) ? undefined : new StablePlaces(id);
  const target = { spec, sink, guess: new Guess() };
  const locators = new Locators(options.stateContainer, id);
  const joins = spec.joins.map(
    (join) => new JoinStates(join, options.stateContainer, id, containerOf(join.of.container)),
  );

  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    evaluate(changes, (change) => change);
    const due = await advanceJoins(joins, changes, access);
    const own = changes.filter(({ container, type }) => container === spec.from.container && type === spec.from.type);
    await applyOwn(wantedChanges(own, spec), access);
    const fan = {
      spec,
      sink,
      stateContainer: options.stateContainer,
      source: containerOf(spec.from.container),
      readLagMs: options.readLagMs,
      cold: options.cold,
      reapply: applyOwn,
    };
    await refreshCopies(fan, due, access);
  };

  /** Makes copies again whose joined state is no longer the current one, until all copies are confirmed. */
  const applyOwn = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    let rest = changes;
    await untilDone(`A joined document of ${id}`, async () => {
      rest = rest.length > 0 ? await applyOnce(rest, access) : rest;
      return rest.length === 0;
    });
  };

  const applyOnce = async (changes: readonly Change[], access: DocumentAccess): Promise<Change[]> => {
    const joined = await joinedStates(joins, changes, access);
    const fit = fitOf(id, options);
    const statesOf = (change: Change) => joined.get(change) ?? {};
    const targeted = evaluate(changes, (change) => {
      const at = place(spec, sink, change, statesOf(change));
      const waits = at === WAITS;
      const places = at && at !== WAITS ? [at] : [];
      for (const { body } of places) if (body) fit(change, body);
      if (places.length > 0) stable?.assert(change, places, places[0]?.body !== null);
      return { change, places, joined: at && waitsFor(spec) ? { joins: statesOf(change), waits } : undefined };
    });
    const usedBy = ({ change }: Pick<Placed, 'change'>): Used => ({ change, joins: statesOf(change) });
    const outdated: Used[] = [];
    const located = hasLocator(spec)
      ? await locators.advance(targeted, access, (one) => void outdated.push(usedBy(one)))
      : [];
    const copies = (hasLocator(spec) ? located : targeted).flatMap(({ places }) => places);
    const left = located.flatMap(({ change, departed, joined: by }) =>
      departed.map((at): Placed => ({ ...at, change, body: null, joins: by ? statesOf(change) : {} })),
    );
    const { current, staleJoins } = await writeCopies(target, [...copies, ...left], access);
    const used = [
      ...current.filter(({ body }) => body !== null),
      ...located.filter(({ joined: by }) => by?.waits).map(usedBy),
    ];
    const again = await unconfirmed(joins, used, [...outdated, ...staleJoins], access);
    const open = new Set(again);
    await locators.prune(
      located.filter((one) => locatorHasLeft(one) && !open.has(one.change)),
      access,
    );
    return again;
  };

  const joined = spec.joins.map(({ of }) => of);
  return { id, order: 'document', sources: [spec.from, ...joined], apply };
}

/** Takes the changes of joined documents into their states. Returns those whose copies must be made again. */
async function advanceJoins(
  joins: readonly JoinStates[],
  changes: readonly Change[],
  access: DocumentAccess,
): Promise<Refresh[]> {
  const work = joins.flatMap((states) => {
    const { container, type } = states.join.of;
    return wantedChanges(
      changes.filter((change) => change.container === container && change.type === type),
      { onDelete: 'remove' },
    ).map((change) => ({ states, change }));
  });
  const advanced = await mapSettled(
    work,
    async ({ states, change }) => ({ join: states.join.name, ...(await states.advance(change, access)) }),
    { concurrency: 128 },
  );
  return advanced.filter(({ changed }) => changed);
}

async function joinedStates(
  joins: readonly JoinStates[],
  changes: readonly Change[],
  access: DocumentAccess,
): Promise<Map<Change, Record<string, JoinState>>> {
  const result = new Map<Change, Record<string, JoinState>>();
  for (const states of joins) {
    for (const [change, state] of await states.currentOf(changes, access)) {
      result.set(change, { ...result.get(change), [states.join.name]: state });
    }
  }
  return result;
}

/** A change with the joined states that it was applied with. */
type Used = Pick<Placed, 'change' | 'joins'>;

/** The changes that must be applied again, since the joined state that they used has been replaced. */
async function unconfirmed(
  joins: readonly JoinStates[],
  current: readonly Used[],
  staleJoins: readonly Used[],
  access: DocumentAccess,
): Promise<Change[]> {
  const again = new Set<Change>();
  for (const states of joins) {
    const { name } = states.join;
    for (const { joins: used, change } of staleJoins) {
      if (used[name]) states.forget(used[name]);
      again.add(change);
    }
    const used = new Map(
      current.flatMap(({ joins: own }) =>
        own[name] ? [[`${own[name].pk} ${own[name].mark}`, own[name]] as const] : [],
      ),
    );
    const failed = new Set<string>();
    const confirm = async ([key, state]: readonly [string, JoinState]): Promise<void> => {
      if (!(await states.confirm(state, access))) failed.add(key);
    };
    await mapSettled(used, confirm, { concurrency: 128 });
    if (failed.size === 0) continue;
    for (const { joins: own, change } of current)
      if (own[name] && failed.has(`${own[name].pk} ${own[name].mark}`)) again.add(change);
  }
  return [...again];
}
