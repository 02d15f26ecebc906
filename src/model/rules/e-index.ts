// E: indexing policies and time to live.
import type { ContainerDetail, Text } from '../documents.ts';
import { type Facts, examplesIn, fieldsIn, valueAt } from './facts.ts';
import { type Rule, DESIGN, SOURCES, missing, n } from './rule.ts';

const POLICY = SOURCES.microsoft('Indexing policies in Azure Cosmos DB');
const TTL = SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB');

const stated = ({ index }: ContainerDetail): Text[] => [...index.included, ...index.excluded];
const queriesOf = (facts: Facts, detail: ContainerDetail) =>
  facts.accesses
    .filter((access) => access.detail === detail)
    .flatMap(({ row }) => row.queries.map((query) => ({ row, query })));

/** `/a/b/?` and `/a/*` as the dotted field they begin with. */
const fieldOf = (path: string): string =>
  path
    .replace(/^\//, '')
    .replace(/\/(\?|\*)$/, '')
    .replaceAll('/[]', '')
    .replaceAll('/', '.');

/** Whether a field is indexed: the most precise of the lists' paths wins. */
function indexed({ container }: ContainerDetail, field: string): boolean {
  const policy = container.indexingPolicy;
  if (!policy) return true;
  const reach = (paths: readonly { readonly path: string }[] = []): number =>
    Math.max(
      -1,
      ...paths.map(({ path }) => {
        const own = fieldOf(path);
        if (path === '/*') return 0;
        const covers = path.endsWith('*') ? field === own || field.startsWith(`${own}.`) : field === own;
        return covers ? own.length + (path.endsWith('?') ? 1 : 0) : -1;
      }),
    );
  return (
    policy.indexingMode !== 'none' &&
    reach(policy.includedPaths) >= reach(policy.excludedPaths) &&
    reach(policy.includedPaths) >= 0
  );
}

export const INDEXES: readonly Rule[] = [
  {
    id: 'E1',
    title: 'Where nine of ten properties are never asked for, the index is selective',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'Every indexed property is paid for at every write. It warns where at least ten properties are indexed automatically and 90 % of them are in no filter and no sort of the mapping.',
    mend: 'Exclude `/*` and include what is asked for.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const { container } = detail;
        const fields = fieldsIn(container);
        if (fields.size < 10) continue;
        const queries = queriesOf(facts, detail);
        if (
          queries.length === 0 &&
          facts.accesses.some(({ row, detail: of }) => of === detail && row.operations.includes('query'))
        ) {
          yield missing(`the queries on ${container.name}`);
          continue;
        }
        const used = new Set([
          ...queries
            .flatMap(({ query }) => [...query.filters, ...query.order.map(({ path }) => path)])
            .map((path) => path.split('.')[0] ?? ''),
          ...container.partitionKey.map((path) => path.split('/')[1] ?? ''),
        ]);
        const unused = [...fields].filter((field) => !used.has(field) && indexed(detail, field));
        if (unused.length >= 0.9 * fields.size)
          yield {
            message: `${container.name}: ${unused.length} of ${fields.size} properties are indexed and never asked for`,
            at: facts.place(detail, 'indexingPolicy'),
            evidence: `${unused.length} ÷ ${fields.size} = ${n((100 * unused.length) / fields.size)} %; each adds ${facts.settings.indexRu} RU to a write`,
          };
      }
    },
  },
  {
    id: 'E2',
    title: 'An indexing policy names /* once',
    severity: 'error',
    source: POLICY,
    why: 'The root path is in the included or in the excluded paths; the service refuses a policy that has it in neither, and one that has it in both says nothing.',
    mend: 'Exclude `/*` for a selective index, include it otherwise.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const [first] = stated(detail);
        if (!first) continue;
        const roots = stated(detail).filter(({ text }) => text === '/*').length;
        if (
          roots === 0 &&
          (detail.index.included.length > 0 || detail.index.excluded.some(({ text }) => !text.includes('_etag')))
        )
          yield {
            message: `${detail.container.name}: /* is neither included nor excluded`,
            at: detail.index.excluded[0]?.at ?? facts.place(detail, 'indexingPolicy'),
          };
        if (roots > 1)
          yield {
            message: `${detail.container.name}: /* is named ${roots} times`,
            at: facts.place(detail, 'indexingPolicy'),
          };
      }
    },
  },
  {
    id: 'E3',
    title: 'An array step is /[]/, and * stands last',
    severity: 'error',
    source: POLICY,
    why: '`/a/*/b/?` isn’t a path; elements of an array are `/a/[]/b/?`.',
    mend: 'Write `[]` for the array’s step.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        for (const { text, at } of stated(detail)) {
          if (/\*(?!$)/.test(text) || /\[\d+\]/.test(text))
            yield {
              message: `${detail.container.name}: ${text} is no index path`,
              at,
              mend: `Write ${text.replaceAll(/\*(?!$)|\[\d+\]/g, '[]')}.`,
            };
        }
        for (const { text, at } of stated(detail)) {
          // A path into an array without its step reaches nothing.
          const steps = fieldOf(text).split('.');
          const list = examplesIn(detail.container).some((example) =>
            steps.slice(0, -1).some((_, index) => Array.isArray(valueAt(example, steps.slice(0, index + 1).join('/')))),
          );
          if (list && !text.includes('[]'))
            yield { message: `${detail.container.name}: ${text} goes through a list without /[]/`, at };
        }
      }
    },
  },
  {
    id: 'E4',
    title: 'A scalar path ends in /?, a composite path in nothing',
    severity: 'warning',
    source: POLICY,
    why: '`/name/*` indexes everything below and works for a scalar too, but is wider than meant; without either the service refuses it. Paths of a composite index have no ending, and there are two to eight of them.',
    mend: 'Write `/name/?`; in composites `/name`.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const examples = examplesIn(detail.container);
        for (const { text, at } of stated(detail)) {
          const values = examples
            .map((example) => valueAt(example, fieldOf(text)))
            .filter((value) => value !== undefined);
          const scalar = values.length > 0 && values.every((value) => typeof value !== 'object' || value === null);
          if (!/[?*]$/.test(text) && !text.includes('_etag'))
            yield { severity: 'error', message: `${detail.container.name}: ${text} ends in neither /? nor /*`, at };
          else if (
            text !== '/*' &&
            text.endsWith('/*') &&
            scalar &&
            detail.index.included.some((path) => path.text === text)
          )
            yield { message: `${detail.container.name}: ${text} is a scalar; ${text.slice(0, -1)}? is enough`, at };
        }
        for (const { paths, at } of detail.index.composites) {
          if (paths.some(({ path }) => /[?*]$/.test(path)))
            yield {
              severity: 'error',
              message: `${detail.container.name}: paths of a composite index have no ending`,
              at,
            };
          if (paths.length < 2 || paths.length > 8)
            yield {
              severity: 'error',
              message: `${detail.container.name}: a composite index has two to eight paths, this one ${paths.length}`,
              at,
            };
        }
      }
    },
  },
  {
    id: 'E5',
    title: 'Every property that is filtered or sorted is there and is indexed',
    severity: 'warning',
    source: POLICY,
    why: 'A filter without an index loads documents to look at them. That goes for the partition key too where `/*` is excluded. A property that no example has is a slip of the query or of the example.',
    mend: 'Include the path.',
    needs: [DESIGN],
    *check(facts) {
      let known = false;
      for (const detail of facts.containers) {
        const examples = examplesIn(detail.container);
        for (const { row, query } of queriesOf(facts, detail)) {
          known = true;
          const asked = [...new Set([...query.filters, ...query.order.map(({ path }) => path)])].filter(
            (field) => field !== 'id' && !field.startsWith('_'),
          );
          const bare = asked.filter((field) => !indexed(detail, field));
          if (bare.length > 0)
            yield {
              message: `Row ${row.printed} asks ${detail.container.name} by ${bare.join(', ')}, which its policy doesn't index`,
              at: row.at,
              related: [facts.place(detail, 'indexingPolicy')],
            };
          const absent = asked.filter(
            (field) =>
              examples.length > 0 &&
              examples.every((example) => valueAt(example, field) === undefined) &&
              !/ttl|deleted/i.test(field),
          );
          if (absent.length > 0)
            yield {
              message: `Row ${row.printed} asks ${detail.container.name} by ${absent.join(', ')}, which no example has`,
              at: row.at,
              related: [detail.container.at],
            };
          const [, named] = /\btype\s*=\s*'([^']+)'/.exec(query.text) ?? [];
          if (named !== undefined && !detail.container.types.some(({ name }) => name === named))
            yield {
              message: `Row ${row.printed} asks ${detail.container.name} for type ${named}, of which there is no example`,
              at: row.at,
              related: [detail.container.at],
            };
        }
        const bareKey = detail.container.partitionKey.filter(
          (path) => path !== '/id' && !indexed(detail, path.slice(1).replaceAll('/', '.')),
        );
        if (bareKey.length > 0 && detail.container.indexingPolicy?.indexingMode !== 'none')
          yield {
            message: `${detail.container.name}: its policy doesn't index ${bareKey.join(', ')} of the partition key`,
            at: detail.index.included[0]?.at ?? facts.place(detail, 'indexingPolicy'),
            related: [facts.place(detail, 'partitionKey')],
            mend: `Include ${bareKey.map((path) => `\`${path}/?\``).join(', ')}: a key is indexed only where a path says so.`,
          };
        for (const { text, at } of detail.index.included) {
          const field = fieldOf(text);
          if (
            text !== '/*' &&
            examples.length > 0 &&
            !text.includes('"') &&
            !field.startsWith('_') &&
            examples.every((example) => valueAt(example, field.split('.')[0] ?? '') === undefined)
          )
            yield { message: `${detail.container.name} indexes ${text}, which no example has`, at };
        }
      }
      if (!known) yield missing('a query in the mapping');
    },
  },
  {
    id: 'E6',
    title: 'ORDER BY of two properties has a composite index',
    severity: 'error',
    source: POLICY,
    why: 'Without one the service refuses the query. Paths, their order and their directions are those of the ORDER BY, or all directions the opposite.',
    mend: 'Add the composite index.',
    needs: [DESIGN],
    *check(facts) {
      const all = facts.containers.flatMap((detail) => queriesOf(facts, detail).map((asked) => ({ detail, ...asked })));
      if (all.length === 0) {
        yield missing('a query in the mapping');
        return;
      }
      for (const { detail, row, query } of all) {
        if (query.order.length < 2) continue;
        const wanted = query.order.map(({ path, descending }) => ({
          path: `/${path.replaceAll('.', '/')}`,
          descending,
        }));
        const fits = detail.index.composites.some(({ paths }) =>
          [false, true].some(
            (turned) =>
              paths.length === wanted.length &&
              wanted.every(
                ({ path, descending }, index) =>
                  paths[index]?.path.replace(/\/[?*]$/, '') === path &&
                  (paths[index]?.order === 'descending') === (descending !== turned),
              ),
          ),
        );
        if (!fits)
          yield {
            message: `Row ${row.printed} orders ${detail.container.name} by ${wanted.map(({ path, descending }) => `${path}${descending ? ' DESC' : ''}`).join(', ')} without a composite index`,
            at: row.at,
            related: [...detail.index.composites.map(({ at }) => at), facts.place(detail, 'indexingPolicy')],
          };
      }
    },
  },
  {
    id: 'E7',
    title: 'ttl is a number of seconds, and the container has it switched on',
    severity: 'error',
    source: `${TTL}; the modelling prompt is wrong here`,
    why: 'ttl counts seconds since the last write: −1, or 1 to 2,147,483,647. A Unix time or an ISO string, as the prompt says, doesn’t work; and an item’s ttl counts only where the container has a default.',
    mend: 'Write seconds, and a default for the container: -1 where only some items expire.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const { container } = detail;
        const told = facts.labelled(detail, /^(default ?)?ttl|time to live|生存时间/i);
        if (
          container.defaultTtl !== undefined &&
          (container.defaultTtl === 0 || container.defaultTtl < -1 || container.defaultTtl > 2_147_483_647)
        )
          yield {
            message: `${container.name}: a TTL of ${n(container.defaultTtl)} s isn't −1 or 1 to 2,147,483,647`,
            at: facts.place(detail, 'defaultTtl'),
          };
        if (told && /unix|epoch|iso[ -]?8601|timestamp|\d{4}-\d\d-\d\d/i.test(told.text))
          yield { message: `${container.name}: ttl is a number of seconds, no point in time`, at: told.at };
        for (const { name, examples, at: place } of container.types) {
          const at = facts.example(
            examples.find((example) => 'ttl' in example && !lasting(example['ttl'])) ??
              examples.find((example) => 'ttl' in example),
            place,
          );
          const values = examples.flatMap((example) => ('ttl' in example ? [example['ttl']] : []));
          const wrong = values.find(
            (value) =>
              typeof value !== 'number' ||
              !Number.isInteger(value) ||
              value === 0 ||
              value < -1 ||
              value > 2_147_483_647,
          );
          if (wrong !== undefined)
            yield {
              message: `${container.name}: ttl ${JSON.stringify(wrong)} of a ${name} isn't −1 or 1 to 2,147,483,647 seconds`,
              at,
            };
          else if (values.some((value) => typeof value === 'number' && value > 1_000_000_000))
            yield {
              severity: 'warning',
              message: `${container.name}: a ttl of ${n(Number(values.find((value) => Number(value) > 1_000_000_000)))} s is over 31 years: is it a point in time?`,
              at,
            };
          if (values.length > 0 && container.defaultTtl === undefined)
            yield {
              message: `${container.name}: type ${name} has ttl, which does nothing while the container has no default TTL`,
              at,
            };
        }
      }
    },
  },
  {
    id: 'E8',
    title: 'Nothing relies on expired documents being gone at once',
    severity: 'warning',
    source: `${TTL}; the modelling prompt is wrong here`,
    why: 'An expired item is hidden at once and deleted in the background, with RU that are left over. Who counts on its bytes being gone within seconds, for security or for space, is wrong.',
    mend: 'Delete by a request, or encrypt by a key that is thrown away.',
    *check({ prose }) {
      const within =
        /\b(ttl|time to live|expir\w+)\b[^.;]{0,60}\b(physically|permanently|immediately|instantly|within (a few )?seconds|at once)\b[^.;]{0,30}\b(delet|remov|purg|gone|eras)/i;
      const removed =
        /\b(ttl|expir\w+)\b[^.;]{0,60}\b(delet|remov|purg|eras)\w*[^.;]{0,20}\b(within (a few )?seconds|immediately|instantly|physically|at once)\b/i;
      for (const { text, label, at } of prose) {
        const all = `${label ?? ''} ${text}`;
        if ((within.test(all) || removed.test(all)) && !/\b(not|never|later|hidden)\b/i.test(all))
          yield { message: 'An expired document is hidden at once, but deleted later, when RU are left over', at };
      }
    },
  },
];

const lasting = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value !== 0 && value >= -1;
