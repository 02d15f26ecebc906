import { projectionId } from '../../pipeline/specs.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { recomputed } from './recomputed.ts';
import type { SettleOptions } from './until-stable.ts';
import { type Untried, type Verification, selectionOf, verify } from './verify.ts';

/** `verify`, and what the versions refuse that are declared and not current: their code first runs in a rebuild. */
export async function verifyEvery(
  given: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  options: SettleOptions,
): Promise<Verification> {
  const verification = await verify(given, services, options);
  const untried: Untried[] = [];
  const { loaded = given, kept = [] } = (await selectionOf(given, services, {})) ?? {};
  for (const spec of loaded.pipeline.projections.filter((one) => !kept.includes(one))) {
    const { refused } = await recomputed(loaded, services, spec, options);
    const [first] = refused.first;
    if (first) untried.push({ projection: projectionId(spec), refused: refused.count, first });
  }
  return { ...verification, ...(untried.length > 0 && { untried }) };
}
