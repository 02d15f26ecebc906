// A sink with several contents, as an index behind an alias has, that takes its time and fails now and then.
import { setTimeout as delay } from 'node:timers/promises';
import { canonical } from '../../../src/base/json.ts';
import { recomputeRows } from '../../../src/pipeline/oracle/recompute-rows.ts';
import type { Doc, Entry, Pipeline, SendSpec, Sink, SinkRebuild } from '../../../src/pipeline/specs.ts';
import { SinkRefusal } from '../../../src/pipeline/builders/send.ts';
import type { LoadedPipeline } from '../../../src/runtime/workspace.ts';
import type { Random } from '../../support/random.ts';
import type { Stage } from '../../support/stage.ts';

type Content = Map<string, { readonly version: string; readonly row: unknown }>;

export class Shelves {
  current = 'first';
  readonly contents = new Map<string, Content>([['first', new Map()]]);
  readonly faults: string[] = [];
  readonly #random: Random | undefined;
  readonly #slowMs: number;
  swaps = 0;
  /** Rows that a target refuses, not the first content. */
  refuses: (row: unknown) => boolean = () => false;

  /** `slowMs`: the most that a request of a target, or a swap, takes each way. */
  constructor(random?: Random, slowMs = 0) {
    this.#random = random;
    this.#slowMs = slowMs;
  }

  rows(): Map<string, unknown> {
    const content = this.contents.get(this.current) ?? new Map<string, never>();
    return new Map([...content].flatMap(([id, { row }]) => (row === null ? [] : [[id, row]])));
  }

  /** The sink as one process sees it; a dead one is heard no more. */
  sink(alive: () => boolean = () => true): Sink & { readonly rebuild: SinkRebuild } {
    const call = async <T>(effect: () => T, slow = 1): Promise<T> => {
      if (slow) await this.#wait();
      if (!alive()) return new Promise<T>(() => {});
      if (this.#random?.chance(0.05)) throw new Error('It was away');
      const value = effect();
      if (this.#random?.chance(0.05)) throw new Error('The answer was lost');
      if (slow) await this.#wait();
      return value;
    };
    const { contents } = this;
    const current = (): string => this.current;
    return {
      write: (entries) => call(() => this.#take(this.current, entries), 0),
      rows: async function* () {
        for (const [id, { row, version }] of contents.get(current()) ?? [])
          if (row !== null) yield { id, row, version };
      },
      rebuild: {
        open: (target) =>
          call(() => {
            if (!this.contents.has(target)) this.contents.set(target, new Map());
            return { write: (entries: readonly Entry[]) => call(() => this.#take(target, entries)) };
          }),
        swap: (target) => call(() => this.swap(target)),
        drop: (target) =>
          call(() => {
            if (target !== this.current) this.contents.delete(target);
          }),
      },
    };
  }

  swap(target: string): void {
    if (target === this.current) return;
    const [before, after] = [this.contents.get(this.current), this.contents.get(target)];
    for (const [id, { version, row }] of before ?? []) {
      const now = after?.get(id);
      // A row that was removed before the history was read again may be unknown to the target.
      if (now ? now.version < version : row !== null) this.faults.push(`${id} went back behind ${version}`);
    }
    this.current = target;
    this.swaps += 1;
  }

  #take(target: string, entries: readonly Entry[]): void {
    const content = this.contents.get(target);
    if (!content) throw new Error(`There is no ${target}`);
    const refused = new Map<string, string>();
    for (const { id, version, row } of entries) {
      if (target !== 'first' && this.refuses(row)) refused.set(id, 'It is refused');
      else if ((content.get(id)?.version ?? '') < version) content.set(id, { version, row });
    }
    if (refused.size > 0) throw new SinkRefusal(refused);
  }

  /** Half of the requests are fast, so that each may be overtaken by the other side. */
  async #wait(): Promise<void> {
    if (this.#random?.chance(0.5)) await delay(this.#random.int(this.#slowMs));
  }
}

export const search = (to: Sink): SendSpec => ({
  kind: 'send',
  name: 'search',
  version: 1,
  from: { container: 'Orders', type: 'order' },
  onDelete: 'remove',
  to,
  where: ({ cents }) => Number(cents) % 5 !== 0,
  map: ({ id, storeId, cents }) => ({ id, storeId, cents }),
});

/** The stage's pipeline with other declarations in place of its own. */
export const declaring = (
  { loaded }: Pick<Stage, 'loaded'>,
  more: Partial<Pick<Pipeline, 'effects' | 'publishes' | 'embeds'>>,
): LoadedPipeline => ({ ...loaded, pipeline: { ...loaded.pipeline, projections: [], ...more } });

/** The rows that the oracle makes of the orders there are, as canonical JSON by id. */
export async function rowsOf(stage: Stage, spec: SendSpec): Promise<Map<string, string>> {
  const { resources } = await stage.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
  const rows = recomputeRows(spec, resources, stage.loaded.pipeline.sources, {
    keyPaths: ['/storeId'],
    refused: (doc, cause) => {
      throw new Error(`${String(doc['id'])} was refused`, { cause });
    },
  });
  return asText(rows);
}

export const asText = (rows: ReadonlyMap<string, unknown>): Map<string, string> =>
  new Map([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, row]) => [id, canonical(row)]));
