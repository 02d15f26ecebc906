// What `millrace top` shows of a status, within the size of a terminal.
import { styleText } from 'node:util';
import { Speed, sayRate } from '../../base/speed.ts';
import { lagText } from '../../operations/leases/lags.ts';
import type { Status } from '../../operations/status.ts';
import { catchUpText, clip, plural, table } from '../../operations/table.ts';
import { fit } from '../fit.ts';

/** The last look, and what is known from those before. */
export interface Look {
  readonly status: Status;
  /** Changes a second by projection, and of all; absent: not known yet. */
  readonly rates: Readonly<Record<string, number>>;
  readonly total: number | undefined;
  /** Why the look after it failed; the figures are then those of before. */
  readonly failed?: string;
  /** The time of day of the look. */
  readonly at: string;
}

/** Rates of projections, from the counts that hosts report. */
export class Rates {
  readonly #speeds = new Map<string, Speed>();

  /** `at`: milliseconds on a clock that never goes back. */
  note({ hosts }: Pick<Status, 'hosts'>, at: number): Pick<Look, 'rates' | 'total'> {
    const counts = new Map<string, number>();
    for (const { status } of hosts)
      for (const { projection, changes } of status?.projections ?? [])
        counts.set(projection, (counts.get(projection) ?? 0) + changes);
    const rates: Record<string, number> = {};
    for (const [id, changes] of counts) {
      const speed = this.#speeds.get(id) ?? new Speed();
      this.#speeds.set(id, speed);
      speed.note(changes, at);
      const rate = speed.perSecond();
      if (rate !== undefined) rates[id] = rate;
    }
    const known = Object.values(rates);
    return { rates, total: known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0) };
  }
}

/** The lines of a look: a head of three that stays, and the rest from line `scroll` on. */
export function frameOf(
  look: Look,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  { pipeline, every, scroll }: { readonly pipeline: string; readonly every: string; readonly scroll: number },
): { readonly lines: readonly string[]; readonly scroll: number } {
  const { status, total, failed, at } = look;
  const parked = status.projections.reduce((sum, of) => sum + of.parked, 0);
  const head = [
    style('bold', fit(`${pipeline} in ${status.database}, ${at}, each ${every}. q: quit, arrows: scroll`, columns)),
    fit(
      [
        total === undefined ? 'rate not known yet' : `${sayRate(total)} changes`,
        `lag ${worstLag(status.sources)}`,
        `${parked.toLocaleString('en-US')} parked`,
        plural(status.hosts.length, 'host'),
        `${plural(status.leases.all, 'lease')}, ${status.leases.free} free`,
      ].join(' · '),
      columns,
    ),
    failed === undefined ? '' : style('red', fit(`The last look failed: ${failed}`, columns)),
  ];
  const body = [...errorsOf(status), ...projectionsOf(look), '', ...rangesOf(status)].map((line) => fit(line, columns));
  const room = Math.max(0, rows - head.length);
  const last = Math.max(0, body.length - room);
  const from = Math.min(Math.max(0, scroll), last);
  const cut = body.slice(from, from + room);
  if (from + room < body.length && cut.length > 0)
    cut[cut.length - 1] = style('dim', fit(`… ${plural(body.length - from - room + 1, 'line')} more`, columns));
  return { lines: [...head.slice(0, rows), ...cut], scroll: from };
}

const style = (format: Parameters<typeof styleText>[0], text: string): string =>
  styleText(format, text, { stream: process.stdout });

function worstLag(sources: Status['sources']): string {
  const unknown = sources.find(({ lag }) => !lag.known);
  if (unknown || sources.length === 0) return 'unknown';
  const [worst] = sources.toSorted((a, b) => changesOf(b.lag) - changesOf(a.lag));
  return worst ? lagText(worst.lag) : 'unknown';
}

const changesOf = (lag: Status['sources'][number]['lag']): number => (lag.known ? lag.changes : Infinity);

function projectionsOf({ status, rates }: Look): string[] {
  const rows = status.projections.map(({ id, state, ruPerChange, parked }) => [
    id,
    state,
    rates[id] === undefined ? '' : sayRate(rates[id]),
    ruPerChange ?? '',
    parked,
  ]);
  return table(['projection', 'state', 'changes', 'RU/change', 'parked'], rows).split('\n');
}

/** Every lease with what its host reports of it, those that are behind first. */
function rangesOf({ hosts, sources }: Status): string[] {
  const ranges = hosts.flatMap(({ owner, status }) => (status?.ranges ?? []).map((range) => ({ owner, ...range })));
  if (ranges.length === 0)
    return table(
      ['source', 'leases', 'lag'],
      sources.map(({ container, leases, lag }) => [container, leases, lagText(lag)]),
    ).split('\n');
  const behind = ({ lag }: (typeof ranges)[number]): number => lag ?? Infinity;
  const rows = ranges
    .toSorted((a, b) => behind(b) - behind(a) || a.container.localeCompare(b.container))
    .map(({ owner, container, lease, lag, handledPerSecond, inPerSecond, catchUp, inHand, rejection }) => [
      container,
      lease,
      clip(owner, 20),
      lag ?? 'unknown',
      inPerSecond === null ? '' : sayRate(inPerSecond),
      handledPerSecond === null ? '' : sayRate(handledPerSecond),
      catchUpText(catchUp),
      inHand ? `${inHand.changes}, ${inHand.seconds} s` : '',
      rejection ? clip(rejection.why, 40) : '',
    ]);
  const columns = ['source', 'lease', 'host', 'lag', 'in', 'changes', 'catches up in', 'in hand', 'rejected'];
  return table(columns, rows).split('\n');
}

/** What is wrong, in red and first; nothing if all is well. */
function errorsOf({ hosts, sources, unreadable }: Status): string[] {
  const lines = [
    ...unreadable.map(({ kind }) => `Hosts of this version wait: they can't read ${kind}.`),
    ...sources.flatMap(({ container, troubled }) => troubled.map(({ token, why }) => `${container} ${token}: ${why}`)),
    ...hosts.flatMap(({ owner, status }) =>
      (status?.sources ?? []).flatMap(({ container, failure }) =>
        failure === undefined ? [] : [`${owner}, feed of ${container}: ${failure}`],
      ),
    ),
  ];
  return lines.length === 0 ? [] : [...lines.map((line) => style('red', line)), ''];
}
