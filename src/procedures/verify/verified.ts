import { z } from 'zod';
import type { Container } from '@azure/cosmos';
import { FormatUnreadable, formatOf } from '../../base/format.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import type { Place } from '../../runtime/workspace.ts';
import type { MovedKeys } from './moved-meanwhile.ts';
import type { Verification } from './verify.ts';

const schema = z.object({
  /** When the verification ended. ISO 8601 UTC. */
  at: z.string(),
  actor: z.string(),
  seconds: z.number(),
  /** Documents that were read: of sources, and of sinks. */
  sources: z.number(),
  compared: z.number(),
  /** Differences, those that a repair corrected not counted. */
  different: z.number(),
  /** By `name@version`, of the first thousand differences. */
  differences: z.record(z.string(), z.number()),
  /** The first twenty, as `Container document`. */
  examples: z.array(z.string()).optional(),
  /** What was not compared, as sentences. */
  left: z.array(z.string()).optional(),
});
/** The result of the last verification of all projections. */
export type Verified = z.output<typeof schema>;

/** `whole`: of all documents. `sample`: of some. */
export type VerifiedKind = 'whole' | 'sample';
export const VERIFIED_KINDS: readonly VerifiedKind[] = ['whole', 'sample'];

export const VERIFICATION_KEY = 'verification';
/** No pipeline has `~` in its name. */
const idOf = (pipeline: string, kind: VerifiedKind): string => (kind === 'whole' ? pipeline : `${pipeline}~sample`);

/** The name of a result: each shard of a pipeline is verified by itself, and no pipeline has `!` in its name either. */
export const verifiedName = (
  { name, part }: Pick<Pipeline, 'name' | 'part'>,
  { endpoint, database }: Pick<Place, 'endpoint' | 'database'>,
): string => (part?.place === 'shard' ? `${name}!${new URL(endpoint).host}!${database.id}` : name);

const EXAMPLES = 20;
export const examplesOfDifferences = (places: readonly string[]): Pick<Verified, 'examples'> =>
  places.length === 0 ? {} : { examples: places.slice(0, EXAMPLES) };

/** The number of differences of each projection. */
export function countBy(projections: Iterable<string>): Record<string, number> {
  const by: Record<string, number> = {};
  for (const id of projections) by[id] = (by[id] ?? 0) + 1;
  return by;
}

/** The result of a verification of all projections, in the form in which it is stored. */
export const verifiedOf = (
  { documents, different, differences, moved = [] }: Verification,
  of: Pick<Verified, 'at' | 'actor' | 'seconds'>,
): Verified => ({
  ...of,
  sources: documents.sources,
  compared: documents.found,
  different,
  differences: countBy(differences.flatMap(({ projections }) => projections)),
  ...examplesOfDifferences(differences.map(({ container, document }) => `${container} ${document}`)),
  ...(moved.length > 0 && { left: movedLeft(moved) }),
});

/** What a verification of a shard says of keys that left it meanwhile. */
export const movedLeft = (moved: readonly MovedKeys[]): string[] =>
  moved.map(({ move, keys, to }) => `${keys} moved to ${to} meanwhile (move ${move}): perhaps compared in no shard`);

/** Stores a result in place of the one before. */
export async function recordVerified(
  state: Container,
  pipeline: string,
  kind: VerifiedKind,
  verified: Verified,
): Promise<void> {
  const at = { id: idOf(pipeline, kind), pk: VERIFICATION_KEY };
  const document = { ...verified, ...at, type: 'millrace.verification', ...formatOf('verification') };
  await withRetry(() => state.items.upsert(document), { reads: false });
}

/** Undefined: no verification of all projections has ended yet, or a later version of Millrace stored it in another form. */
export async function readVerified(
  state: Container,
  pipeline: string,
  kind: VerifiedKind,
): Promise<Verified | undefined> {
  try {
    return schema.safeParse(await readItem(state.item(idOf(pipeline, kind), VERIFICATION_KEY))).data;
  } catch (error) {
    if (error instanceof FormatUnreadable) return undefined;
    throw error;
  }
}
