import type { Doc } from '../pipeline/specs.ts';
import { ownFields } from '../pipeline/oracle/recompute.ts';
import { canonical } from '../base/json.ts';

/** Documents by container, each with its `id` and `type`. */
export type Documents = Readonly<Record<string, readonly object[]>>;

/** The documents in a fixed order, without the fields that Cosmos DB and Millrace add. */
export const comparable = (documents: readonly object[]): Doc[] =>
  documents
    .map((document) => ownFields(JSON.parse(JSON.stringify(document)) as Doc))
    .toSorted((a, b) => (canonical([a['type'], a['id'], a]) < canonical([b['type'], b['id'], b]) ? -1 : 1));
