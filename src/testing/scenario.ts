import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import type { UsageError } from '../base/errors.ts';
import { withRetry } from '../cosmos/retry.ts';
import type { Doc } from '../pipeline/specs.ts';
import { isEmptied } from '../pipeline/emptied.ts';
import { DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import { sourceContainers } from '../engine/runners.ts';
import { formatVerification, verify } from '../procedures/verify/verify.ts';
import { fetchAll } from '../cosmos/fetch-all.ts';
import { openEngine } from '../runtime/open-engine.ts';
import type { LoadedPipeline, Services } from '../runtime/workspace.ts';
import { type Adversity, Delivery } from './delivery.ts';
import { Dice } from './dice.ts';
import { type AnyModel, type Documents, comparable } from './documents.ts';
import { canonical } from '../base/json.ts';
import { sharedError } from '../base/shared-errors.ts';
import { layoutsOf } from '../runtime/tables.ts';
import type { TableRow, Tables } from './tables.ts';

/**
 * The pipeline and the services of a scenario.
 * @internal
 */
export interface Ground {
  readonly loaded: LoadedPipeline;
  readonly services: Services;
  readonly prepare: () => Promise<void>;
  /** Switches stale reads on or off. */
  readonly lag: (on: boolean) => void;
  readonly lagMs: number;
  /** The database of tables; a pipeline that declares some needs it. */
  readonly tables?: Tables;
  /** Runs one scenario at a time, where scenarios share tables or sinks. */
  readonly alone?: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A change that a projection parked. */
export interface Parked {
  /** Such as `orders@1`. */
  readonly projection: string;
  readonly container: string;
  readonly id: string;
  /** Of the error, as in `docs/errors.md`. */
  readonly code: string;
  readonly message: string;
}

/** The state after a scenario. */
export interface Result {
  /** The documents that projections wrote, by container. */
  readonly documents: Readonly<Record<string, readonly Doc[]>>;
  /** The rows of tables as readers see them, by the name of the view; each as `to_jsonb` shows it. */
  readonly rows: Readonly<Record<string, readonly TableRow[]>>;
  readonly parked: readonly Parked[];
}

const SILENT = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
const NEVER = new AbortController().signal;

/** `given`: documents at the start. `when`: documents that are written then. `expect`: documents derived in the end. */
export class Scenario<M extends object = AnyModel> {
  readonly #ground: Ground;
  readonly #given: Documents<M>;
  readonly #steps: { readonly changes: Documents<M>; readonly adversity: Adversity }[] = [];

  /** @internal */
  constructor(ground: Ground, given: Documents<M>) {
    this.#ground = ground;
    this.#given = given;
  }

  /** Writes documents, container by container in their order; several versions of one id are several changes. */
  when(changes: Documents<M>, adversity: Adversity = {}): this {
    this.#steps.push({ changes, adversity });
    return this;
  }

  /**
   * Runs the scenario. Code that shares nothing with the projections recomputes the sinks from all source documents:
   * the sinks must be equal. Each container that `documents` names must hold exactly these documents, and each table that
   * `rows` names exactly these rows, as `to_jsonb` of PostgreSQL shows them.
   * @throws AssertionError with the difference
   */
  async expect(
    documents: Documents<M> = {},
    rows: Readonly<Record<string, readonly TableRow[]>> = {},
  ): Promise<Result> {
    const result = await this.run();
    for (const [table, expected] of Object.entries(rows)) {
      const found = result.rows[table];
      if (!found) throw unknownTable(table, Object.keys(result.rows));
      assert.deepStrictEqual(inOrder(found), inOrder(expected), `The rows of ${table} are different`);
    }
    for (const [container, expected = []] of Object.entries<readonly object[] | undefined>(documents)) {
      const found = result.documents[container];
      if (!found) throw unknownContainer(container, Object.keys(result.documents), 'no projection writes');
      assert.deepStrictEqual(
        comparable(found),
        comparable(expected),
        `The derived documents in ${container} are different`,
      );
    }
    return result;
  }

  /** Runs the scenario and compares the sinks with the recomputed ones only. */
  async run(): Promise<Result> {
    const { alone } = this.#ground;
    return alone ? alone(() => this.#run()) : this.#run();
  }

  async #run(): Promise<Result> {
    const { loaded, services } = this.#ground;
    await this.#deliver();
    const verification = await verify(loaded, services, { signal: NEVER, screen: SILENT, readLagMs: 0 });
    if (verification.different > 0) {
      const message = `The derived documents differ from what the sources give.\n${formatVerification(verification)}`;
      const sides = { actual: verification.differences.map(({ found }) => found ?? null) };
      const expected = verification.differences.map((difference) => difference.expected ?? null);
      throw new assert.AssertionError({ message, ...sides, expected, operator: 'deepStrictEqual' });
    }
    const parked = (await new DeadLetters(services.place.state).list()).map(
      ({ projection, container, id, code, message }) => ({ projection, container, id, code, message }),
    );
    return { documents: await this.#derived(), rows: await this.#rows(), parked };
  }

  /** Writes and delivers until every change is delivered. */
  async #deliver(): Promise<void> {
    const { prepare, lag } = this.#ground;
    await prepare();
    const deliveries = await this.#deliveries();
    await this.#step(this.#given, {}, deliveries);
    for (const { changes, adversity } of this.#steps) await this.#step(changes, adversity, deliveries);
    lag(false);
  }

  #deliveries(): Promise<Delivery[]> {
    const { loaded, services, lagMs } = this.#ground;
    const parts = { settings: {}, services, loaded, readLagMs: lagMs };
    const { engine } = openEngine(parts, 'redrive');
    const sources = sourceContainers(loaded.pipeline, loaded.model);
    return Promise.all([...sources.values()].map((source) => Delivery.open(engine, services.place.database, source)));
  }

  async #step(changes: Documents<M>, adversity: Adversity, deliveries: readonly Delivery[]): Promise<void> {
    const dice = new Dice(adversity.seed ?? 1);
    for (const delivery of deliveries) delivery.begin(adversity, dice);
    this.#ground.lag(adversity.stale === true);
    const writes = this.#writes(changes);
    // A pipeline with effects alone delivers nothing here.
    const adverse = deliveries.length > 0 && Object.values(adversity).includes(true);
    // Pages are delivered between the writes, so that the feed shows more than the last version of each document.
    for (const write of writes) {
      await write();
      if (adverse && dice.chance(0.6)) await dice.pick(deliveries).step();
    }
    for (let left = adverse ? 2 * writes.length : 0; left > 0; left--) await dice.pick(deliveries).step();
    await this.#finish(deliveries);
  }

  /** Delivers until every feed has been at its end for longer than a read may lag. */
  async #finish(deliveries: readonly Delivery[]): Promise<void> {
    for (let movedAt = performance.now(), quiet = false; !quiet;) {
      quiet = performance.now() - movedAt > this.#ground.lagMs;
      for (const delivery of deliveries) {
        if (!(await delivery.finish())) continue;
        movedAt = performance.now();
        quiet = false;
      }
      await turn();
    }
  }

  #writes(changes: Documents<M>): (() => Promise<unknown>)[] {
    const { loaded, services } = this.#ground;
    const known = loaded.model.containers.map(({ name }) => name);
    return Object.entries<readonly object[] | undefined>(changes).flatMap(([container, documents = []]) => {
      if (!known.includes(container)) throw unknownContainer(container, known, 'the model does not have');
      return documents.map(
        (document) => () =>
          withRetry(() => services.place.database.container(container).items.upsert(document), { reads: true }),
      );
    });
  }

  async #rows(): Promise<Record<string, readonly TableRow[]>> {
    const { loaded, tables } = this.#ground;
    const rows: Record<string, readonly TableRow[]> = {};
    for (const { name, children } of tables ? layoutsOf(loaded) : [])
      for (const view of [name, ...children.map((child) => child.name)]) {
        const found = await tables?.rows(view);
        if (found) rows[view] = found;
      }
    return rows;
  }

  async #derived(): Promise<Record<string, Doc[]>> {
    const { loaded, services } = this.#ground;
    const sinks = Map.groupBy(loaded.pipeline.projections, ({ into }) => into.container);
    const documents: Record<string, Doc[]> = {};
    for (const [container, projections] of sinks) {
      const types = new Set(projections.map(({ into }) => into.type));
      const stored = services.place.database.container(container);
      documents[container] = [];
      for await (const doc of fetchAll<Doc>(stored, 'SELECT * FROM c', NEVER))
        if (types.has(String(doc['type'])) && !isEmptied(doc)) documents[container].push(doc);
      documents[container] = comparable(documents[container]);
    }
    return documents;
  }
}

const inOrder = (rows: readonly TableRow[]): TableRow[] =>
  rows.toSorted((a, b) => (canonical(a) < canonical(b) ? -1 : 1));

const unknownTable = (name: string, known: readonly string[]): UsageError =>
  sharedError('not-found', `The scenario names table ${name}, which no projection writes`, {
    hint: known.length === 0 ? 'Declare a table in the pipeline.' : `Use ${known.join(', ')}.`,
  });

const unknownContainer = (name: string, known: readonly string[], why: string): UsageError =>
  sharedError('not-found', `The scenario names container ${name}, which ${why}`, {
    hint: `Use ${known.join(', ')}.`,
  });
