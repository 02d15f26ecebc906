import { isMissing } from '../../base/key-level.ts';
import { systemClock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { mapSettled } from '../../base/map-settled.ts';
import type { Identity, Key } from '../../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess } from '../../access/document-access.ts';
import { type ChildTarget, attemptChild, childWrite, commitChild } from './children.ts';
import { isOlder, embedOrderOf, refOf } from './fields.ts';
import type { EmbedStates, StoredState, ChildPass } from './states.ts';

export interface EmbedTarget extends ChildTarget {
  readonly states: EmbedStates;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
}

/** A parent whose children aren't done, as this host has it in memory. */
export interface OpenEmbed {
  readonly stored: StoredState;
  /** When this host first knew the state in this version, on the monotonic clock. */
  readonly since: number;
}

export interface FanOutProgress {
  /**
   * - `done`: every child has the parent's fields
   * - `open`: there is more to do immediately
   * - `waiting`: the next pass must not begin before the replicas have caught up
   */
  readonly kind: 'done' | 'open' | 'waiting';
  /** Where to continue. */
  readonly next: OpenEmbed;
  /** The error of each child that can't take the fields, by child id. */
  readonly refused: ReadonlyMap<string, MillraceError>;
}

/** Children a page; each page is one query and one write of the state. */
export const PAGE = 100;
const AT_ONCE = 32;

/**
 * Updates the children of one parent, at most `pages` pages of them (EMB-M5). The state document holds the progress, so
 * any host may continue at any time, and several hosts at the same time. It is done only after a pass that began 2 × the
 * read lag after the state was written and found nothing to change.
 */
export async function continueEmbed(
  target: EmbedTarget,
  open: OpenEmbed,
  access: DocumentAccess,
  { pages, signal }: { readonly pages: number; readonly signal: AbortSignal },
): Promise<FanOutProgress> {
  const refused = new Map<string, MillraceError>();
  let next = open;
  for (let page = 0; page < pages; page++) {
    signal.throwIfAborted();
    const { stored } = next;
    const { state } = stored;
    if (state.job === 'done') return { kind: 'done', next, refused };
    const begun: ChildPass = state.pass ?? { late: isLate(target, next), clean: true, after: '' };
    const children = await childrenAfter(target, stored, begun.after, access);
    const clean = await writePage(target, stored, children, refused, access);
    const pass: ChildPass = { ...begun, clean: begun.clean && clean, after: children.at(-1)?.id ?? begun.after };
    const ended = children.length < PAGE;
    const job = ended && pass.late && pass.clean ? 'done' : 'run';
    // A pass of one page that doesn't end it leaves nothing worth a write.
    if (job === 'done' || !ended || state.pass) {
      const saved = await target.states.save(stored, { job, pass: ended ? null : pass }, access);
      next = saved ? { ...next, stored: saved } : await renewed(target, next, access);
      if (!saved) continue;
    }
    if (job === 'done') return { kind: 'done', next, refused };
    if (ended && pass.clean && !isLate(target, next)) return { kind: 'waiting', next, refused };
  }
  return { kind: 'open', next, refused };
}

/** Whether a pass that begins now sees every child that existed when the state was written. */
const isLate = ({ readLagMs }: EmbedTarget, { since }: OpenEmbed): boolean =>
  systemClock.monotonic() >= since + 2 * readLagMs;

/**
 * The state after another writer has changed it: a newer parent, which starts again, or another host that got further. A
 * replica that lags may return the state of an older parent, which is ignored.
 */
async function renewed({ states }: EmbedTarget, open: OpenEmbed, access: DocumentAccess): Promise<OpenEmbed> {
  const { parent, version } = open.stored.state;
  const stored = await states.read(parent, access);
  if (!stored || isOlder(embedOrderOf(stored.state.version), embedOrderOf(version))) return open;
  const same = stored.state.version.etag === version.etag;
  return { stored, since: same ? open.since : systemClock.monotonic() };
}

async function writePage(
  target: EmbedTarget,
  { state }: StoredState,
  children: readonly SinkDocument[],
  refused: Map<string, MillraceError>,
  access: DocumentAccess,
): Promise<boolean> {
  const states = new Map([[refOf(state.parent), state]]);
  let clean = true;
  const writeOne = async (raw: SinkDocument): Promise<void> => {
    const write = attemptChild(() => childWrite(target, raw, states));
    if (write === undefined) return;
    const result = write instanceof MillraceError ? write : await commitChild(target, write, access);
    if (result instanceof MillraceError) refused.set(raw.id, result);
    else clean = false;
  };
  await mapSettled(children, writeOne, { concurrency: AT_ONCE });
  return clean;
}

/** The next children of a parent by id. Children of several partitions that share an id come together. */
async function childrenAfter(
  target: EmbedTarget,
  { state }: StoredState,
  after: string,
  access: DocumentAccess,
): Promise<SinkDocument[]> {
  const { children } = target;
  // No child can name it.
  if (state.parent.key.some(isMissing)) return [];
  const { where, parameters, key } = conditionOf(target, state.parent);
  const sql = `SELECT TOP ${PAGE} * FROM c WHERE ${where} AND c.id > @after ORDER BY c.id`;
  const page = await access.query<SinkDocument>(children.name, sql, { ...parameters, after }, key);
  const last = page.at(-1);
  if (page.length < PAGE || !last) return page;
  const ties = `SELECT * FROM c WHERE ${where} AND c.id = @after`;
  const same = await access.query<SinkDocument>(children.name, ties, { ...parameters, after: last.id }, key);
  return [...page.filter(({ id }) => id !== last.id), ...same];
}

/** The query condition for the children of a parent; with a key where `on` names the whole partition key. */
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
