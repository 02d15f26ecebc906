import { keyPathsOf } from '../../model/model.ts';
import { recompute } from '../../pipeline/oracle/recompute.ts';
import { type Doc, projectionId } from '../../pipeline/specs.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { refusedOf, sourcesRead } from './against.ts';
import { nameOf } from './look.ts';
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
    const documents = await sourcesRead(loaded, services, spec, options);
    const refused = new Map<Doc, unknown>();
    recompute(spec, (of) => documents.get(nameOf(of)) ?? [], loaded.pipeline.sources, {
      keyPaths: keyPathsOf(loaded.model, spec.into.container),
      refused: (doc, cause) => refused.set(doc, cause),
    });
    const [first] = refusedOf(refused, documents, loaded.model);
    if (first) untried.push({ projection: projectionId(spec), refused: refused.size, first });
  }
  return { ...verification, ...(untried.length > 0 && { untried }) };
}
