import { feedModeOf } from '../../pipeline/all-versions.ts';
import { registeredOf } from '../../engine/deferred/registered.ts';
import { removeQueues, storedQueues } from '../../engine/deferred/stored.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { LeaseInventory } from '../leases/groups.ts';
import { plural } from '../table.ts';
import type { RecoveryFinding } from './finding.ts';

/**
 * Changes that hosts had deferred. Leases have passed them, and a state of another time may have lost some or have others
 * again: nothing shows that. So a recovery doesn't rely on them (REC-B1). `oldest`: when the oldest of them was written.
 */
export async function findDeferred(
  { pipeline }: Pick<LoadedPipeline, 'pipeline'>,
  { place: { state } }: Pick<Services, 'place'>,
  { sources }: Pick<LeaseInventory, 'sources'>,
  signal: AbortSignal,
): Promise<{ findings: RecoveryFinding[]; oldest: number | undefined }> {
  const findings: RecoveryFinding[] = [];
  let oldest: number | undefined;
  for (const { source, queues } of await storedQueues(state, pipeline.name, signal)) {
    if (queues === 0) continue;
    if (!sources.has(source) || feedModeOf(pipeline, source) === 'all-versions') {
      findings.push({
        about: source,
        what: `${plural(queues, 'queue')} of its changes are deferred, and no host of this pipeline drains them`,
        remedy: 'you',
        hint: `Give them up with \`millrace dead-letters discard --deferred ${source}\`, or let the pipeline read ${source} again.`,
      });
      continue;
    }
    const waiting = await registeredOf(state, { pipeline: pipeline.name, source }, signal).waiting();
    const since = Math.min(...waiting.flatMap((of) => of.oldest ?? []));
    if (since < (oldest ?? Infinity)) oldest = since;
    findings.push({
      about: source,
      what: `${plural(queues, 'queue')} of its changes are deferred${Number.isFinite(since) ? `, the oldest of ${new Date(since).toISOString()}` : ''}: if the state is older than the leases, others are lost`,
      remedy: 'recover',
    });
  }
  return { findings, oldest };
}

/**
 * Removes what is deferred, after the leases were moved back: the comparison and the feed bring all of it, and the
 * comparison would judge no document of a tenant with a queue.
 */
export async function removeDeferred(
  { pipeline }: Pick<LoadedPipeline, 'pipeline'>,
  { place: { state } }: Pick<Services, 'place'>,
  { sources }: Pick<LeaseInventory, 'sources'>,
  signal: AbortSignal,
): Promise<void> {
  for (const source of sources.keys())
    if (feedModeOf(pipeline, source) === 'latest-version')
      await removeQueues(state, { pipeline: pipeline.name, source }, signal);
}
