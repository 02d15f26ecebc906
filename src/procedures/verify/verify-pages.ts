import type { Database } from '@azure/cosmos';
import { physicalRanges } from '../../cosmos/physical-ranges.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { spendingOf } from '../../cosmos/budget/meter.ts';
import { isOfType, typeRules } from '../../pipeline/discriminator.ts';
import {
  type Doc,
  type EntryPlace,
  type ProjectionSpec,
  type SendSpec,
  type SourceRef,
  type TableRow,
  type TableSpec,
  projectionId,
} from '../../pipeline/specs.ts';
import type { Change, Identity } from '../../feed/reading/change.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import { type RangePosition, lsnOf, positionIn, without } from '../../feed/reading/position.ts';
import { RangeGone } from '../../feed/reading/source.ts';
import { hasLeft } from '../../kinds/moved.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { nameOf } from './look.ts';
import { projectionReadersOf } from '../projections/over-shards.ts';
import { identityText } from './parked.ts';
import { type SettleOptions, settled } from './until-stable.ts';
import { selectionOf } from './verify.ts';
import type { Drawn } from './reading/named-reading.ts';
import type { OtherSpec } from './verify-others.ts';

/** How far a verification by pages is, and what it found. */
export interface Pages {
  /**
   * By the `_rid` of a container: positions up to which its documents were compared. In the global place, of a container
   * in a shard, with the shard before the `_rid`: two accounts may give the same one.
   */
  readonly positions: Readonly<Record<string, readonly RangePosition[]>>;
  /** Of tables, by `name@version`: the primary key up to which rows were compared; null: to the end. */
  readonly tables?: Readonly<Record<string, readonly unknown[] | null>>;
  /** Containers that were read to their end, named as in `positions`: one that was created again is read again. */
  readonly ended: readonly string[];
  readonly sources: number;
  readonly compared: number;
  readonly largeGroups: number;
  /** Documents that can't be judged: they changed at each comparison, hosts are behind, or have deferred changes. */
  readonly moving: number;
  /** The first thousand differences, as `Container document`, with the `name@version` of their projections. */
  readonly differences: Readonly<Record<string, readonly string[]>>;
}

export interface PagesOptions extends SettleOptions {
  readonly from: Pages;
  /** Called after each page. */
  readonly save: (pages: Pages) => Promise<void>;
  /** Default 500. */
  readonly pageSize?: number;
}

export const NO_PAGES: Pages = {
  positions: {},
  ended: [],
  sources: 0,
  compared: 0,
  largeGroups: 0,
  moving: 0,
  differences: {},
};

const PAGE = 500;
/** A larger group would fill the memory of a small host. */
const GROUP_ROWS = 20_000;
/** Rows of reference data that are looked up for a page: a page's documents may have one for each of many tenants. */
const ROWS = 10_000;
const KEPT = 1_000;
/** A feed that is written without end ends for us after this many looks for its end. */
const LOOKS = 3;

/**
 * Compares all documents in pages of the feeds: each source document with what it must have produced, each sink document
 * with the sources that it names. It needs the memory of a page, and continues after any page. It costs a point read or
 * more for a document, where `verify` reads whole containers for a fraction of that (docs/runbook.md has figures).
 */
export async function verifyPages(
  given: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  options: PagesOptions,
): Promise<Pages> {
  const selected = await selectionOf(given, services, {});
  if (!selected) return options.from;
  const { loaded, kept } = selected;
  const others = selected.others.filter((spec) => spec.kind !== 'send');
  const types = new Map(
    [...kept, ...others]
      .flatMap((spec) => (spec.kind === 'table' ? [spec.from] : [spec.from, spec.into]))
      .map((of) => [nameOf(of), of]),
  );
  let pages = options.from;
  for (const [container, of] of Map.groupBy(types.values(), (type) => type.container)) {
    const feeds = await feedsOf(loaded, services, container);
    // While a key moves, two shards have its documents, and a page of one doesn't show which of them counts.
    const alone = feeds.length === 1;
    for (const { shard, database } of feeds) {
      const at = `${shard}${await ridOf(database.container(container), options.signal)}`;
      if (pages.ended.includes(at)) continue;
      for await (const { changes, positions } of pagesOf(container, database, pages.positions[at] ?? [], options)) {
        const found = await comparePage(loaded, services, { changes, of, kept, others, alone }, options);
        pages = added({ ...pages, positions: { ...pages.positions, [at]: positions } }, found);
        await options.save(pages);
      }
      pages = { ...pages, ended: [...pages.ended, at] };
      await options.save(pages);
    }
  }
  for (const spec of others) {
    if (spec.kind !== 'table') continue;
    for await (const { placed, next } of tablePages(spec, pages.tables?.[projectionId(spec)], options)) {
      const drawn = { ...drawnOf(new Map()), placed: new Map([[projectionId(spec), placed]]) };
      const found = await settled(loaded, services, { chosen: [], kept, others: [spec], drawn }, options);
      pages = {
        ...added(pages, { ...found, sources: 0, compared: placed.length }),
        tables: { ...pages.tables, [projectionId(spec)]: next },
      };
      await options.save(pages);
    }
  }
  return pages;
}

/** The rows of a table in pages, for those that no source document accounts for. */
async function* tablePages(
  spec: TableSpec,
  from: readonly unknown[] | null | undefined,
  { signal, pageSize: most = PAGE }: PagesOptions,
): AsyncGenerator<{ readonly placed: readonly EntryPlace[]; readonly next: readonly unknown[] | null }> {
  for (let after = from; after !== null;) {
    const rows: TableRow[] = [];
    for await (const row of spec.to.part?.({ most, after }, signal) ?? []) rows.push(row);
    after = rows.length < most ? null : (rows.at(-1)?.at ?? null);
    yield { placed: rows.map(({ place }) => place), next: after };
  }
}

const drawnOf = (documents: Drawn['documents']): Drawn => ({
  documents,
  groupsOfSources: false,
  groupRows: GROUP_ROWS,
  rows: ROWS,
  seed: Math.random(),
});

/** Where documents of a container are: in one database, or, seen from the global place, in every shard's. */
async function feedsOf(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  container: string,
): Promise<readonly { readonly shard: string; readonly database: Database }[]> {
  return (await projectionReadersOf(loaded, services, container)).map(({ loaded: { pipeline }, services: at }) => ({
    shard: at === services ? '' : `${new URL(at.place.endpoint).host}!${at.place.database.id}!`,
    database: placeDatabase(pipeline, at),
  }));
}

interface FeedPage {
  readonly changes: readonly Change[];
  /** Of the whole container, after this page. */
  readonly positions: readonly RangePosition[];
}

/** The documents of a container, from some positions to its end. */
async function* pagesOf(
  name: string,
  database: Database,
  saved: readonly RangePosition[],
  { signal, screen, pageSize = PAGE }: PagesOptions,
): AsyncGenerator<FeedPage> {
  const container = database.container(name);
  const budget = spendingOf(database)?.reading(name);
  let positions = saved;
  for (let looks = 0; looks < LOOKS;) {
    // A feed of its own each time: a source remembers ranges that may have been split.
    const { source } = await openSource(container, { budget });
    let more = false;
    try {
      for (const range of await physicalRanges(container, signal)) {
        const end = lsnOf(await source.resolve(range, 'now', signal));
        for (let from = positionIn(range, positions) ?? ''; lsnOf(from) < end;) {
          const { changes, next } = await source.read(range, from, signal, pageSize);
          if (next === from && changes.length === 0) break;
          more ||= changes.length > 0;
          from = next;
          const others = positions.flatMap((one) => without(one.range, range).map((left) => ({ ...one, range: left })));
          positions = [...others, { range, position: next }];
          yield { changes, positions };
          screen.progress(`compared by pages of ${name}`, lsnOf(next), end);
        }
      }
      if (!more) return;
      looks += 1;
    } catch (error) {
      if (!(error instanceof RangeGone)) throw error;
    }
  }
}

interface PageOf {
  readonly changes: readonly Change[];
  /** The types of the page's container. */
  readonly of: readonly SourceRef[];
  readonly kept: readonly ProjectionSpec[];
  /** Embeds and tables. */
  readonly others: readonly Exclude<OtherSpec, SendSpec>[];
  /** Documents of the page are in no other database. */
  readonly alone: boolean;
}

async function comparePage(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { changes, of, kept, others, alone }: PageOf,
  options: PagesOptions,
) {
  const documents = new Map<string, Identity[]>();
  const read = new Map<string, Doc>();
  for (const { container, key, id, doc = {} } of changes) {
    const type = of.find((each) => isOfType(each.type, typeRules(loaded.pipeline.sources, each), doc as Doc));
    if (!type || hasLeft(doc)) continue;
    const known = documents.get(nameOf(type)) ?? [];
    known.push({ container, key, id });
    documents.set(nameOf(type), known);
    read.set(identityText({ container, key, id }), doc);
  }
  const specs = [...kept, ...others];
  const intoOf = (spec: (typeof specs)[number]): readonly SourceRef[] => (spec.kind === 'table' ? [] : [spec.into]);
  const count = (types: readonly SourceRef[]): number =>
    [...new Set(types.map(nameOf))].reduce((sum, type) => sum + (documents.get(type)?.length ?? 0), 0);
  const concerned = ({ from, into }: ProjectionSpec): boolean =>
    documents.has(nameOf(from)) || documents.has(nameOf(into));
  const drawn = { ...drawnOf(documents), ...(alone && { read }) };
  const beside = others.filter((spec) => documents.has(nameOf(spec.kind === 'table' ? spec.from : spec.into)));
  const found = await settled(
    loaded,
    services,
    { chosen: kept.filter(concerned), kept, others: beside, drawn },
    options,
  );
  return { ...found, sources: count(specs.map(({ from }) => from)), compared: count(specs.flatMap(intoOf)) };
}

function added(
  pages: Pages,
  { sources, compared, differences, moving, deferred, largeGroups }: Awaited<ReturnType<typeof comparePage>>,
): Pages {
  const places = { ...pages.differences };
  // A document is met again as the result of its sources.
  for (const { container, document, projections } of differences)
    if (Object.keys(places).length < KEPT) places[`${container} ${document}`] = projections;
  return {
    ...pages,
    sources: pages.sources + sources,
    compared: pages.compared + compared,
    largeGroups: pages.largeGroups + largeGroups,
    moving: pages.moving + moving + deferred,
    differences: places,
  };
}
