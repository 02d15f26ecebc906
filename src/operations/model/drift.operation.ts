import { z } from 'zod';
import { containerDefinitions, diffContainer } from '../../model/apply.ts';
import { type Drift, driftOf } from '../../model/drift.ts';
import { defineOperation } from '../operation.ts';
import { plural, table } from '../table.ts';
import { modelContainers } from './apply.ts';
import { liveContainers, sample } from './live.ts';
import { readPair } from './pair.ts';
import { pipelineDirectory } from './settings.ts';
import { operationsError } from '../errors.ts';

export const modelDrift = defineOperation({
  noun: 'model',
  verb: 'drift',
  summary: 'Compare the account’s containers and sampled documents with the data model',
  examples: ['millrace model drift', 'millrace model drift --sample 500 --env production --json'],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    sample: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(100)
      .describe('newest documents to read of each container and type'),
  }),
  run: async ({ directory, sample: count }, context) => {
    const { workspace, screen } = context;
    const { documents, pipeline, unloadable } = await readPair(workspace, directory);
    if (unloadable) throw unloadable;
    const { design } = documents;
    if (!design) throw operationsError('model-missing', 'There is no data model to compare with');
    const { signal } = context;
    const services = await workspace.services();
    const live = await liveContainers(services, signal);
    const { model } = design;
    const wanted = pipeline ? modelContainers({ pipeline, model }) : containerDefinitions(model, new Map());
    const drifts: Drift[] = live
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
      const detail = design.containers.find(({ container }) => container.name === id);
      if (!detail) continue;
      const types = detail.container.types.map(({ name }) => name);
      const found = await sample(services.place.database.container(id), there, { count, types, signal });
      sampled += found.length;
      drifts.push(...driftOf(detail, found));
    }
    return { sampled, containers: wanted.length, drifts };
  },
  format: ({ sampled, containers, drifts }) => {
    const read = `${plural(sampled, 'document')} of ${plural(containers, 'container')} read`;
    if (drifts.length === 0) return `${read}: no drift.`;
    const rows = drifts.map(({ container, type = '', kind, what }) => [container, type, kind, what]);
    return `${table(['container', 'type', 'drift', 'what'], rows)}\n\n${read}, ${plural(drifts.length, 'drift')}.`;
  },
  ok: ({ drifts }) => drifts.length === 0,
});

const say = (value: unknown): string => (value === undefined ? 'absent' : JSON.stringify(value));
