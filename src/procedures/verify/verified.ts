import { z } from 'zod';
import type { Container } from '@azure/cosmos';
import { formatOf } from '../../base/format.ts';
import { fetchList } from '../../cosmos/fetch-all.ts';
import { readLeniently } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import type { Place } from '../../runtime/workspace.ts';
import { Views } from '../../engine/views/views.ts';
import { isReplaced } from '../projections/projection-rows.ts';
import { plural } from '../table.ts';
import type { MovedKeys } from './moved-meanwhile.ts';
import { countBy, sayNotCompared } from './not-compared.ts';
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
  /** By `name@version` of those that differ: dead letters that were discarded by hand. */
  discarded: z.record(z.string(), z.number()).optional(),
  /** What was not compared, as sentences. */
  left: z.array(z.string()).optional(),
  /** Of a comparison with a copy that a team keeps by hand. */
  against: z
    .object({
      projection: z.string(),
      of: z.string(),
      /** Since when the oldest difference is there. ISO 8601 UTC. */
      oldest: z.string().optional(),
      /** With other names of fields, or without some. */
      fitted: z.literal(true).optional(),
    })
    .optional(),
});
/** The result of the last verification of all projections. */
export type Verified = z.output<typeof schema>;

/** `whole`: of all documents. `sample`: of some. */
export type VerifiedKind = 'whole' | 'sample';
/** The last: of one projection, with a copy that a team keeps by hand. */
type StoredKind = VerifiedKind | `against~${string}`;
export const VERIFIED_KINDS: readonly VerifiedKind[] = ['whole', 'sample'];

export const VERIFICATION_KEY = 'verification';
/** No pipeline has `~` in its name. */
const idOf = (pipeline: string, kind: StoredKind): string => (kind === 'whole' ? pipeline : `${pipeline}~${kind}`);

/** The name of a result: each shard of a pipeline is verified by itself, and no pipeline has `!` in its name either. */
export const verifiedName = (
  { name, part }: Pick<Pipeline, 'name' | 'part'>,
  { endpoint, database }: Pick<Place, 'endpoint' | 'database'>,
): string => (part?.place === 'shard' ? `${name}!${new URL(endpoint).host}!${database.id}` : name);

const EXAMPLES = 20;
export const examplesOfDifferences = (places: readonly string[]): Pick<Verified, 'examples'> =>
  places.length === 0 ? {} : { examples: places.slice(0, EXAMPLES) };

/** The result of a verification of all projections, in the form in which it is stored. */
export const verifiedOf = (
  {
    documents,
    different,
    differences,
    notCompared,
    moved = [],
    against,
    discarded,
    projections: [first],
  }: Verification,
  of: Pick<Verified, 'at' | 'actor' | 'seconds'>,
): Verified => ({
  ...of,
  ...(against &&
    first && {
      against: {
        projection: first.id,
        of: against.of,
        ...(against.oldest && { oldest: against.oldest.since }),
        ...(against.fitted && { fitted: true }),
      },
    }),
  sources: documents.sources,
  compared: documents.found,
  different,
  differences: countBy(differences.flatMap(({ projections }) => projections)),
  ...examplesOfDifferences(differences.map(({ container, document }) => `${container} ${document}`)),
  ...(discarded && { discarded }),
  ...leftOf([...movedLeft(moved), ...(notCompared ? [sayNotCompared(notCompared)] : [])]),
});

const leftOf = (left: readonly string[]): Pick<Verified, 'left'> => (left.length > 0 ? { left: [...left] } : {});

/** What a verification of a shard says of keys that left it meanwhile. */
export const movedLeft = (moved: readonly MovedKeys[]): string[] =>
  moved.map(({ move, keys, to }) => `${keys} moved to ${to} meanwhile (move ${move}): perhaps compared in no shard`);

/** Stores a result in place of the one before. */
export async function recordVerified(
  state: Container,
  pipeline: string,
  kind: StoredKind,
  verified: Verified,
): Promise<void> {
  const at = { id: idOf(pipeline, kind), pk: VERIFICATION_KEY };
  const document = { ...verified, ...at, type: 'millrace.verification', ...formatOf('verification') };
  await withRetry(() => state.items.upsert(document), { reads: false });
}

/** Undefined: no verification of all projections has ended yet, or a later version of Millrace stored it in another form. */
export const readVerified = (state: Container, pipeline: string, kind: StoredKind): Promise<Verified | undefined> =>
  readLeniently(state.item(idOf(pipeline, kind), VERIFICATION_KEY), schema);

/** The last verifications. */
interface LastVerified {
  readonly whole: Verified | undefined;
  readonly sample: Verified | undefined;
  /**
   * Those that found differences in something that is still current. A sample counts no more once all documents were right
   * after it.
   */
  readonly differing: readonly { readonly kind: VerifiedKind; readonly result: Verified }[];
}

export async function readLast(state: Container, pipeline: string, own: string): Promise<LastVerified> {
  const [views, whole, sample] = await Promise.all([
    new Views(state, pipeline).read(),
    readVerified(state, own, 'whole'),
    readVerified(state, own, 'sample'),
  ]);
  const last = { whole, sample };
  const right = whole?.different === 0 ? whole.at : '';
  const differing = VERIFIED_KINDS.flatMap((kind) => {
    const result = last[kind];
    if (!result || result.different === 0 || result.at <= right) return [];
    // Of more than a thousand the others may be in any.
    const replaced = Object.entries(result.differences).reduce(
      (sum, [id, count]) => (isReplaced(id, views) ? sum + count : sum),
      0,
    );
    return replaced >= result.different ? [] : [{ kind, result }];
  });
  return { ...last, differing };
}

/** Nothing differs, and a function refuses no source document. */
export const isAgainstRight = ({ different, left = [] }: Verified): boolean => different === 0 && left.length === 0;

/** The last comparison with each copy that a team keeps by hand. */
export async function readAgainst(state: Container, pipeline: string, signal: AbortSignal): Promise<Verified[]> {
  const query = 'SELECT * FROM c WHERE STARTSWITH(c.id, @id)';
  const asked = { query, parameters: [{ name: '@id', value: idOf(pipeline, 'against~') }] };
  const options = { partitionKey: VERIFICATION_KEY, anyFormat: true };
  const stored = await fetchList(state, asked, signal, options);
  return stored.flatMap((one) => schema.safeParse(one).data ?? []);
}

export const sayAgainst = ({ at, different, compared, against, left = [] }: Verified): string => {
  const oldest = against?.oldest === undefined ? [] : [`the oldest since ${against.oldest.slice(0, 19)}Z`];
  const found = [plural(different, 'difference'), ...oldest, ...left].join(', ');
  return `${against?.projection} compared with ${plural(compared, 'document')} of ${against?.of} ${at.slice(0, 19)}Z: ${found}.`;
};
