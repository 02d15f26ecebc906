import { Sweeper } from '../../archive/sweep/sweepers.ts';
import { readTurns } from '../../archive/sweep/tenant-turns.ts';
import { sweepArchive } from '../../archive/sweep/sweep.ts';
import type { SweepResult } from '../../archive/types.ts';
import { systemClock } from '../../base/clock.ts';
import type { Screen } from '../screen.ts';
import { plural, size, textTable } from '../table.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { faultLines } from './faults.ts';
import { assertByTenant } from './of-tenant.ts';
import { type OpenedArchive, gateOf, openArchives } from './open.ts';

export interface Sweeping extends Parts {
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'draw' | 'line'>;
  /** The name of one archive; default: all. */
  readonly only?: string | undefined;
  /** Milliseconds since 1970; default: now. */
  readonly now?: number | undefined;
  readonly dryRun?: boolean;
  /** Request units a second on average. Absent: no limit. */
  readonly ruPerSecond?: number | undefined;
  /** For all archives together. */
  readonly withinMs?: number | undefined;
  /** Only the documents of this tenant. */
  readonly tenant?: string | undefined;
}

/** Applies the archives' rules to their source containers, one archive after the other. */
export async function sweep(options: Sweeping): Promise<SweepResult[]> {
  const { services, loaded, signal, screen, only, now = Date.now(), dryRun = false } = options;
  const results: SweepResult[] = [];
  const archives = await openArchives(loaded, services, { only, signal, screen });
  assertByTenant(archives, options.tenant);
  const began = systemClock.monotonic();
  for (const archive of archives) {
    const { withinMs } = options;
    const left = withinMs === undefined ? undefined : began + withinMs - systemClock.monotonic();
    results.push(await sweepOne(archive, { ...options, now, dryRun, withinMs: left }));
  }
  return results;
}

async function sweepOne(
  archive: OpenedArchive,
  {
    screen,
    now,
    dryRun,
    tenant,
    signal,
    withinMs,
    ruPerSecond,
    ...parts
  }: Sweeping & { readonly now: number; readonly dryRun: boolean },
): Promise<SweepResult> {
  const gate = await gateOf(archive, parts, signal);
  const watch = watchErasures(parts);
  const erased = watch && (() => watch.current());
  const { state } = parts.services.place;
  await using sweeper = dryRun ? undefined : new Sweeper(state, archive.spec);
  const turns = withinMs === undefined || dryRun ? undefined : await readTurns(state, archive.spec);
  // Awaited here: the sweeper ends with this function.
  return await sweepArchive(archive, {
    sweeper,
    turns,
    ruPerSecond,
    erased,
    now,
    gate,
    signal,
    dryRun,
    tenant,
    withinMs,
    progress: ({ projection, read, archived, removed }) =>
      screen.draw([
        `${projection}: ${[`${plural(read, 'document')} read`, `${count(archived)} archived`, `${count(removed)} removed`].join(', ')}`,
      ]),
  });
}

export function formatSweep(results: readonly SweepResult[]): string {
  const lines = [
    textTable(
      ['archive', 'read', 'archived', 'removed', 'size', 'waiting', 'superseded', 'undated', 'refused'],
      results.map((of) => [
        of.projection,
        of.read,
        of.archived,
        of.removed,
        size(of.bytes),
        of.held,
        of.superseded,
        of.undated,
        of.refused,
      ]),
    ),
  ];
  for (const { projection, complete, held, erased, stayed, undated, refused, blocked, faults } of results) {
    if (!complete) lines.push(`${projection}: stopped when its time was up; the next sweep goes on`);
    if (blocked > 0)
      lines.push(
        `${projection}: ${plural(blocked, 'document')} not archived, because the manifest of their month can't be read:`,
      );
    lines.push(...faultLines(faults));
    if (held > 0)
      lines.push(`${projection}: ${plural(held, 'document')} not archived until every projection has applied them`);
    if (erased > 0)
      lines.push(`${projection}: ${plural(erased, 'document')} not archived, because their tenant is erased`);
    lines.push(...stayed.map((line) => `${projection}: not archived: ${line}`));
    const more = undated + refused - stayed.length;
    if (more > 0) lines.push(`${projection}: … and ${plural(more, 'other')} not archived`);
  }
  return lines.join('\n');
}

const count = (number: number): string => number.toLocaleString('en-US');
