import { join } from 'node:path';
import { expect, it } from 'vitest';
import { WatchedPipeline } from '../../../src/host/dev/watched-pipeline.ts';

it('a folder that is not there is named, with what it should have', async () => {
  const folder = join(import.meta.dirname, 'no-pipeline');
  using watched = new WatchedPipeline(folder);
  await expect(watched.load()).rejects.toMatchObject({
    code: 'pipeline-missing',
    message: expect.stringContaining(folder),
  });
});
