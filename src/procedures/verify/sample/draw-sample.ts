import { isOfType, typeRules } from '../../../pipeline/discriminator.ts';
import { type Doc, type EntryPlace, type ProjectionSpec, isOutside, projectionId } from '../../../pipeline/specs.ts';
import type { Identity } from '../../../feed/reading/change.ts';
import type { LoadedPipeline, Services } from '../../../runtime/workspace.ts';
import type { Screen } from '../../screen.ts';
import { nameOf } from '../look.ts';
import type { Drawn } from '../reading/named-reading.ts';
import { draw } from './draw.ts';
import { countDocuments } from '../../projections/estimate.ts';
import { databasesOf } from '../../projections/over-shards.ts';
import type { OtherSpec } from '../verify-others.ts';

export interface SampleOptions {
  /** So many documents of each type, as `1000` or `1%`; undefined: all are compared. */
  readonly sample?: string | undefined;
  /** Returns a number in [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
}

/** A group with more source documents isn't recomputed in a sample. */
const GROUP_ROWS = 100;

/** Draws source documents, sink documents and children. */
export async function drawSample(
  { pipeline }: Pick<LoadedPipeline, 'pipeline'>,
  services: Services,
  specs: readonly (ProjectionSpec | OtherSpec)[],
  { sample, random = Math.random, signal, screen }: SampleOptions,
): Promise<Drawn | undefined> {
  if (sample === undefined) return undefined;
  const types = specs.flatMap((spec) => [spec.from, ...(isOutside(spec) ? [] : [spec.into])]);
  const databases = await databasesOf(pipeline, services);
  const documents = new Map<string, readonly Identity[]>();
  let asked = 0;
  for (const [container, of] of Map.groupBy(types, (type) => type.container)) {
    const typeOf = (stored: Doc): string | undefined =>
      of.find((each) => isOfType(each.type, typeRules(pipeline.sources, each), stored))?.type;
    const all = databases(container);
    const sizes = new Map<string, number>();
    // Of each shard as many, or the same share.
    for (const database of all) {
      const most = new Map<string, number>();
      for (const type of of) {
        if (most.has(type.type)) continue;
        const size = Math.ceil(
          sizeOf(sample) === undefined
            ? shareOf(sample) * (await countDocuments(type, database, pipeline.sources))
            : (sizeOf(sample) ?? 0) / all.length,
        );
        most.set(type.type, size);
        sizes.set(type.type, (sizes.get(type.type) ?? 0) + size);
      }
      const found = await draw(database.container(container), { typeOf, most, random, signal });
      for (const [type, some] of found) {
        const name = nameOf({ container, type });
        documents.set(name, [...(documents.get(name) ?? []), ...some]);
      }
    }
    asked = Math.max(asked, ...sizes.values());
    screen.progress('drawn', [...documents.values()].flat().length);
  }
  const placed = new Map<string, readonly EntryPlace[]>();
  for (const spec of specs) {
    if (spec.kind !== 'table' || !spec.to.part) continue;
    const share = async (): Promise<number> => {
      let stored = 0;
      for (const database of databases(spec.from.container))
        stored += await countDocuments(spec.from, database, pipeline.sources);
      return Math.ceil(shareOf(sample) * stored);
    };
    const drawn: EntryPlace[] = [];
    for await (const { place } of spec.to.part({ drawn: sizeOf(sample) ?? (await share()) }, signal)) drawn.push(place);
    placed.set(projectionId(spec), drawn);
  }
  return { documents, placed, groupsOfSources: true, groupRows: GROUP_ROWS, rows: 2 * asked, seed: random() };
}

/** Undefined: a share of the documents. */
function sizeOf(sample: string): number | undefined {
  if (sample === '100%') return Number.MAX_SAFE_INTEGER;
  return sample.endsWith('%') ? undefined : Number(sample);
}
const shareOf = (sample: string): number => Number.parseFloat(sample) / 100;
