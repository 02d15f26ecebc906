import { TOMBSTONE_TTL_S } from '../../base/bounds.ts';
import { formatOf } from '../../base/format.ts';
import { digest } from '../../base/json.ts';
import type { Change, Identity, Version } from '../../feed/reading/change.ts';
import { type SinkContainer, keyFields } from '../sink-container.ts';
import type { SinkPlace } from '../locator.ts';
import type { Values } from './contribution-values.ts';

/** What one source document adds to one group now. It is stored in the logical partition of the aggregate. */
export interface ContributionDocument extends Record<string, unknown> {
  readonly id: string;
  readonly type: 'millrace.contribution';
  readonly by: string;
  /** The aggregate's id. */
  readonly of: string;
  readonly source: { readonly container: string; readonly key: Change['key']; readonly id: string };
  readonly version: Version;
  /** null: a tombstone; the document is no longer in this group. */
  readonly values: Values | null;
  readonly ttl?: number;
}

export const contributionId = (projection: string, aggregateId: string, { container, key, id }: Identity): string =>
  `millrace.c.${digest([projection, aggregateId, container, key, id])}`;

export function contributionDocument(
  sink: SinkContainer,
  projection: string,
  group: SinkPlace,
  change: Change,
  values: Values | null,
): ContributionDocument {
  return {
    ...keyFields(sink, group.key),
    id: contributionId(projection, group.id, change),
    type: 'millrace.contribution',
    ...formatOf('contribution'),
    by: projection,
    of: group.id,
    source: { container: change.container, key: change.key, id: change.id },
    version: change.version,
    values,
    ...(values === null ? { ttl: TOMBSTONE_TTL_S } : {}),
  };
}
