// What a recovery of one shard can't put right by itself, because it is of other places too.
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { sourceContainers } from '../../engine/runners.ts';
import { Views } from '../../engine/views/views.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { mappedLevel, openShardMap } from '../../runtime/places.ts';
import { keysNotHere, mapHere, shardHere } from '../archive/foreign-keys.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../errors.ts';
import type { Context } from '../context.ts';
import { refusedOverShards } from '../refused-over-shards.ts';
import { isUnfinished } from '../move/record.ts';
import { plural } from '../table.ts';
import { movesOfTenant } from '../tenants/tenant-moves.ts';

/**
 * While a move of the shard has not ended, a recovery may not change it, and the other way round. A move looks for the lock
 * of a recovery after it has stored its record, so a look after the lock finds each that has not seen it.
 * @throws UsageError `recover-undecided`
 */
export async function assertNoMoves(parts: Parts, signal: AbortSignal): Promise<void> {
  if (parts.loaded.pipeline.part?.place !== 'shard') return;
  const own = await shardHere(await openShardMap(parts), parts);
  const [move] = (await movesOfTenant(parts, undefined, signal)).filter(
    (one) => isUnfinished(one) && (one.from === own || one.to === own),
  );
  if (!move) return;
  const { id, keys, step, map } = move;
  throw operationsError('recover-undecided', `The move ${id} of ${keys} has not ended: ${step}`, {
    hint: `End it: \`millrace shards move\` of the same keys finishes it, and before its switch \`millrace shards moves ${map} --cancel ${id}\` ends it. Then run the command again.`,
  });
}

/**
 * Whether the place is a shard that can be recovered alone. A pipeline without shards always can.
 * @throws UsageError `unsupported`, `recover-undecided`
 */
export async function assertOneShard(
  { entries }: { readonly entries?: string | undefined },
  context: Context,
): Promise<void> {
  const { workspace, signal } = context;
  const [loaded, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const { pipeline, model } = loaded;
  if (!pipeline.part) return;
  const { why, instead } = refusedOverShards('recover');
  if (pipeline.part.place === 'global')
    throw sharedError('unsupported', `\`millrace recover\` can’t work on the global place: ${why}`, {
      hint: instead,
    });
  if (entries !== undefined)
    throw operationsError('input-invalid', '--entries is given, and the blobs are those of all places', {
      hint: 'Leave it out: a shard that was restored as a whole has the entries of its documents.',
    });
  const views = await new Views(services.global.state, pipeline.name).read();
  if (!views) throw operationsError('recover-undecided', 'The global place has no views', { hint: instead });
  for (const [name, { staged }] of Object.entries(views))
    if (staged)
      throw operationsError('recover-undecided', `${name}@${staged.version} is being built in every place`, {
        hint: `Drop it first, and build it again afterwards: \`millrace projections drop ${name} --yes\`.`,
      });
  const parts = { loaded, services, settings: workspace.settings() };
  await assertNoMoves(parts, signal);
  for (const source of sourceContainers(pipeline, model).values()) {
    const map = await mapHere(parts, source);
    if (!map) continue;
    const level = mappedLevel(map.schema, source);
    const path = source.keyPaths[level];
    // A container in the shards that the map doesn't divide, such as one of references, has no foreign keys.
    if (!path) continue;
    const isForeign = await keysNotHere(map, parts, source)();
    const found = new Set<string>();
    const field = path.map((name) => `[${JSON.stringify(name)}]`).join('');
    const keys = `SELECT DISTINCT VALUE c${field} FROM c WHERE NOT (IS_DEFINED(c._mr.moved.gone) AND c._mr.moved.gone)`;
    for await (const key of fetchAll<string | number>(services.place.database.container(source.name), keys, signal))
      if (isForeign(source.keyPaths.map((_, at) => (at === level ? key : null)))) found.add(String(key));
    const [first] = found;
    if (first !== undefined)
      throw operationsError(
        'recover-undecided',
        `${source.name} has documents of ${plural(found.size, 'key')} that the map gives to another shard, or that move: ${first}${found.size > 1 ? ' …' : ''}`,
        {
          hint: 'What counts of them is on the other shard. End the moves, delete these documents here, and run the command again.',
        },
      );
  }
}
