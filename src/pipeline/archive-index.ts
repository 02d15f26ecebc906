import { isIndexed } from '../model/indexed.ts';
import type { IndexingPolicy } from '../model/model.ts';
import type { ArchiveSpec } from './specs.ts';

/** Whether each sweep of an archive reads its whole container, because the policy leaves out the date of its rule. */
export const isUnindexed = ({ rule, dateField }: ArchiveSpec, policy: IndexingPolicy | undefined): boolean =>
  rule.kind !== 'always' && !isIndexed(policy, dateField);

/** What a sweep that scans costs, and what to do about it. */
export const unindexed = ({
  name,
  from,
  dateField,
}: ArchiveSpec): { readonly message: string; readonly hint: string } => ({
  message: `Archive ${name}: ${from.container} has no index of ${dateField}, so each sweep reads all of the container's documents`,
  hint: `Include \`/${dateField}/?\` in the indexing policy of ${from.container} in the model, and exclude it nowhere. Then run \`millrace model apply\`.`,
});
