import { resolve } from 'node:path';
import { z } from 'zod';
import { flag, named } from '../flags.ts';
import { systemClock } from '../../base/clock.ts';
import { isOfTenants } from '../../pipeline/tenant.ts';
import { ErasureRecords, erasing } from '../../engine/erasures/record.ts';
import { stopBoundMs } from '../../engine/erasures/stop.ts';
import { storeToErase } from '../../runtime/archives.ts';
import { READ_LAG_MS } from '../../runtime/open-engine.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { askedTenant } from '../../procedures/tenants/tenant-flag.ts';
import type { Certificate } from '../../procedures/erase/certificate.ts';
import { storedDocuments } from '../../procedures/tenants/documents.ts';
import type { ErasePlaces, EraseParts } from '../../procedures/erase/erase-options.ts';
import { assertMayErase } from '../../procedures/erase/erase-rights.ts';
import { searchEverything } from '../../procedures/erase/erase-search.ts';
import { erase, said } from '../../procedures/erase/erase.ts';
import { writeComplete } from '../../procedures/export/export-file.ts';
import { passed, stopped } from '../../procedures/erase/erase-wait.ts';
import { tenantPlaces } from '../../procedures/tenants/places.ts';
import { assertStill } from '../../procedures/tenants/tenant-moves.ts';
import { unknownTenant } from '../../procedures/erase/unknown.ts';

/** Request units for one document or record, about: its delete, and the reads that find it and search for it. */
const RU_A_DOCUMENT = 10;

export const tenantsErase = defineOperation({
  shards: 'itself',
  name: 'tenants erase',
  summary: 'Erase a tenant from containers, tables, archive, dead letters and jobs, and certify it; resumable',
  examples: [
    'millrace tenants erase store-1 --dry-run',
    'millrace tenants erase store-1 --yes --out erased.json',
    'millrace tenants erase store-1 --yes --json',
  ],
  effect: 'destroys',
  bulk: true,
  withheld: true,
  argument: 'tenant',
  input: z.object({
    tenant: z.string().min(1).describe('the tenant, as its documents name it'),
    out: named('file for the certificate, JSON; it is stored in the state container too'),
    force: flag('replace the file if it exists'),
  }),
  plan: async ({ tenant }, context) => planOf(tenant, await partsFor(tenant, context), context),
  run: async ({ tenant, out, force }, context) => {
    const parts = await partsFor(tenant, context);
    const certify = (): Promise<Certificate> => eraseAudited(tenant, parts, context);
    if (out === undefined) return certify();
    const lines = async function* (): AsyncGenerator<string, Certificate> {
      const certificate = await certify();
      yield `${JSON.stringify(certificate, null, 2)}\n`;
      return certificate;
    };
    return writeComplete(resolve(context.workspace.directory, out), lines(), { force });
  },
  format: (certificate) => {
    const { erasure, digest, removed, held, unreadable, mentions, rebuild, stays } = certificate;
    const some = (places: Certificate['removed']): string => said(places) || 'nothing';
    return [
      `The tenant is erased. Erasure ${erasure}, digest ${digest}.`,
      `removed: ${some(removed)}`,
      ...(held.length > 0
        ? [
            `kept by a legal hold or a policy: ${plural(held.length, 'blob')}. Nothing reads them. After a hold, \`millrace archive hold end\` removes them; after a policy, run this command again.`,
          ]
        : []),
      ...(unreadable.length > 0
        ? [`can't be read, so it may have data of the tenant: ${plural(unreadable.length, 'blob')}`]
        : []),
      ...(Object.keys(mentions).length > 0 ? [`documents of others that mention it, and stay: ${some(mentions)}`] : []),
      ...rebuild.map(
        (name) => `${name} has figures of several tenants. Build it again: millrace projections rebuild ${name}`,
      ),
      'what stays for a time:',
      ...stays.map(({ what, until }) => `  ${what}, until ${until}`),
    ].join('\n');
  },
  ok: ({ held, unreadable }) => held.length === 0 && unreadable.length === 0,
});

async function partsFor(tenant: string, { workspace, signal, clock = systemClock }: Context): Promise<EraseParts> {
  const loaded = await workspace.pipeline();
  const asked = askedTenant(loaded, tenant, 'the tenant');
  const services = await workspace.services();
  const tables = loaded.pipeline.effects.some(({ kind }) => kind === 'table') ? workspace.tables() : undefined;
  const jobs = workspace.settings().jobsUrl === undefined ? undefined : await workspace.jobs();
  const settings = workspace.settings();
  const places = (): Promise<ErasePlaces> => tenantPlaces({ settings, services, loaded }, signal);
  const [home] = (await places()).all;
  const store = await storeToErase(home.services, signal);
  const still = async (): Promise<void> => void (await assertStill({ settings, services, loaded }, asked, signal));
  return {
    loaded,
    services,
    places,
    assertStill: still,
    asked,
    store,
    jobs,
    tables,
    readLagMs: READ_LAG_MS,
    clock,
    signal,
  };
}

async function eraseAudited(tenant: string, parts: EraseParts, context: Context): Promise<Certificate> {
  const { loaded, services, asked, clock, signal } = parts;
  const { workspace, actor, screen } = context;
  await parts.assertStill();
  const records = new ErasureRecords(services.global.state, loaded.pipeline.name);
  if (!erasing(await records.read(), asked.tenant) && !(await isKnown(parts)))
    throw await unknownTenant(tenant, asked, (await parts.places()).all, signal);
  await assertMayErase(parts);
  const record = await records.begin(asked.tenant, clock.now());
  const waiting = (seconds: number, operations: readonly string[]): void =>
    screen.draw([
      `waits ${seconds} s until no host applies what it read before`,
      ...operations.map((one) => `waits for ${one}`),
    ]);
  const waits = { state: services.place.state, readLagMs: parts.readLagMs, clock, waiting };
  const given = {
    ...parts,
    settings: workspace.settings(),
    records,
    record,
    actor,
    stopped: stopped(waits),
    passed: passed(waits),
    progress: (what: string, done: number): void => screen.progress(what, done),
  };
  return audited(context, 'tenants erase', { erasure: record.id, digest: record.digest }, () => erase(given));
}

/** Only a tenant of which no document is stored has to be searched for: records of it may be left. */
async function isKnown(parts: EraseParts): Promise<boolean> {
  const { asked, signal } = parts;
  for (const { services, containers } of (await parts.places()).all)
    for (const container of containers) {
      if (!isOfTenants(container, asked.rule.field)) continue;
      const stored = services.place.database.container(container.name);
      for await (const _ of storedDocuments(stored, container, asked, { signal, most: 1 })) return true;
    }
  return Object.keys((await searchEverything({ ...parts, held: new Set() })).left).length > 0;
}

async function planOf(tenant: string, parts: EraseParts, { signal }: Context): Promise<Plan> {
  const { loaded, services, asked } = parts;
  await parts.assertStill();
  const record = erasing(await new ErasureRecords(services.global.state, loaded.pipeline.name).read(), asked.tenant);
  const { left, mentions } = await searchEverything({ ...parts, held: new Set() });
  if (!record && Object.keys(left).length === 0)
    throw await unknownTenant(tenant, asked, (await parts.places()).all, signal);
  const bound = Math.ceil(stopBoundMs(parts.readLagMs) / 1_000);
  const waits = record && record.state !== 'stopping' ? 1 : 2;
  const total = Object.values(left).reduce((sum, count) => sum + count, 0);
  return {
    steps: [
      ...(record ? [`resume erasure ${record.id}`] : ['hold back every change of the tenant']),
      ...(waits > 1 ? [`wait ${bound} s, until no host applies what it read before`] : []),
      ...Object.entries(left).map(([place, count]) => `remove ${count.toLocaleString('en-US')} from ${place}`),
      ...Object.entries(mentions).map(
        ([place, count]) => `leave ${count.toLocaleString('en-US')} of others in ${place} that mention it`,
      ),
      `wait ${bound} s, and remove what was written meanwhile`,
      'search everything, and certify',
    ],
    ru: RU_A_DOCUMENT * total,
    seconds: waits * bound,
  };
}
