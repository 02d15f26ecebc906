// The contents of a projection's tables: created, filled beside the live one, switched to, and removed.
import { SCHEMA, type Content, contentDdl, finishingDdl, tableName, viewsOf } from '../../pipeline/tables/ddl.ts';
import type { KeptContent } from '../../pipeline/outside-sink.ts';
import type { TableLayout } from '../../pipeline/tables/layout.ts';
import { madeOf } from '../../pipeline/tables/made.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { sinksError } from '../errors.ts';
import {
  type Readers,
  type StoredContent,
  contentOfTarget,
  contentsOf,
  keep,
  keptContent,
  listContent,
  ownLock,
  readersOf,
  setReaders,
  setState,
} from './contents.ts';
import { dropKeysTo, keysLacking, moveKeys } from './foreign-keys.ts';
import { letReadersIn, secure } from './row-security.ts';
import { switchView } from './views.ts';

export class TableContents {
  readonly #layout: TableLayout;
  readonly #database: Database;
  constructor(layout: TableLayout, database: Database) {
    this.#layout = layout;
    this.#database = database;
  }

  /** Creates the tables of a target, unless they exist; resolves with what their names end in. */
  async open(target: string, signal: AbortSignal): Promise<string> {
    const layout = this.#layout;
    const content = contentOfTarget(layout, target);
    await this.#alone(signal, async (session) => {
      const stored = (await contentsOf(session, layout)).find((one) => one.content === content);
      if (stored) return;
      for (const statement of contentDdl({ layout, content }, { citus: await hasCitus(session) }))
        await session.query(statement);
      await listContent(session, { layout, content }, 'filling');
    });
    return content;
  }

  /**
   * Makes a filled target the live content of its version, and gives it to readers, in one transaction. Readers keep a
   * higher version. A target that another one replaced stays replaced, so a process that slept switches nothing back.
   * @throws MillraceError `tables-replaced`
   */
  async swap(target: string, signal: AbortSignal, keepMs = 0): Promise<void> {
    const layout = this.#layout;
    const content = contentOfTarget(layout, target);
    await this.#alone(signal, async (session) => {
      const stored = await contentsOf(session, layout);
      const state = stored.find((one) => one.content === content)?.state;
      if (state === 'live') return;
      if (state !== 'filling')
        throw sinksError('tables-replaced', `The content ${target} of ${layout.projection} is ${state ?? 'gone'}`);
      for (const statement of finishingDdl({ layout, content })) await session.query(statement);
      await this.#makeLive(session, stored, content);
      const before = await readersOf(session, layout);
      if (before && before.version > layout.version) return;
      await this.#show(session, content, before, keepMs);
    });
  }

  /**
   * Gives readers the content of this version that they had before and that hosts still write: it has the same changes, so
   * nothing is caught up. What they have now is kept instead.
   * @throws MillraceError `tables-replaced`
   */
  async back(signal: AbortSignal, keepMs: number): Promise<string> {
    const layout = this.#layout;
    return this.#alone(signal, async (session) => {
      const stored = await contentsOf(session, layout);
      const content = stored.find(({ kept }) => kept)?.content;
      if (content === undefined)
        throw sinksError('tables-replaced', `No content of ${layout.projection}@${layout.version} is kept`);
      await this.#makeLive(session, stored, content);
      await this.#show(session, content, await readersOf(session, layout), keepMs);
      return content;
    });
  }

  async kept(signal: AbortSignal): Promise<KeptContent | undefined> {
    return this.#alone(signal, (session) => keptContent(session, this.#layout));
  }

  async #makeLive(session: Session, stored: readonly StoredContent[], content: string): Promise<void> {
    const layout = this.#layout;
    for (const one of stored)
      if (one.state === 'live' && one.content !== content) await setState(session, layout, one.content, 'retired');
    if (stored.some((one) => one.content === content && one.state === 'live')) return;
    await setState(session, layout, content, 'live');
    for (const { sql } of await keysLacking(session, { layout, content })) await session.query(sql);
  }

  async #show(session: Session, content: string, before: Readers | undefined, keepMs: number): Promise<void> {
    const of = { layout: this.#layout, content };
    await giveToReaders(session, of, before);
    if (before) {
      const [from, to] = [before.content, content].map((one) => tableName(this.#layout.name, one)) as [string, string];
      // Another version may have another key: the next `sql migrate` declares those that lead there.
      if (before.version === this.#layout.version) await moveKeys(session, from, to);
      else await dropKeysTo(session, from);
    }
    if (before) await keep(session, { projection: of.layout.projection, ...before }, keepMs);
  }

  async drop(target: string, signal: AbortSignal): Promise<void> {
    const layout = this.#layout;
    const content = contentOfTarget(layout, target);
    await this.#alone(signal, async (session) => {
      const stored = (await contentsOf(session, layout)).find((one) => one.content === content);
      if (stored?.state === 'filling') await removeContent(session, { layout, content });
    });
  }

  async #alone<T>(signal: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> {
    const { projection } = this.#layout;
    try {
      return await this.#database.transaction(work, { signal, first: ownLock(this.#layout) });
    } catch (error) {
      throw failure(error, `The tables of ${projection} could not be changed`);
    }
  }
}

/** Switches the views. The generation is compared, so that of two that switch at once only one does. */
export async function giveToReaders(session: Session, of: Content, before: Readers | undefined): Promise<void> {
  if (!(await setReaders(session, of.layout, of.content, before)))
    throw sinksError('tables-replaced', `Another process switched the views of ${of.layout.projection}`);
  await secure(session, of);
  for (const view of viewsOf(of)) await switchView(session, view);
  await letReadersIn(session, of);
}

/** Removes the tables of a content that nothing reads. */
export async function removeContent(session: Session, of: Content): Promise<void> {
  const { layout, content } = of;
  for (const { name } of madeOf(of).tables) await session.query(`DROP TABLE IF EXISTS ${name}`);
  await session.query(`DELETE FROM ${SCHEMA}.contents WHERE name = $1 AND version = $2::integer AND content = $3`, [
    layout.projection,
    layout.version,
    content,
  ]);
}

export async function hasCitus(session: Session): Promise<boolean> {
  const { rows } = await session.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`);
  return rows.length > 0;
}
