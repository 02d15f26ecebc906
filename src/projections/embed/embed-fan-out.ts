import { systemClock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { mapSettled } from '../../base/map-settled.ts';
import type { Identity, Key } from '../../feed/reading/change.ts';
import type { SinkDocument, SinkSession } from '../../sinks/session.ts';
import { type ChildTarget, attempt, childWrite, commitChild } from './children.ts';
import { isOlder, orderOf, refOf } from './fields.ts';
import type { EmbedStates, Held, Pass } from './states.ts';

export interface EmbedTarget extends ChildTarget {
  readonly states: EmbedStates;
  /** How old a read may be, milliseconds (A3). */
  readonly readLagMs: number;
}

/** A parent whose children aren't done, as this host holds it in memory. */
export interface OpenEmbed {
  readonly held: Held;
  /** When this host first knew the state in this version, on the monotonic clock. */
  readonly since: number;
}

export interface Progress {
  /**
   * - `done`: every child is as the parent says
   * - `open`: there is more to do at once
   * - `waiting`: the next pass must not begin before the replicas have caught up
   */
  readonly kind: 'done' | 'open' | 'waiting';
  /** What to go on with. */
  readonly next: OpenEmbed;
  /** Children that can't take the fields, by their ids, each with the reason. */
  readonly refused: ReadonlyMap<string, MillraceError>;
}

/** Children a page; each page is one query and one write of the state. */
export const PAGE = 100;
const AT_ONCE = 32;

/**
 * Goes on with the children of one parent for at most `pages` pages (R8, docs/SPEC-embeds.md). Resumable: what it has to
 * go on with is in the state document, so it may be called by any host, at any time, by several at once. It is done only
 * after a pass that began 2 × the read lag after the state was written and found nothing.
 */
export async function continueEmbed(
  target: EmbedTarget,
  open: OpenEmbed,
  session: SinkSession,
  { pages, signal }: { readonly pages: number; readonly signal: AbortSignal },
): Promise<Progress> {
  const refused = new Map<string, MillraceError>();
  let next = open;
  for (let page = 0; page < pages; page++) {
    signal.throwIfAborted();
    const { held } = next;
    const { state } = held;
    if (state.job === 'done') return { kind: 'done', next, refused };
    const begun: Pass = state.pass ?? { late: isLate(target, next), clean: true, after: '' };
    const children = await childrenAfter(target, held, begun.after, session);
    const clean = await writePage(target, held, children, refused, session);
    const pass: Pass = { ...begun, clean: begun.clean && clean, after: children.at(-1)?.id ?? begun.after };
    const ended = children.length < PAGE;
    const job = ended && pass.late && pass.clean ? 'done' : 'run';
    // A pass of one page that doesn't settle it leaves nothing worth a write.
    if (job === 'done' || !ended || state.pass) {
      const saved = await target.states.save(held, { job, pass: ended ? null : pass }, session);
      next = saved ? { ...next, held: saved } : await renewed(target, next, session);
      if (!saved) continue;
    }
    if (job === 'done') return { kind: 'done', next, refused };
    if (ended && pass.clean && !isLate(target, next)) return { kind: 'waiting', next, refused };
  }
  return { kind: 'open', next, refused };
}

/** Whether a pass that begins now sees every child there was when the state was written. */
const isLate = ({ readLagMs }: EmbedTarget, { since }: OpenEmbed): boolean =>
  systemClock.monotonic() >= since + 2 * readLagMs;

/**
 * Somebody else wrote the state: a newer parent, which starts over, or another host that got further. Read from a replica
 * that lags it may be an older parent's, which has nothing to say any more.
 */
async function renewed({ states }: EmbedTarget, open: OpenEmbed, session: SinkSession): Promise<OpenEmbed> {
  const { parent, version } = open.held.state;
  const held = await states.read(parent, session);
  if (!held || isOlder(orderOf(held.state.version), orderOf(version))) return open;
  const same = held.state.version.etag === version.etag;
  return { held, since: same ? open.since : systemClock.monotonic() };
}

async function writePage(
  target: EmbedTarget,
  { state }: Held,
  children: readonly SinkDocument[],
  refused: Map<string, MillraceError>,
  session: SinkSession,
): Promise<boolean> {
  const states = new Map([[refOf(state.parent), state]]);
  let clean = true;
  const writeOne = async (raw: SinkDocument): Promise<void> => {
    const write = attempt(() => childWrite(target, raw, states));
    if (write === undefined) return;
    const outcome = write instanceof MillraceError ? write : await commitChild(target, write, session);
    if (outcome instanceof MillraceError) refused.set(raw.id, outcome);
    else clean = false;
  };
  await mapSettled(children, writeOne, { concurrency: AT_ONCE });
  return clean;
}

/** The next children of a parent by their ids, those with one id in several partitions together. */
async function childrenAfter(
  target: EmbedTarget,
  { state }: Held,
  after: string,
  session: SinkSession,
): Promise<SinkDocument[]> {
  const { children } = target;
  const { where, parameters, key } = conditionOf(target, state.parent);
  const sql = `SELECT TOP ${PAGE} * FROM c WHERE ${where} AND c.id > @after ORDER BY c.id`;
  const page = await session.query<SinkDocument>(children.name, sql, { ...parameters, after }, key);
  const last = page.at(-1);
  if (page.length < PAGE || !last) return page;
  const ties = `SELECT * FROM c WHERE ${where} AND c.id = @after`;
  const same = await session.query<SinkDocument>(children.name, ties, { ...parameters, after: last.id }, key);
  return [...page.filter(({ id }) => id !== last.id), ...same];
}

/** How the children of a parent are found; within one partition where the match names the whole key. */
function conditionOf(
  { spec, parents, children }: EmbedTarget,
  parent: Identity,
): { where: string; parameters: Record<string, Key[number]>; key: Key | undefined } {
  const valueOf = (field: string): Key[number] =>
    field === 'id' ? parent.id : (parent.key[parents.keyPaths.findIndex((path) => path.join('/') === field)] ?? null);
  const parameters: Record<string, Key[number]> = {};
  const named = (value: Key[number]): string => {
    const name = `p${Object.keys(parameters).length}`;
    parameters[name] = value;
    return `@${name}`;
  };
  const conditions: string[] = [];
  const { discriminator = 'type' } = children.types.get(spec.into.type) ?? {};
  if (typeof discriminator === 'string')
    conditions.push(`c[${JSON.stringify(discriminator)}] = ${named(spec.into.type)}`);
  for (const [field, of] of Object.entries(spec.on))
    conditions.push(`c[${JSON.stringify(of)}] = ${named(valueOf(field))}`);
  if (spec.each) {
    const members = Object.entries(spec.each.on).map(
      ([field, of]) => `${JSON.stringify(of)}: ${named(valueOf(field))}`,
    );
    conditions.push(`ARRAY_CONTAINS(c[${JSON.stringify(spec.each.field)}], {${members.join(', ')}}, true)`);
  }
  const key = children.keyPaths.map((path) => Object.entries(spec.on).find(([, of]) => of === path.join('/'))?.[0]);
  const whole = key.every((field) => field !== undefined);
  return {
    where: conditions.join(' AND '),
    parameters,
    key: whole ? key.map((field) => valueOf(field ?? '')) : undefined,
  };
}
