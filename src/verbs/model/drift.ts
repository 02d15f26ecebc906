// How the containers and sampled documents of the account differ from the data model.
import { containerDefinitions, diffContainer } from '../../model/container-definitions.ts';
import { type AccountDrift, driftOf } from '../../model/drift.ts';
import type { Context } from '../../procedures/context.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { plural, textTable } from '../../procedures/table.ts';
import { modelContainers } from '../../procedures/apply/apply.ts';
import { liveContainers, sample } from '../../procedures/apply/live.ts';
import { modelOf } from '../../runtime/pipeline/load-pipeline.ts';
import type { ReadPair } from './pair.ts';

export interface Account {
  /** How many documents were read, and of how many containers. */
  readonly sampled: number;
  readonly containers: number;
  readonly drifts: readonly AccountDrift[];
}

/** With the document; without one, with `model.ts`. @throws UsageError if there is neither, and why the pipeline can't be loaded */
export async function compareAccount(
  { documents: { design }, folder, pipeline, unloadable }: ReadPair,
  count: number,
  { workspace, screen, signal }: Context,
): Promise<Account> {
  if (unloadable) throw unloadable;
  const model = design?.model ?? (pipeline && (await modelOf(pipeline, folder)));
  if (!model)
    throw sharedError('missing', 'There is no data model to compare with', {
      hint: 'Write `cosmosdb_data_model.md`, or let `millrace model import` write model.ts.',
    });
  const services = await workspace.services();
  const live = await liveContainers(services, signal);
  const sizes = new Map(design?.containers.map(({ container, size }) => [container.name, size]));
  const wanted = pipeline ? modelContainers({ pipeline, model }) : containerDefinitions(model, new Map());
  const drifts: AccountDrift[] = live
    .filter(({ id }) => !wanted.some((of) => of.id === id))
    .map(({ id }) => ({ container: id, kind: 'container-extra', what: 'is in the account and not in the model' }));
  let sampled = 0;
  for (const [at, definition] of wanted.entries()) {
    signal.throwIfAborted();
    const { id } = definition;
    screen.progress(`containers, now ${id}`, at, wanted.length);
    const there = live.find((of) => of.id === id);
    if (!there) {
      drifts.push({ container: id, kind: 'container-missing', what: 'is in the model and not in the account' });
      continue;
    }
    for (const { what, from, to } of diffContainer(there, definition)) {
      const kind = what === 'partitionKey' ? 'key' : what === 'defaultTtl' ? 'ttl' : 'policy';
      drifts.push({ container: id, kind, what: `${what} is ${say(from)}; the model says ${say(to)}` });
    }
    // No defaultTtl in the model means off; the comparison above reports it only if the model states one.
    if (definition.defaultTtl === undefined && there.defaultTtl !== undefined)
      drifts.push({ container: id, kind: 'ttl', what: `defaultTtl is ${there.defaultTtl}; the model states none` });
    const container = model.containers.find(({ name }) => name === id);
    if (!container) continue;
    const types = container.types.map(({ name }) => name);
    const found = await sample(services.place.database.container(id), there, { count, types, signal });
    sampled += found.length;
    const into = pipeline?.projections.flatMap((spec) => (spec.into.container === id ? [spec.into.type] : []));
    drifts.push(...driftOf(container, found, sizes.get(id), into));
  }
  return { sampled, containers: wanted.length, drifts };
}

export function accountText({ sampled, containers, drifts }: Account): string {
  const read = `${plural(sampled, 'document')} of ${plural(containers, 'container')} read`;
  if (drifts.length === 0) return `${read}: no drift.`;
  const rows = drifts.map(({ container, type = '', kind, what }) => [container, type, kind, what]);
  return `${textTable(['container', 'type', 'drift', 'what'], rows)}\n\n${read}, ${plural(drifts.length, 'drift')}.`;
}

const say = (value: unknown): string => (value === undefined ? 'absent' : JSON.stringify(value));
