import { z } from 'zod';
import { isReadable } from '../../base/format.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { Services } from '../../runtime/workspace.ts';

/** What tenants took since the host started; `charge` in RU. */
const work = {
  changes: z.number(),
  parked: z.number(),
  charge: z.number(),
  /** How long the oldest change of the last page had waited when it was applied, milliseconds. */
  delayMs: z.number(),
};

/**
 * Of the last hour, each minute in which it reported: seconds since 1970, changes a second, changes behind or null. It is
 * stored as one text, because an array would cost the index a term for each number.
 */
const history = z
  .string()
  .transform((text) =>
    text
      .split(';')
      .flatMap((point) => (point === '' ? [] : [point.split(',').map((of) => (of === '' ? null : Number(of)))])),
  )
  .pipe(z.array(z.tuple([z.number(), z.number(), z.number().nullable()])));
export const historyText = (points: HostStatus['history']): string => points.map((point) => point.join(',')).join(';');

/**
 * A running host's report of itself, as a document of the state container. A host that stops removes it; that of a host
 * that died expires after a day.
 */
const schema = z.object({
  /** The host's name in the leases. */
  id: z.string(),
  /** ISO 8601 UTC. */
  at: z.string(),
  startedAt: z.string(),
  /** The version of Millrace. */
  version: z.string(),
  /** The name of its pipeline; absent: an earlier version of Millrace wrote it. */
  pipeline: z.string().optional(),
  format: z.number().optional(),
  projections: z.array(
    z.object({
      projection: z.string(),
      changes: z.number(),
      ruPerChange: z.number(),
      /** Seconds; null: unknown. */
      lag: z.number().nullable(),
      parked: z.number(),
    }),
  ),
  history,
  /** One entry for each source container. */
  sources: z.array(
    z.object({ container: z.string(), leases: z.number(), known: z.number(), failure: z.string().optional() }),
  ),
  /** The tenants that cost this host the most, and all others together; absent without any. */
  tenants: z
    .object({ tenants: z.array(z.object({ tenant: z.string(), ...work })), others: z.object(work).nullable() })
    .optional(),
  /** One entry for each lease of the host. */
  ranges: z.array(
    z.object({
      container: z.string(),
      /** The lease's token. */
      lease: z.string(),
      /** Changes that the host has handled on it so far, each once, however many projections applied it. */
      handled: z.number(),
      /** Changes a second; null: not known yet. */
      handledPerSecond: z.number().nullable(),
      /** Transactions a second, by lsn. */
      outPerSecond: z.number().nullable(),
      inPerSecond: z.number().nullable(),
      /** Transactions. */
      lag: z.number().nullable(),
      /** Seconds. */
      catchUp: z.union([z.number(), z.literal('never')]).nullable(),
      /** null: no page is in hand. */
      inHand: z.object({ changes: z.number(), seconds: z.number(), deliveries: z.number() }).nullable(),
      /** The last page that was rejected; null: none. */
      rejection: z.object({ at: z.string(), changes: z.number(), why: z.string() }).nullable(),
    }),
  ),
});
export type HostStatus = z.output<typeof schema>;

/** Four times the interval at which a host writes it: one that is silent for so long has died. */
export const SILENT_MS = 120_000;
export const STATUS_KEY = 'status';
/** Seconds after which a host's last report expires. */
export const STATUS_TTL = 86_400;

/** The hosts' last reports, newest first. Reports that another version of Millrace wrote are left out if they differ. */
export async function readHostStatuses({ global: { state } }: Services, signal: AbortSignal): Promise<HostStatus[]> {
  const found: HostStatus[] = [];
  const query = `SELECT * FROM c WHERE c.pk = '${STATUS_KEY}'`;
  for await (const raw of fetchAll<unknown>(state, query, signal, { partitionKey: STATUS_KEY, anyFormat: true })) {
    const { success, data } = schema.safeParse(raw);
    if (success && isReadable('status', data.format)) found.push(data);
  }
  return found.toSorted((a, b) => (a.at < b.at ? 1 : -1));
}
