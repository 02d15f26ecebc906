import { z } from 'zod';
import { optional } from '../flags.ts';
import { systemClock } from '../../base/clock.ts';
import { suggestion } from '../../base/near.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { containersHere } from '../../pipeline/places.ts';
import { isOfTenants } from '../../pipeline/tenant.ts';
import { readHostStatuses } from '../../procedures/status/host-status.ts';
import { defineOperation } from '../operation.ts';
import { clip, plural, size, textTable } from '../../procedures/table.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { SHOWN_OF_TENANT, lettersByTenant, tenantsOf } from '../../procedures/tenants/tenant-table.ts';
import { declaredTenant } from '../../procedures/tenants/tenant-flag.ts';
import { recordCounted } from '../../procedures/tenants/tenant-counts.ts';
import { NEAR_FULL, type Sizes, type TenantSize, sizesOf } from '../../procedures/tenants/sizes.ts';

/** Share of a logical partition's 20 GB at which the list fails. */
const FULL = 0.8;

export interface ListedTenants extends Sizes {
  readonly tenants: readonly (TenantSize & { readonly deadLetters: number; readonly ru: number | null })[];
}

export const tenantsList = defineOperation({
  shards: 'every',
  name: 'tenants list',
  summary: 'List the largest tenants: documents, bytes, RU, dead letters, and what comes near 20 GB',
  examples: [
    'millrace tenants list',
    'millrace tenants list --container Orders --most 100',
    'millrace tenants list --shard east',
    'millrace tenants list --json',
  ],
  effect: 'reads',
  bulk: true,
  input: z.object({
    container: optional('one container (default: all that belong to tenants)'),
    most: z.int().min(1).max(10_000).default(20).describe('how many tenants to list, those with the most documents'),
  }),
  run: async ({ container, most }, { workspace, signal, screen, clock = systemClock }): Promise<ListedTenants> => {
    const { pipeline, model } = await workspace.pipeline();
    const rule = declaredTenant({ pipeline, model });
    const known = model.containers.filter((one) => isOfTenants(one, rule.field)).map(({ name }) => name);
    if (container !== undefined && !known.includes(container)) {
      const what = `No container ${container} belongs to tenants${suggestion(container, known)}`;
      throw sharedError('not-found', what, { hint: 'Name a container whose documents have the tenant’s field.' });
    }
    const services = await workspace.services();
    const sizes = await sizesOf({
      database: services.place.database,
      containers: containersHere(pipeline, model),
      rule,
      only: container,
      most,
      signal,
      progress: (done, of) => screen.progress('containers counted', done, of),
    });
    // An identity that may only read lists too.
    if (container === undefined)
      await recordCounted(services.place.state, pipeline.name, new Date(clock.now()).toISOString(), sizes).catch(
        (error: unknown) => {
          if (failureOf(error).kind !== 'denied') throw error;
          screen.line(
            `\`status\` will not show this count: this identity may not write to ${services.place.state.id}.`,
          );
        },
      );
    const letters = await lettersByTenant(services.place.state);
    const shown = await tenantsOf(await readHostStatuses(services, signal), async () => letters);
    const work = new Map(shown?.tenants.map((of) => [of.tenant, of.charge]));
    return {
      ...sizes,
      tenants: sizes.tenants.map((of) => ({
        ...of,
        deadLetters: letters.get(of.tenant) ?? 0,
        ru: work.get(of.tenant) ?? null,
      })),
    };
  },
  format: (listed, { most }) =>
    listed.count === 0 && listed.without.length === 0
      ? 'No container has a document of a tenant.'
      : saySize(listed, most),
  ok: passes,
});

/** False: a logical partition is nearly full. */
export function passes({ tenants }: Pick<ListedTenants, 'tenants'>): boolean {
  return near(tenants, FULL).length === 0;
}

export function saySize({ count, tenants, without, alike }: ListedTenants, most: number): string {
  return [
    textTable(
      ['tenant', 'documents', 'size, about', 'RU', 'dead letters', 'largest in'],
      tenants.map(({ tenant, documents, bytes, ru, deadLetters, containers }) => [
        short(tenant),
        documents,
        size(bytes),
        ru === null ? '' : Math.round(ru),
        deadLetters,
        containers
          .slice(0, 3)
          .map((part) => `${part.container} ${size(part.bytes)}`)
          .join(', '),
      ]),
    ),
    `${plural(count, 'tenant')}${count > most ? `; these are the ${most} with the most documents (\`--most N\` lists more)` : ''}. Sizes are estimated from 50 documents of each tenant and container.`,
    ...near(tenants, NEAR_FULL).map(
      ({ tenant, container, share }) =>
        `${short(tenant)} has about ${Math.round(100 * share)} % of the 20 GB of a logical partition of ${container}. ${advice(container)}`,
    ),
    ...without.map(
      ({ container, documents }) =>
        `${plural(documents, 'document')} of ${container} ${documents === 1 ? 'names' : 'name'} no valid tenant. Changes of such documents are parked: \`millrace dead-letters list --code tenant-missing\`.`,
    ),
    ...alike.map((ids) => `${ids.map(short).join(' and ')} differ only by case: they are ${ids.length} tenants.`),
  ].join('\n');
}

const advice = (container: string): string =>
  `Beyond 20 GB every write of this tenant fails. Create a container whose key has a second level, such as /id, and copy into it with \`millrace migrate ${container} NEW\`; or give the tenant a container of its own.`;

/** The logical partitions that have a share of their limit or more, the fullest first. */
const near = (tenants: readonly TenantSize[], least: number) =>
  tenants
    .flatMap(({ tenant, containers }) =>
      containers.flatMap(({ container, ofPartition }) =>
        ofPartition !== null && ofPartition >= least ? [{ tenant, container, share: ofPartition }] : [],
      ),
    )
    .toSorted((a, b) => b.share - a.share);

const short = (tenant: string): string => clip(tenant, SHOWN_OF_TENANT);
