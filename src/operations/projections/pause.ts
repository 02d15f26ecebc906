import { z } from 'zod';
import { Views } from '../../engine/views/views.ts';
import type { Context } from '../operation.ts';
import { chooseDeclared } from './choose.ts';

export const input = z.object({
  name: z.string().describe('the projection, publish, ingest or whatever else is declared'),
});

/** What pausing and resuming begin with: the declared thing of that name, and the views, where its pause is kept. */
export async function open(name: string, { workspace }: Context) {
  const { pipeline } = await workspace.pipeline();
  const { state } = await workspace.services();
  const spec = chooseDeclared(pipeline, name);
  const views = new Views(state, pipeline.name);
  await views.adopt(pipeline.projections);
  return { pipeline, spec, views };
}
