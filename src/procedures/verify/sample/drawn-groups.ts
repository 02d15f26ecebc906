import type { Database } from '@azure/cosmos';
import { digest } from '../../../base/json.ts';
import { mapSettled } from '../../../base/map-settled.ts';
import { fetchList } from '../../../cosmos/fetch-all.ts';
import { recompute, rowKey } from '../../../pipeline/oracle/recompute.ts';
import { type AggregateSpec, type SourceRules, projectionId } from '../../../pipeline/specs.ts';
import type { Identity, Key } from '../../../feed/reading/change.ts';
import { type ContributionDocument, contributionId } from '../../../kinds/aggregate/contribution.ts';
import type { DocumentsOf } from '../reading/documents-of.ts';
import { type Part, nameOf } from '../look.ts';
import { identityText } from '../parked.ts';

export interface GroupsContext {
  readonly database: Database;
  readonly documents: DocumentsOf;
  /** The source documents drawn. */
  readonly drawn: readonly Identity[];
  readonly limits: GroupLimits;
  readonly rules: readonly SourceRules[];
  /** The key paths of the sink's container, and of the source's. */
  readonly keyPaths: readonly string[];
  readonly sourceKeys: readonly string[];
  readonly signal: AbortSignal;
}

export interface GroupLimits {
  /** Whether the groups of the source documents are recomputed too, or only those that were drawn. */
  readonly groupsOfSources: boolean;
  /** A group with more source documents isn't recomputed: of it only the contributions of documents that were drawn are compared. */
  readonly groupRows: number;
}

const AT_ONCE = 16;

/**
 * What to compare of an aggregate: groups with all their source documents, and of other groups what the source documents
 * drawn contribute. A group that has no aggregate is recomputed in any case. `own`: the places of the aggregates drawn.
 */
export async function drawnGroups(
  spec: AggregateSpec,
  own: ReadonlySet<string>,
  context: GroupsContext,
): Promise<Part> {
  const { documents, drawn, rules, keyPaths, sourceKeys, limits } = context;
  const { from, into } = spec;
  const read = await documents.read(from, drawn);
  /** The places of the contributions that the source documents drawn must have, by the place of their group. */
  const touched = new Map<string, Identity[]>();
  for (const doc of read)
    for (const group of recompute(spec, () => [doc], rules, { keyPaths, refused: () => undefined }).keys()) {
      const { container, key, id } = placed(into.container, group);
      const source = placed(from.container, rowKey(doc, sourceKeys));
      const contribution = { container, key, id: contributionId(projectionId(spec), id, source) };
      touched.set(group, [...(touched.get(group) ?? []), contribution]);
    }
  const there = await documents.stored([...touched.keys()].map((group) => placed(into.container, group)));
  const [small, large, lost] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const stored: ContributionDocument[] = [];
  let largeGroups = 0;
  await mapSettled(
    new Set([...own, ...touched.keys()]),
    async (group) => {
      const isLost = !own.has(group) && !there.has(identityText(placed(into.container, group)));
      if (limits.groupsOfSources || own.has(group) || isLost) {
        const found = await contributionsTo(spec, group, limits.groupRows + 1, context);
        if (found.length <= limits.groupRows) {
          small.add(group);
          stored.push(...found);
          return;
        }
        largeGroups += 1;
      }
      large.add(group);
      if (isLost) lost.add(group);
    },
    { concurrency: AT_ONCE },
  );
  const docs = await documents.read(from, [...drawn, ...stored.map(({ source }) => source)]);
  const beside = await documents.stored([...large].flatMap((group) => touched.get(group) ?? []));
  const mine = new Set(read.map((doc) => rowKey(doc, sourceKeys)));
  return {
    docs: new Map([[nameOf(from), docs]]),
    only: (place) => small.has(place),
    unknown: [...large],
    lost: [...lost].map((document) => {
      const at = { projections: [projectionId(spec)], container: into.container, document };
      return { ...at, kind: 'missing', fields: [], evidence: digest([document]) };
    }),
    contributions: [
      { docs, stored, groups: small },
      {
        docs: docs.filter((doc) => mine.has(rowKey(doc, sourceKeys))),
        stored: [...beside.values()] as ContributionDocument[],
        groups: new Set([...large].filter((group) => !lost.has(group))),
      },
    ],
    largeGroups,
  };
}

/** The first contributions to one group. */
async function contributionsTo(
  spec: AggregateSpec,
  group: string,
  most: number,
  { database, signal }: GroupsContext,
): Promise<ContributionDocument[]> {
  const { key, id } = placed(spec.into.container, group);
  const query = {
    query: `SELECT TOP ${most} * FROM c WHERE c.type = 'millrace.contribution' AND c["by"] = @by AND c["of"] = @of AND NOT IS_NULL(c["values"])`,
    parameters: [
      { name: '@by', value: projectionId(spec) },
      { name: '@of', value: id },
    ],
  };
  const container = database.container(spec.into.container);
  const partitionKey = key as (string | number | boolean)[];
  return fetchList<ContributionDocument>(container, query, signal, { partitionKey });
}

/** The document of a place: its key values and its id. */
export function placed(container: string, place: string): Identity {
  const values = JSON.parse(place) as Key[number][];
  return { container, key: values.slice(0, -1), id: values.at(-1) as string };
}
