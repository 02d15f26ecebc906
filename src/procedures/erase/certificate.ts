// What an erasure has done and what it leaves, without the name of the tenant.
import { Holds } from '../../archive/holds.ts';
import { formatOf } from '../../base/format.ts';
import { existingContainers } from '../../runtime/existing-containers.ts';
import { softDeleteDays } from '../../runtime/blob-container.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { type ErasureRecord, digestOf } from '../../engine/erasures/record.ts';
import type { Settings } from '../../base/settings.ts';
import { type EraseParts, inPlace } from './erase-options.ts';
import type { SearchedPlaces, Searched } from './erase-search.ts';

export interface Certificate {
  readonly pipeline: string;
  /** The id of the erasure. */
  readonly erasure: string;
  readonly salt: string;
  /** SHA-256 of the JSON text `["SALT","TENANT"]`, in hex. Who knows the tenant can check it. */
  readonly digest: string;
  /** ISO 8601 UTC, as `ended`. */
  readonly began: string;
  /** Absent: the erasure has not ended. */
  readonly ended?: string;
  /** By place. A run that was killed may have removed more. */
  readonly removed: SearchedPlaces;
  /** Blobs that a legal hold or a policy keeps, by the SHA-256 of `["SALT","NAME"]`. Nothing reads them any more. */
  readonly held: readonly string[];
  /** Blobs and stored changes that can't be read, by the same digest: they may have data of the tenant. */
  readonly unreadable: readonly string[];
  /** Documents of others, by place, of which a text has the name of the tenant. They stay. */
  readonly mentions: SearchedPlaces;
  /** Projections over several tenants. Their figures and copies may have data of the tenant until they are built again. */
  readonly rebuild: readonly string[];
  readonly stays: readonly Stays[];
}

interface Stays {
  readonly what: string;
  readonly until: string;
}

const PK = 'certificates';

/** The certificate of one erasure in the state container. Only the process with the lock writes it. */
export class Certificates {
  readonly #state: EraseParts['services']['global']['state'];

  constructor(state: EraseParts['services']['global']['state']) {
    this.#state = state;
  }

  async read(erasure: string): Promise<Certificate | undefined> {
    const stored = await readItem<Certificate & { id: string }>(this.#state.item(erasure, PK));
    if (!stored) return undefined;
    const { id: _, pk: __, type: ___, format: ____, ...certificate } = withoutSystemFields(stored);
    return certificate as unknown as Certificate;
  }

  async write(certificate: Certificate): Promise<void> {
    const place = { id: certificate.erasure, pk: PK, type: 'millrace.certificate', ...formatOf('certificate') };
    // A repeated upsert writes the same document.
    await withRetry(() => this.#state.items.upsert({ ...certificate, ...place }), { reads: true });
  }
}

export const begun = ({ id, salt, digest, at }: ErasureRecord, pipeline: string): Certificate => ({
  pipeline,
  erasure: id,
  salt,
  digest,
  began: at,
  removed: {},
  held: [],
  unreadable: [],
  mentions: {},
  rebuild: [],
  stays: [],
});

/** The certificate after a search that found nothing of the tenant. */
export async function certified(
  before: Certificate,
  { mentions, unreadable }: Searched,
  held: Iterable<string>,
  { loaded, services, places, store, asked, clock }: EraseParts,
  settings: Settings,
): Promise<Certificate> {
  const named = (names: Iterable<string>): string[] => [...new Set(names)].map((name) => digestOf(before.salt, name));
  const { projections, embeds, publishes, effects } = loaded.pipeline;
  const across = [...projections, ...embeds].filter((spec) => 'acrossTenants' in spec && spec.acrossTenants);
  const stays: Stays[] = [
    { what: 'backups of the Cosmos DB account', until: 'the backup policy of the account removes them' },
    { what: 'files that operators exported', until: 'their owners delete them' },
  ];
  const { all, detached } = await places();
  for (const at of all)
    for (const { id, changeFeedPolicy } of (await existingContainers(at.services.place.database)).values()) {
      const minutes = changeFeedPolicy?.retentionDuration;
      if (typeof minutes === 'number' && minutes > 0)
        stays.push({
          what: `versions in the all-versions feed of ${inPlace(at, id)}`,
          until: later(clock.now(), minutes / 1_440),
        });
    }
  for (const shard of detached)
    stays.push({
      what: `what the detached shard ${shard} has, if its database comes back`,
      until: 'it is attached, and this command is run again',
    });
  const map = loaded.pipeline.shards?.map;
  if (map !== undefined)
    stays.push({
      what: `the mapping of the tenant’s key in the shard map ${map}, and the records of moves of this key`,
      until: '`millrace shards keys unmap` removes the mapping; records of moves stay with the map',
    });
  if (store) {
    const days = await softDeleteDays(settings);
    if (days !== 0)
      stays.push({
        what: 'blobs that soft delete keeps',
        until:
          days === undefined
            ? 'the retention of the storage account ends; it could not be read'
            : later(clock.now(), days),
      });
  }
  if (await new Holds(services.global.state).of(asked.tenant))
    stays.push({
      what: 'the record of the legal hold, with the name of the tenant',
      until: '`millrace archive hold end` ends the hold',
    });
  if (effects.some(({ kind }) => kind === 'table'))
    stays.push(
      { what: 'backups of the PostgreSQL server, and its log', until: 'their retention ends' },
      { what: 'removed rows in the files of PostgreSQL', until: 'it vacuums the tables' },
    );
  const others = [...publishes, ...effects.filter(({ kind }) => kind !== 'table')];
  if (others.length > 0)
    stays.push({
      what: `what ${others.map(projectionId).join(', ')} gave to other systems`,
      until: 'the retention of their event hub ends, or these systems delete it',
    });
  return {
    ...before,
    ended: new Date(clock.now()).toISOString(),
    held: named(held),
    unreadable: named(unreadable),
    mentions,
    rebuild: across.map(projectionId),
    stays,
  };
}

const later = (now: number, days: number): string => new Date(now + days * 86_400_000).toISOString();
