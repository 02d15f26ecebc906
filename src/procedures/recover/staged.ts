import { type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { type Declares, type Staged, type ViewsByName, Views, versionOf } from '../../engine/views/views.ts';
import { processorName } from '../../runtime/hosts/processor-name.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { LeaseInventory } from '../leases/groups.ts';
import { deleteLease, deleteMarker } from '../rewind/write-leases.ts';
import { removeVersion } from '../drop/drop.ts';
import { asPromoted } from '../promote/promote.ts';
import { plural } from '../table.ts';
import type { RecoveryFinding } from './finding.ts';

/** Versions, contents of sinks and custom projections that were being built. */
export const findStaged = (views: ViewsByName): RecoveryFinding[] =>
  Object.entries(views).flatMap(([name, { staged }]) => (staged ? [ofStaged(name, staged)] : []));

/** The history of what was being built is no longer that of its sources: documents of it may be lost, or come twice. */
function ofStaged(name: string, staged: Staged): RecoveryFinding {
  const about = `${name}@${staged.version}`;
  const kind = kindOf(staged);
  if (kind === 'content')
    return {
      about,
      what: `the content ${staged.container} of its sink was being filled (${staged.phase}), and may have rows of lost documents`,
      remedy: 'you',
      hint: `Run \`millrace projections drop ${name} --yes\`, and fill it again.`,
    };
  if (kind === 'custom')
    return {
      about,
      what: `was being rebuilt in place (${staged.phase}), and is incomplete`,
      remedy: 'you',
      hint: `Run \`millrace projections rebuild ${name}\`: it begins with a reset.`,
    };
  return {
    about,
    what: `was being built (${staged.phase}), from a history that is no longer that of its sources`,
    remedy: 'recover',
    hint: `The recovery drops it. If it was promoted since the time of the state, give --current ${about}.`,
  };
}

/** What is being built: a version has a type of its own, a content of a sink only a name, a custom projection neither. */
const kindOf = ({ type, container }: Staged): 'version' | 'content' | 'custom' =>
  type !== '' ? 'version' : container !== '' ? 'content' : 'custom';

/** The leases of rebuilds, replays and promotions of this pipeline. Live hosts don't use them. */
const workLeases = ({ groups, ridPrefix }: LeaseInventory, { pipeline }: Pick<LoadedPipeline, 'pipeline'>) => {
  const database = ridPrefix('', '');
  // A lease container may be shared with another account, in which the work goes on.
  return groups.filter(({ prefix, leases }) => {
    const [work = '', of] = split(prefix, database);
    return leases.length > 0 && of !== undefined && work.startsWith(processorName(pipeline)) && work.includes('@');
  });
};

const split = (prefix: string, by: string): string[] => {
  const at = prefix.indexOf(by);
  return at === -1 ? [] : [prefix.slice(0, at), prefix.slice(at)];
};

export const findWorkLeases = (
  inventory: LeaseInventory,
  loaded: Pick<LoadedPipeline, 'pipeline'>,
): RecoveryFinding[] =>
  workLeases(inventory, loaded).map(({ prefix, leases }) => ({
    about: prefix,
    what: `${plural(leases.length, 'lease')} of a rebuild, a replay or a promotion: its position is not one of the history as it is now`,
    remedy: 'recover',
  }));

/** A later rebuild or replay of the same name would continue from these positions, and leave out what is before (REC-V2). */
export async function removeWorkLeases(
  inventory: LeaseInventory,
  loaded: Pick<LoadedPipeline, 'pipeline'>,
): Promise<void> {
  const container = inventory.leases;
  for (const { prefix, leases } of workLeases(inventory, loaded)) {
    await deleteMarker(container, prefix);
    for (const { document } of leases) await deleteLease(container, document, 'Only such leases were removed.');
  }
}

/**
 * Drops every version that was being built (REC-V1): the comparison corrects current versions alone. A custom projection
 * must be reset again. No host runs, and the leases were removed before. Returns the dropped versions.
 */
export async function dropStaged(loaded: LoadedPipeline, services: Services, signal: AbortSignal): Promise<string[]> {
  const views = new Views(services.global.state, loaded.pipeline.name);
  const dropped: string[] = [];
  for (const [name, { staged }] of Object.entries((await views.read()) ?? {})) {
    if (!staged || kindOf(staged) === 'content') continue;
    if (kindOf(staged) === 'custom') {
      // As if its reset had died, so that the next rebuild begins with one.
      await views.change(name, ({ staged: of, ...view }) =>
        of ? { ...view, staged: { ...of, phase: 'resetting' } } : undefined,
      );
      continue;
    }
    const { version, container } = staged;
    await removeVersion({ services, loaded, name, version, signal }, container);
    // Last: a recovery that died before finds it again.
    await views.change(name, (view) => (view.staged?.version === version ? { ...view, staged: null } : undefined));
    dropped.push(projectionId({ name, version }));
  }
  return dropped;
}

/** Makes versions current that the operator named, in views that are older than their promotion. */
export async function makeCurrent(views: Views, pipeline: Declares, named: readonly ProjectionSpec[]): Promise<void> {
  for (const spec of named)
    await views.change(spec.name, (view) => {
      if (view.current?.version === spec.version) return undefined;
      const staged = view.staged?.version === spec.version ? null : view.staged;
      return asPromoted({ ...view, staged }, versionOf(spec, pipeline));
    });
}
