// A custom projection of a pipeline over shards reads the global place.
import { expect, it } from 'vitest';
import { custom } from 'millrace';
import type { CustomSpec } from '../../src/pipeline/specs.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { fast } from '../verbs/projections/versions.ts';
import { given } from './spread-world.ts';

const { signal } = new AbortController();

it('a custom projection gets the documents of all shards by their copies in the global place, each by one host', async (context) => {
  const { stage, application } = await given(context, ['north', 'west']);
  const seen: unknown[] = [];
  const sources = [{ container: 'AllOrders', type: 'listed' }];
  const spec = custom('seen', {
    sources,
    apply: async (changes: readonly { readonly doc?: unknown }[]) => void seen.push(...changes.map(({ doc }) => doc)),
  }) as unknown as CustomSpec;
  const pipeline = { ...stage.loaded.pipeline, effects: [spec] };
  const app = await compose({
    ...stage,
    ...fast,
    loaded: { ...stage.loaded, pipeline },
    shardsRefreshMs: 20,
    host: 'host',
  });
  context.onTestFinished(() => app.stop());
  await app.start();
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s1', 'west', 'o1', 20);
  await app.drained(signal);
  expect(seen).toHaveLength(2);
  expect(seen).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ storeId: 's0', cents: 100 }),
      expect.objectContaining({ storeId: 's1', cents: 20 }),
    ]),
  );
});
