import type { Container, ItemDefinition } from '@azure/cosmos';
import { fullKey, splitPath } from '../../cosmos/paths.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { isEmptied } from '../../pipeline/emptied.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { aggregateId, sinkDocumentId } from '../../pipeline/derived-ids.ts';
import type { Doc } from '../../pipeline/specs.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { UsageError } from '../../base/errors.ts';
import { near } from '../../base/near.ts';
import { DEFAULT_PIPELINE, type ViewVersion, Views, type ViewsByName } from './views.ts';
import { engineError } from '../errors.ts';

/** Where an application reads a projection. */
export interface CurrentView {
  readonly version: number;
  readonly container: string;
  /** The `type` of its documents. */
  readonly type: string;
  /** The paths of the container's partition key. */
  readonly key: readonly string[];
  /** `map`: the pipeline's code returns the id. `group`: the values of the group make it, and `read` computes it. */
  readonly ids: 'map' | 'group';
  /** The group's fields. Absent: the model doesn't have them, or the code returns the id. */
  readonly group?: readonly string[];
}

export interface ViewReaderOptions {
  /** How long an answer is cached, milliseconds. Default 5,000. A replaced version stays readable for ten minutes. */
  readonly refreshMs?: number;
  /** The pipeline's name. Default: the only pipeline that has run on this container. */
  readonly pipeline?: string;
}

export interface ViewReader {
  /**
   * The version of a projection to read now. Call it for each read and don't keep the answer: it costs one point read
   * every few seconds. It never returns to a replaced version.
   * @throws UsageError `not-found`, `view-not-built`, `option-invalid`
   */
  current(projection: string): Promise<CurrentView>;
  /**
   * One document of the version to read now, by one point read; undefined if there is none. `of`: its `id` and the fields
   * of the partition key, or of an aggregate all fields of its group and no other.
   * @throws UsageError as `current`; `option-invalid` if a field is missing, or there is none by fields that aren't the group's
   */
  read(
    projection: string,
    of: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** For applications: `const views = openViews(database.container('millrace'))`, then `await views.current('summaries')`. */
export function openViews(state: Container, { refreshMs = 5_000, pipeline }: ViewReaderOptions = {}): ViewReader {
  let name = pipeline;
  const stored = async (): Promise<ViewsByName | undefined> => {
    name ??= theOnly(await Views.pipelinesIn(state));
    return name === undefined ? undefined : new Views(state, name).read();
  };
  let known: { readonly at: number; readonly reading: Promise<ViewsByName | undefined> } | undefined;
  const last = new Map<string, ViewVersion & { readonly since: number }>();
  const read = (): Promise<ViewsByName | undefined> => {
    const now = performance.now();
    if (known && now - known.at < refreshMs) return known.reading;
    const next = { at: now, reading: stored() };
    known = next;
    next.reading.catch(() => {
      if (known === next) known = undefined;
    });
    return next.reading;
  };
  const reader: ViewReader = {
    read: async (projection, of) => {
      const { container, type, key: paths, ids, group } = await reader.current(projection);
      const found = fullKey(of, paths.map(splitPath));
      const { id } = of;
      const byGroup = ids === 'group' && id === undefined;
      const wrong = (what: string): UsageError => {
        const byId = ['id', ...paths.map((path) => path.slice(1))].join(', ');
        const hint = ids === 'map' ? byId : `${group?.join(', ') ?? 'its group'}; or of ${byId}`;
        return sharedError('option-invalid', what, { hint: `Give the fields of ${hint}.` });
      };
      const missing = 'missing' in found ? found.missing : byGroup || typeof id === 'string' ? undefined : '/id';
      if ('missing' in found || missing !== undefined)
        throw wrong(`A document of ${projection} is found by ${missing}, which isn't given`);
      const at = byGroup ? aggregateId(type, of) : sinkDocumentId(String(id));
      const doc = await readItem<Doc & ItemDefinition>(state.database.container(container).item(at, found.key));
      if (doc?.['type'] !== type || isEmptied(doc)) {
        const given = Object.keys(of);
        // Only now, because the code makes the id, and the model may differ from it.
        if (byGroup && group && given.toSorted().join() !== group.join())
          throw wrong(`The group of ${projection} isn't ${given.join(', ')}`);
        return undefined;
      }
      const { _src: _, _mr: __, ...own } = withoutSystemFields(doc);
      return own;
    },
    current: async (projection) => {
      const all = await read();
      const view = all?.[projection];
      if (!view) throw unknown(projection, all ?? {});
      if (!view.current) {
        if (view.previous)
          throw sharedError('not-found', `${projection} was removed from the pipeline`, {
            hint: 'Correct the name. A new projection has a view once its pipeline has run.',
          });
        throw engineError('view-not-built', `${projection} was never built`, {
          hint: `Run \`millrace projections rebuild ${projection}\`, then \`millrace projections promote ${projection}\`.`,
        });
      }
      // A lagging replica may still name the version before. A version that this reader saw replaced stays replaced.
      const seen = last.get(projection);
      const { promotions } = view;
      if (seen && seen.since > promotions) return pick(seen);
      last.set(projection, { ...view.current, since: promotions });
      return pick(view.current);
    },
  };
  return reader;
}

/** The only pipeline's name. Undefined: none has run yet. */
function theOnly(pipelines: readonly string[]): string | undefined {
  const [first] = pipelines;
  if (pipelines.length < 2) return first;
  if (pipelines.includes(DEFAULT_PIPELINE)) return DEFAULT_PIPELINE;
  const all = pipelines.toSorted().join(', ');
  throw sharedError('option-invalid', `The container holds the views of several pipelines: ${all}`, {
    hint: `Name one: openViews(container, { pipeline: '${first}' }).`,
  });
}

const pick = ({ version, container, type, key = [], ids = 'map', group }: ViewVersion): CurrentView => ({
  version,
  container,
  type,
  key,
  ids,
  ...(group && { group }),
});

function unknown(projection: string, views: ViewsByName): UsageError {
  const best = near(projection, Object.keys(views));
  return sharedError(
    'not-found',
    `There is no view ${projection}${best === undefined ? '' : `: did you mean ${best}?`}`,
    { hint: 'Correct the name. A new projection has a view once its pipeline has run.' },
  );
}
