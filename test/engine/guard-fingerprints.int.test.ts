import { expect, test } from 'vitest';
import type { Pipeline, ProjectionSpec } from '../../src/pipeline/specs.ts';
import { Fingerprints } from '../../src/engine/guard-fingerprints.ts';
import { openEngine } from '../../src/runtime/open-engine.ts';
import { openStage } from '../support/stage.ts';

test('a declaration that changed under its version is refused, the others go on, and taking it back lets it go on', async () => {
  await using stage = await openStage();
  const { pipeline } = stage.loaded;
  const altered = (change: (spec: ProjectionSpec) => ProjectionSpec): Pipeline => ({
    ...pipeline,
    projections: pipeline.projections.map(change),
  });
  const [first, second] = pipeline.projections;
  if (!first || !second) throw new Error('The shop has two projections');
  const moved = altered((spec) => (spec === first ? { ...spec, into: { ...spec.into, type: 'elsewhere' } } : spec));

  const run = async (of: Pipeline): Promise<Record<string, { changes: number; parked: number }>> => {
    const { engine } = openEngine(
      {
        settings: stage.settings,
        services: stage.services,
        loaded: { ...stage.loaded, pipeline: of },
        readLagMs: 0,
      },
      'live',
    );
    const { container, type } = first.from;
    lsn += 1;
    const doc = { ...stage.loaded.model.containers.find(({ name }) => name === container)?.types[0]?.examples[0] };
    const key = [String((doc as Record<string, unknown>)['storeId'])];
    const change = {
      container,
      type,
      key,
      id: `doc-${lsn}`,
      version: { epoch: 1, lsn, etag: `"${lsn}"` },
      at: 0,
      op: 'upsert' as const,
      doc: { ...doc, id: `doc-${lsn}` },
    };
    const fence = { kind: 'host', tenure: {}, signal: new AbortController().signal, assert: () => undefined } as const;
    await engine.consume({ changes: [change], charge: 0, readAt: 0 }, fence);
    return Object.fromEntries(engine.stats.map(({ id, changes, parked }) => [id, { changes, parked }]));
  };
  let lsn = 100;
  const id = `${first.name}@1`;
  expect((await run(pipeline))[id]).toEqual({ changes: 1, parked: 0 });
  const refused = await run(moved);
  expect(refused[id]).toEqual({ changes: 1, parked: 1 });
  expect(
    Object.entries(refused)
      .filter(([, { parked }]) => parked > 0)
      .map(([parked]) => parked),
  ).toEqual([id]);
  expect((await run(pipeline))[id]).toEqual({ changes: 1, parked: 0 });

  const error = await new Fingerprints(stage.services.place.state, {
    pipeline: moved,
    model: stage.loaded.model,
  }).check(moved.projections[0] ?? first);
  expect(error).toMatchObject({
    code: 'projection-incompatible',
    message: expect.stringContaining('elsewhere'),
    hint: expect.stringMatching(
      new RegExp(`millrace dead-letters redrive --only ${id}\`.*millrace projections rebuild ${first.name}\``),
    ),
  });
});
