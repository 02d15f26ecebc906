import { z } from 'zod';
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import { rangeId } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { without } from '../../feed/reading/position.ts';
import { type Context, defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { type LeaseGroup, type LeaseRoom, openLeases } from './groups.ts';
import { expiration } from './inputs.ts';
import { type LeaseRow, leaseRows } from './lease-rows.ts';

export interface LeaseFinding {
  /** An error loses, delays or repeats changes now or at the next incident. */
  readonly severity: 'error' | 'warning';
  readonly code: string;
  /** The prefix, or the lease's id; absent: the lease container. */
  readonly subject?: string;
  readonly message: string;
  readonly mend: string;
}

/** Request units of one lease write: a replace of a document below 1 KB. */
const WRITE_RU = 10.5;
const LOCK_MS = 60_000;

export const leasesCheck = defineOperation({
  noun: 'leases',
  verb: 'check',
  summary:
    'Look for what goes wrong with leases: the container, holes, duplicates, stuck and orphaned ones, clocks, absent hosts',
  examples: ['millrace leases check', 'millrace leases check --absent-after 120 --json'],
  effect: 'reads',
  input: z.object({
    absentAfter: z
      .int()
      .min(1)
      .default(300)
      .describe('seconds: no host has written any lease of a container for longer'),
    stuckAfter: z
      .int()
      .min(1)
      .default(300)
      .describe('seconds: a lease is renewed, and its oldest change waits for longer'),
    leaseExpiration: expiration,
  }),
  run: async ({ absentAfter, stuckAfter, leaseExpiration }, context: Context) => {
    const room = await openLeases(context);
    const now = Date.now();
    const rows = await leaseRows(room.groups, { expirationMs: leaseExpiration, stuckMs: stuckAfter * 1000 }, now);
    const findings = [
      ...(await containerFindings(room, context.signal)),
      ...neverStarted(room),
      ...room.groups.flatMap((group) => [
        ...absence(group, { boundMs: absentAfter * 1000, now }),
        ...groupFindings(group, now),
        ...skewFindings(group),
      ]),
      ...rows.flatMap(rowFindings),
    ];
    return { leases: rows.length, findings: findings.toSorted((a, b) => a.severity.localeCompare(b.severity)) };
  },
  ok: ({ findings }) => findings.every(({ severity }) => severity === 'warning'),
  format: ({ leases, findings }) =>
    findings.length === 0
      ? `${plural(leases, 'lease')}: nothing to complain of.`
      : [
          ...findings.map(
            ({ severity, code, subject, message, mend }) =>
              `${severity}: ${subject === undefined ? '' : `${subject}: `}${message} [${code}]\n  ${mend}`,
          ),
          `${plural(leases, 'lease')}, ${plural(findings.length, 'finding')}.`,
        ].join('\n'),
});

async function containerFindings(
  { leases: { container, key, ttl }, groups }: LeaseRoom,
  signal: AbortSignal,
): Promise<LeaseFinding[]> {
  const found: LeaseFinding[] = [];
  if (!ttl) {
    found.push({
      severity: 'warning',
      code: 'container-ttl-off',
      message: `the lease container ${container.id} has no time to live, so a .NET or Functions host that dies while it creates leases leaves a lock that never expires`,
      mend: 'Set its default time to live to -1 (on, no default).',
    });
  }
  if (key !== '/id') {
    found.push({
      severity: 'warning',
      code: 'container-key',
      message: `the lease container ${container.id} has the key ${key}, which Java can't use, and under which older .NET hosts create duplicates`,
      mend: 'Prefer a container with the key /id: export the leases, import them there.',
    });
  }
  const leases = groups.reduce((sum, group) => sum + group.leases.length, 0);
  const offer = await withRetry(() => container.readOffer(), { reads: true, signal }).catch(() => undefined);
  const content = offer?.resource?.content as
    | { offerThroughput?: number; offerAutopilotSettings?: { maxThroughput?: number } }
    | undefined;
  const provisioned = content?.offerAutopilotSettings?.maxThroughput ?? content?.offerThroughput;
  const wanted = Math.ceil(leases * WRITE_RU);
  if (provisioned !== undefined && provisioned < wanted) {
    found.push({
      severity: 'warning',
      code: 'container-throughput',
      message: `${plural(leases, 'lease')} with a page a second each take ${wanted} RU/s, and ${container.id} has ${provisioned}`,
      mend: 'Give it more throughput, or larger pages: a lease is written once a page, at most.',
    });
  }
  return found;
}

/** A source that nothing of ours has ever read. */
const neverStarted = ({ sources, groups }: LeaseRoom): LeaseFinding[] =>
  [...sources]
    .filter(([, { prefix }]) => !groups.some((group) => group.prefix === prefix && group.leases.length > 0))
    .map(([name, { prefix }]) => ({
      severity: 'warning',
      code: 'never-started',
      subject: prefix,
      message: `the pipeline reads ${name} and has no leases of it`,
      mend: 'Start it by `millrace run`, or take another processor’s place by `millrace leases adopt`.',
    }));

/** Says that no host has written any lease of a group for a while: hosts renew theirs even where nothing is new. */
export function absence(
  { prefix, own, monitored, leases }: LeaseGroup,
  { boundMs, now }: { boundMs: number; now: number },
): LeaseFinding[] {
  if (leases.length === 0 || !monitored) return [];
  const quietMs = now - Math.max(...leases.map(({ storedAt }) => storedAt));
  if (quietMs <= boundMs) return [];
  return [
    {
      severity: own ? 'error' : 'warning',
      code: 'no-host',
      subject: prefix,
      message: `no host has written a lease of ${monitored.container.id} for ${Math.round(quietMs / 1000)} s`,
      mend: own
        ? 'Start the hosts, or look why they can’t reach the lease container.'
        : 'If that service is gone for good, its leases can be deleted.',
    },
  ];
}

function groupFindings(
  { prefix, initialized, lockedAt, monitored, leases, own }: LeaseGroup,
  now: number,
): LeaseFinding[] {
  const found: LeaseFinding[] = [];
  if (lockedAt !== undefined && now - lockedAt > LOCK_MS) {
    found.push({
      severity: 'warning',
      code: 'lock-left',
      subject: prefix,
      message: `its .lock is ${Math.round((now - lockedAt) / 1000)} s old: a host died while it created leases`,
      mend: 'A host of ours removes it; for .NET and Functions delete the document.',
    });
  }
  if (!initialized || !monitored || leases.some(({ range }) => range === undefined)) return found;
  const covered = leases.flatMap(({ range }) => (range ? [range] : []));
  const holes = monitored.partitions.ranges.flatMap((physical) =>
    covered.reduce<FeedRange[]>((left, range) => left.flatMap((one) => without(one, range)), [physical]),
  );
  for (const hole of holes) {
    found.push({
      severity: 'error',
      code: 'range-uncovered',
      subject: prefix,
      message: `no lease covers ${rangeId(hole)} of ${monitored.container.id}: nobody reads it`,
      mend: own
        ? 'Restart a host: it makes what is missing.'
        : 'Delete its .info, so that its hosts make what is missing; they begin it at their own start.',
    });
  }
  const modes = new Set(leases.map(({ mode }) => mode));
  if (modes.size > 1) {
    found.push({
      severity: 'error',
      code: 'modes-mixed',
      subject: prefix,
      message: 'its leases are of both feeds, latest-version and all-versions',
      mend: 'No host accepts that: give the processor another name, or delete those of the wrong feed.',
    });
  }
  return found;
}

/** Owners stamp leases by their own clocks, the service by its own; .NET and Java judge expiry by the former. */
const skewFindings = ({ leases, own }: LeaseGroup): LeaseFinding[] => {
  const worst = new Map<string, number>();
  for (const { owner, writtenAt, storedAt } of leases) {
    if (owner === null || writtenAt === undefined) continue;
    const skewMs = writtenAt - storedAt;
    if (Math.abs(skewMs) > CLOCK_SKEW_MS / 3 && Math.abs(skewMs) > Math.abs(worst.get(owner) ?? 0))
      worst.set(owner, skewMs);
  }
  return [...worst].map(([owner, skewMs]) => ({
    severity: Math.abs(skewMs) > CLOCK_SKEW_MS ? ('error' as const) : ('warning' as const),
    code: 'clock-skew',
    subject: owner,
    message: `its clock is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the service's`,
    mend: own
      ? `Set its clock: up to ${CLOCK_SKEW_MS / 1000} s does no harm.`
      : 'Set its clock: .NET and Java hosts take leases from each other too early, or too late.',
  }));
};

function rowFindings({ prefix, token, state, why }: LeaseRow): LeaseFinding[] {
  const subject = state === 'unexplained' ? token : `${prefix}..${token}`;
  const { severity, mend } = MENDS[state] ?? {};
  if (severity === undefined || mend === undefined) return [];
  return [{ severity, code: `lease-${state}`, subject, message: why, mend }];
}

const MENDS: Readonly<Partial<Record<LeaseRow['state'], Pick<LeaseFinding, 'severity' | 'mend'>>>> = {
  stuck: {
    severity: 'error',
    mend: 'Look at its owner’s logs: a handler hangs, or fails again and again; `millrace dead-letters list` shows what was parked.',
  },
  unresolved: { severity: 'error', mend: 'It is of a container that was deleted and made again: delete it.' },
  duplicate: { severity: 'warning', mend: 'Stop the hosts and delete the one that is behind.' },
  orphaned: { severity: 'warning', mend: 'If that container was deleted, delete the lease too.' },
  unexplained: { severity: 'warning', mend: 'It is left alone. Find out who wrote it.' },
  expired: { severity: 'warning', mend: 'Another host takes it over; if none runs, start one.' },
};
