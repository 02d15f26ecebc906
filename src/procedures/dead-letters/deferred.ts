// What is deferred of a container that the pipeline no longer reads: no host drains it.
import { feedModeOf } from '../../pipeline/all-versions.ts';
import { removeQueues, storedQueues } from '../../engine/deferred/stored.ts';
import { sourceContainers } from '../../engine/runners.ts';
import { suggestion } from '../../base/near.ts';
import type { Context } from '../context.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** @throws UsageError `not-found`, `wrong-state` */
export async function deferredOf(
  container: string,
  { workspace, signal }: Pick<Context, 'workspace' | 'signal'>,
): Promise<{ readonly queues: number }> {
  const { pipeline, model } = await workspace.pipeline();
  const { state } = (await workspace.services()).place;
  const stored = await storedQueues(state, pipeline.name, signal);
  const found = stored.find(({ source }) => source === container);
  if (!found) {
    const known = stored.map(({ source }) => source);
    throw sharedError('not-found', `Nothing of ${container} is deferred${suggestion(container, known)}`, {
      hint: 'Run `millrace doctor`: it names the containers of which changes are deferred that no host drains.',
    });
  }
  if (sourceContainers(pipeline, model).has(container) && feedModeOf(pipeline, container) === 'latest-version')
    throw sharedError('wrong-state', `The pipeline reads ${container}, and its hosts drain what is deferred`, {
      hint: 'Run a host, and wait until `millrace status` shows nothing that is deferred.',
    });
  return found;
}

/** Removes it: the changes are never applied. */
export async function discardDeferred(
  container: string,
  { workspace, signal }: Pick<Context, 'workspace' | 'signal'>,
): Promise<{ readonly container: string; readonly documents: number }> {
  const { state } = (await workspace.services()).place;
  const { pipeline } = await workspace.pipeline();
  return {
    container,
    documents: await removeQueues(state, { pipeline: pipeline.name, source: container }, signal),
  };
}
