import type { Container, FeedOptions, OperationInput, SqlQuerySpec } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { assertReadable } from '../../base/format.ts';
import { missingError } from '../../cosmos/container-missing.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { QueryPages } from '../../cosmos/query-pages.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { AmbiguousOutcome } from '../../cosmos/retry.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { Refused, transact } from '../../cosmos/transact.ts';
import { shardsError } from '../errors.ts';
import { throwDenied } from './access-denied.ts';
import { type SheetDocument, HEADER_ID, type Header, type OperationDocument } from './documents.ts';
import type { Commit, SheetStore } from './header-guarded-partition.ts';

export interface CosmosSheetOptions {
  readonly clock: Clock;
  /** A request that gets no answer for this long fails, milliseconds. */
  readonly withinMs: number;
  /** Its operations are logged in it. */
  readonly logged?: boolean;
}

/** A sheet in a logical partition of a container with the key `/pk`. */
export function cosmosSheet<H extends Header>(
  container: Container,
  pk: string,
  { clock, withinMs, logged }: CosmosSheetOptions,
): SheetStore<H> {
  const options = { clock, withinMs };
  const found = async <T extends SheetDocument>(where: string, name: string, value: string | number): Promise<T[]> => {
    const query = { query: `SELECT * FROM c WHERE ${where}`, parameters: [{ name, value }] };
    const all = await allOf<T>(container, query, { partitionKey: pk });
    return all.map((entry) => withoutSystemFields(entry) as unknown as T);
  };
  return {
    header: async () => {
      const stored = await readItem<H>(container.item(HEADER_ID, pk), options).catch(throwDenied(container));
      return stored && { header: withoutSystemFields(stored) as unknown as H, etag: stored._etag };
    },
    entries: () => found<SheetDocument>('c.id != @header', '@header', HEADER_ID),
    ...(logged && {
      operationsAfter: (generation) =>
        found<OperationDocument>("c.type = 'millrace.mapoperation' AND c.at > @after", '@after', generation),
    }),
    drop: async ({ header, etag, entries }) => {
      // What has a time to live expires.
      const lasting = [...entries.values()].filter(({ ttl }) => ttl === undefined);
      const all: OperationInput[] = [
        // A deletion in a batch has no condition of its own.
        { operationType: 'Replace', id: header.id, resourceBody: bodyOf(header), ifMatch: etag },
        { operationType: 'Delete', id: header.id },
        ...lasting.map(({ id }) => ({ operationType: 'Delete' as const, id })),
      ];
      try {
        await transact(container, pk, () => all, { ...options, reads: false });
        return true;
      } catch (error) {
        const { kind } = failureOf(error);
        if (error instanceof AmbiguousOutcome || kind === 'precondition' || kind === 'not-found') return false;
        return throwDenied(container, 'write')(error);
      }
    },
    commit: async (commit) => {
      try {
        const results = await transact(container, pk, () => operationsOf(commit), { ...options, reads: false });
        return results[0]?.eTag;
      } catch (error) {
        if (error instanceof AmbiguousOutcome) return undefined;
        return refusal(error, container, commit);
      }
    },
  };
}

/** All results of a query. `fetchAll` would spend of a budget, which only pipelines have. @throws FormatUnreadable */
export async function allOf<T>(
  container: Container,
  query: string | SqlQuerySpec,
  options: FeedOptions = {},
): Promise<T[]> {
  const found: T[] = [];
  const pages = new QueryPages<T>(container, query, { maxItemCount: 1_000, ...options });
  while (!pages.done) found.push(...(await pages.next().catch(throwDenied(container))));
  for (const document of found) assertReadable(document);
  return found;
}

const bodyOf = (entry: SheetDocument): Record<string, string> => entry as unknown as Record<string, string>;

function operationsOf({ header, ifMatch, put, drop }: Commit): OperationInput[] {
  const resourceBody = bodyOf(header);
  return [
    ifMatch === undefined
      ? { operationType: 'Create', resourceBody }
      : { operationType: 'Replace', id: header.id, resourceBody, ifMatch },
    ...put.map((entry) => ({
      operationType: 'Upsert' as const,
      resourceBody: bodyOf(entry),
    })),
    ...drop.map((id) => ({ operationType: 'Delete' as const, id })),
  ];
}

/** Undefined if the header is another one; throws for every other refusal. */
async function refusal(error: unknown, container: Container, { header, ifMatch }: Commit): Promise<undefined> {
  const { kind } = failureOf(error);
  if (!(error instanceof Refused)) return throwDenied(container, 'write')(error);
  if (error.at > 0 && kind === 'not-found')
    throw shardsError('shard-map-damaged', `A document of ${header.pk} was deleted without a commit`, { cause: error });
  if (kind === 'not-found' && ifMatch === undefined) throw await missingError(container, error);
  if (kind === 'precondition' || kind === 'conflict' || kind === 'not-found') return undefined;
  throw error;
}
