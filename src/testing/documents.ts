import type { Doc } from '../pipeline/specs.ts';
import { ownFields } from '../pipeline/oracle/recompute.ts';
import { canonical } from '../base/json.ts';

/** Containers and types of any name. */
export type AnyModel = Record<string, Record<string, unknown>>;

/** Documents by container, each with its `id` and `type`. `M` is `typeof m` of model.ts: then its containers alone compile. */
export type Documents<M extends object = AnyModel> = {
  readonly [Container in keyof M & string]?: readonly object[];
};

/** The documents in a fixed order, without the fields that Cosmos DB and Millrace add. */
export const comparable = (documents: readonly object[]): Doc[] =>
  documents
    .map((document) => ownFields(JSON.parse(JSON.stringify(document)) as Doc))
    .toSorted((a, b) => (canonical([a['type'], a['id'], a]) < canonical([b['type'], b['id'], b]) ? -1 : 1));
