import { z } from 'zod';
import { Views } from '../../engine/views/views.ts';
import type { Context } from '../context.ts';
import { chooseDeclared } from './choose.ts';

export const input = z.object({
  name: z.string().describe('the projection, embed, reaction, archive, publish or ingest'),
});

/** Pausing and resuming start with this: the declaration of that name, and the views, which store its pause. */
export async function open(name: string, { workspace }: Context) {
  const { pipeline } = await workspace.pipeline();
  const { state } = (await workspace.services()).global;
  const spec = chooseDeclared(pipeline, name);
  const views = new Views(state, pipeline.name);
  await views.adopt(pipeline);
  return { pipeline, spec, views };
}
