import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import { type FeedRange, sayRange } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { without } from '../../feed/reading/position.ts';
import { plural } from '../table.ts';
import { LOST, LOST_HINT } from './lost.ts';
import type { LeaseGroup, LeaseInventory } from './groups.ts';
import { type LeaseRow, type RowOptions, leaseRows } from './lease-rows.ts';

export interface LeaseFinding {
  /** An error can lose, delay or repeat changes, now or at the next incident. */
  readonly severity: 'error' | 'warning';
  readonly code: string;
  /** The prefix, or the lease's id; absent: the lease container. */
  readonly subject?: string;
  readonly message: string;
  readonly hint: string;
}

/** Request units of one lease write: a replace of a document below 1 KB. */
const WRITE_RU = 10.5;
const LOCK_MS = 60_000;

interface CheckOptions extends RowOptions {
  /** After so many milliseconds without a write to any lease of a container, its hosts count as absent. */
  readonly absentMs: number;
  /** The pipeline has run and has no lease. */
  readonly lost: boolean;
  readonly signal: AbortSignal;
}

/** Checks all leases of a lease container; errors come first. */
export async function checkLeases(
  inventory: LeaseInventory,
  options: CheckOptions,
): Promise<{ leases: number; findings: LeaseFinding[] }> {
  const now = Date.now();
  const rows = await leaseRows(inventory.groups, options, now);
  const findings = [
    ...(await containerFindings(inventory, options.signal)),
    ...(options.lost
      ? [{ severity: 'error' as const, code: 'leases-lost', message: LOST, hint: LOST_HINT }]
      : neverStarted(inventory)),
    ...inventory.groups.flatMap((group) => [
      ...absence(group, { boundMs: options.absentMs, now }),
      ...groupFindings(group, now),
      ...skewFindings(group),
    ]),
    ...rows.flatMap(rowFindings),
  ];
  return { leases: rows.length, findings: findings.toSorted((a, b) => a.severity.localeCompare(b.severity)) };
}

async function containerFindings(
  { leases: { container, key, ttl }, groups }: LeaseInventory,
  signal: AbortSignal,
): Promise<LeaseFinding[]> {
  const found: LeaseFinding[] = [];
  if (!ttl) {
    found.push({
      severity: 'warning',
      code: 'container-ttl-off',
      message: `the lease container ${container.id} has no time to live. If a .NET or Functions host dies while it creates leases, its lock never expires`,
      hint: 'Set its default time to live to -1 (on, no default).',
    });
  }
  if (key !== '/id') {
    found.push({
      severity: 'warning',
      code: 'container-key',
      message: `the lease container ${container.id} has the key ${key}. Java can't use it, and older .NET hosts create duplicates with it`,
      hint: 'Use a container with the key /id: export the leases, and import them there.',
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
      message: `${plural(leases, 'lease')} with one page a second each need ${wanted} RU/s, but ${container.id} has ${provisioned}`,
      hint: 'Give it more throughput, or read larger pages: a lease is written at most once a page.',
    });
  }
  return found;
}

/** Sources for which the pipeline has no leases. */
const neverStarted = ({ sources, groups }: LeaseInventory): LeaseFinding[] =>
  [...sources]
    .filter(([, { prefix }]) => !groups.some((group) => group.prefix === prefix && group.leases.length > 0))
    .map(([name, { prefix }]) => ({
      severity: 'warning',
      code: 'never-started',
      subject: prefix,
      message: `the pipeline reads ${name} but has no leases for it`,
      hint: 'Start it with `millrace run`, or adopt another processor’s positions with `millrace leases adopt`.',
    }));

/** Reports a group whose leases no host has written for a while. Running hosts renew leases even without new changes. */
function absence(
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
      hint: own
        ? 'Start the hosts, or find out why they can’t reach the lease container.'
        : 'If that service will not come back, delete its leases.',
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
      message: `its .lock document is ${Math.round((now - lockedAt) / 1000)} s old: a host died while it created leases`,
      hint: 'A Millrace host removes it. For .NET and Functions, delete the document.',
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
      message: `no lease covers ${sayRange(hole)} of ${monitored.container.id}: no host reads it`,
      hint: own
        ? 'Restart a host: it creates the missing leases.'
        : 'Delete its .info document: then its hosts create the missing leases, and read them from their configured start.',
    });
  }
  const modes = new Set(leases.map(({ mode }) => mode));
  if (modes.size > 1) {
    found.push({
      severity: 'error',
      code: 'modes-mixed',
      subject: prefix,
      message: 'it has leases for both feeds, latest-version and all-versions, and no host accepts that',
      hint: 'Give the processor another name, or delete the leases of the wrong feed.',
    });
  }
  return found;
}

/** Compares the owners' timestamps with the service's. .NET and Java hosts judge expiry by the owners' timestamps. */
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
    message: `this host's clock is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the service's`,
    hint: own
      ? `Set its clock. Up to ${CLOCK_SKEW_MS / 1000} s does no harm.`
      : 'Set its clock. Otherwise .NET and Java hosts take leases from each other too early or too late.',
  }));
};

function rowFindings({ prefix, token, state, why }: LeaseRow): LeaseFinding[] {
  const subject = state === 'unexplained' ? token : `${prefix}..${token}`;
  const { severity, hint } = HINTS[state] ?? {};
  if (severity === undefined || hint === undefined) return [];
  return [{ severity, code: `lease-${state}`, subject, message: why, hint }];
}

const HINTS: Readonly<Partial<Record<LeaseRow['state'], Pick<LeaseFinding, 'severity' | 'hint'>>>> = {
  stuck: {
    severity: 'error',
    hint: 'Look at its owner’s logs: a handler hangs, or fails again and again. `millrace dead-letters list` shows parked changes.',
  },
  unresolved: {
    severity: 'error',
    hint: 'The lease is from a container that was deleted and created again. Delete the lease.',
  },
  duplicate: { severity: 'warning', hint: 'Stop the hosts and delete the lease with the older position.' },
  orphaned: { severity: 'warning', hint: 'If that container was deleted, delete the lease too.' },
  unexplained: { severity: 'warning', hint: 'Find out which program wrote it. Millrace does not change it.' },
  expired: { severity: 'warning', hint: 'Start a host, if none runs. A running host takes the lease over.' },
};
