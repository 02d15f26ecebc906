// E1 to E6: indexing policies.
import type { ContainerDetail, Text } from '../../documents.ts';
import { fixOfPath } from '../../fix.ts';
import type { SourceLine } from '../../model.ts';
import { fieldOf, isIndexed } from '../../indexed.ts';
import { declaredOf } from '../declared.ts';
import { type Facts, examplesIn, valueAt } from '../facts.ts';
import { type Found, type Rule, DESIGN, SOURCES, more, part, together } from '../rule.ts';
import { FENCE } from '../fenced.ts';

const POLICY = SOURCES.microsoft('Indexing policies in Azure Cosmos DB');

const list = (paths: readonly Text[]): string => paths.map(({ text }) => text).join(', ');
/** `Orders and 2 more: /storeId/*`: containers with one policy have their paths once. */
const ofPolicies = (all: readonly { readonly name: string; readonly paths: readonly Text[] }[]): string[] =>
  [...Map.groupBy(all, ({ paths }) => paths[0]?.at.line).values()].map((group) => {
    const paths = new Map(group.flatMap((one) => one.paths).map((path) => [path.text, path]));
    return `${group[0]?.name ?? ''}${more(group.length - 1)}: ${list([...paths.values()])}`;
  });

const stated = ({ index }: ContainerDetail): Text[] => [...index.included, ...index.excluded];
const queriesOf = ({ questions }: Facts, detail: ContainerDetail) =>
  questions
    .filter((question) => question.detail === detail)
    .flatMap(({ who, at, queries }) => queries.map((query) => ({ who, at, query })));

const indexed = ({ container }: ContainerDetail, path: string): boolean => isIndexed(container.indexingPolicy, path);

/** The line at or below a place that has the text; a policy's place is its first line. */
function lineWith({ design }: Facts, at: SourceLine, text: string): SourceLine {
  const offset = (design?.lines ?? []).slice((at.line ?? 1) - 1).findIndex((line) => line.includes(text));
  return { ...at, line: (at.line ?? 1) + Math.max(0, offset) };
}

/** A text doesn't show a longer policy whole. */
const POLICY_LINES = 30;

/** The lines `"includedPaths": [` of programs whose block has no root path. */
function loosePolicies({ design }: Facts): { readonly at: SourceLine }[] {
  const { lines = [], file = '' } = design ?? {};
  return lines.flatMap((text, index) => {
    const isLong = /["']?included_?paths["']?\s*[:=]\s*[[{]?\s*$/i.test(text);
    const isShort = /^\s*"excludedPaths"\s*:\s*\[\s*\{.*\}\s*\],?\s*$/.test(text);
    if (!isLong && !isShort) return [];
    const end = lines.findIndex((line, at) => at > index && FENCE.test(line));
    const begin = lines.slice(0, index).findLastIndex((line) => FENCE.test(line));
    const block = lines.slice(begin + 1, end < 0 ? index : end);
    // A policy that only excludes, in one line: its paths may end in `/*`.
    if (isShort)
      return end > index &&
        /"indexingMode"/.test(block.join('')) &&
        !/\.{3}|["']\/\*["']|includedPaths/.test(block.join('\n'))
        ? [{ at: { file, line: index + 1 } }]
        : [];
    const isWhole =
      end > index && block.some((line) => /\bpath\b/i.test(line)) && !block.some((line) => /\.{3}|\/\*/.test(line));
    return isWhole ? [{ at: { file, line: index + 1 } }] : [];
  });
}

/** What a query names, and no example has. */
interface Absent {
  readonly who: string;
  readonly at: SourceLine;
  readonly fields: readonly string[];
  readonly type: string | undefined;
}

/** One finding for a container: often its documents are shown elsewhere, or not at all. */
function* absentIn({ container }: ContainerDetail, all: readonly Absent[]): Iterable<Found> {
  const [first, ...others] = all;
  if (!first) return;
  const [fields, types] = [
    [...new Set(all.flatMap((one) => one.fields))],
    [...new Set(all.flatMap(({ type }) => type ?? []))],
  ];
  const said = [
    ...(fields.length > 0 ? [`by ${fields.join(', ')}`] : []),
    ...(types.length > 0 ? [`for type ${types.join(', ')}`] : []),
  ];
  const message = `${first.who}${more(others.length)} ${others.length === 0 ? 'queries' : 'query'} ${container.name} ${said.join(' and ')}, which no example has`;
  for (const found of together(all, message, [container.at]))
    yield { ...found, hint: 'Correct the name in the query, or add an example that has it.' };
}

/** A filter by what a function makes of a field; the index has the field's own values. */
const FUNCTION =
  /\b(?<name>LOWER|UPPER|TimestampToDateTime|DateTimeToTimestamp|DateTimePart|ABS|ROUND|FLOOR|CEILING|POWER|SQRT|TRIM|REVERSE|SUBSTRING|CONCAT)\s*\(\s*(?<field>[a-z]\w*\.[\w.]+)/i;

/** Filters that load every document which the other conditions leave (ASM-E119). */
function* byFunction({ questions }: Facts): Iterable<Found> {
  for (const { queries, who, at, detail } of questions)
    for (const { text } of queries) {
      const { name, field } = FUNCTION.exec(/\bWHERE\b.*/is.exec(text)?.[0] ?? '')?.groups ?? {};
      if (name !== undefined && field !== undefined)
        yield {
          message: `${who} filters ${detail.container.name} by ${name} of ${field.split('.').slice(1).join('.')}, which no index serves`,
          at,
          hint: 'Compare the field itself: work out the bound in the program, or store the value that queries need, such as the address in lower case.',
        };
    }
}

/** Endings of paths, and what a composite index has. */
function* endings(facts: Facts): Iterable<Found> {
  const tooWide: { readonly name: string; readonly paths: readonly Text[] }[] = [];
  for (const detail of facts.containers) {
    const examples = examplesIn(detail.container);
    const isScalar = ({ text }: Text): boolean => {
      const values = examples.map((example) => valueAt(example, fieldOf(text))).filter((value) => value !== undefined);
      return values.length > 0 && values.every((value) => typeof value !== 'object' || value === null);
    };
    const endless = stated(detail).filter(({ text }) => !/[?*]$/.test(text) && !text.includes('_etag'));
    const [bare, ...moreBare] = endless;
    if (bare)
      yield {
        severity: 'error',
        message: `${detail.container.name}: ${list(endless)} must end in /? or /*`,
        at: bare.at,
        related: moreBare.map(({ at }) => at),
        fixes: endless
          .filter(isScalar)
          .flatMap(({ text, at }) => fixOfPath(facts.design?.lines ?? [], at, text, `${text}/?`)),
      };
    const wide = detail.index.included.filter(
      (path) => path.text !== '/*' && path.text.endsWith('/*') && isScalar(path),
    );
    if (wide.length > 0) tooWide.push({ name: detail.container.name, paths: wide });
    for (const { paths, at } of detail.index.composites) {
      const element = paths.find(({ path }) => path.includes('[]'));
      if (element)
        yield {
          severity: 'error',
          message: `${detail.container.name}: a composite index has scalars only, and ${element.path} leads into an array`,
          at: lineWith(facts, at, element.path),
        };
      if (paths.some(({ path }) => /[?*]$/.test(path)))
        yield {
          severity: 'error',
          message: `${detail.container.name}: a path of a composite index ends in /? or /*; it must have no ending`,
          at,
          fixes: paths
            .filter(({ path }) => /\/[?*]$/.test(path))
            .flatMap(({ path }) => fixOfPath(facts.design?.lines ?? [], at, path, path.slice(0, -2))),
        };
      const arrays = new Set([
        ...paths.flatMap(({ path }) =>
          examples.some((example) => Array.isArray(valueAt(example, path))) ? [path] : [],
        ),
        ...(facts.design ? declaredOf(facts.design, detail) : []).flatMap(({ field, array }) =>
          array && paths.some(({ path }) => path === `/${field}`) ? [`/${field}`] : [],
        ),
      ]);
      if (arrays.size > 0)
        yield {
          severity: 'error',
          message: `${detail.container.name}: a composite index has scalars only, and ${[...arrays].join(', ')} is an array`,
          at,
          hint: 'Leave the array out: a range index of its elements serves ARRAY_CONTAINS.',
        };
      if (paths.length < 2 || paths.length > 8)
        yield {
          severity: 'error',
          message: `${detail.container.name}: a composite index has two to eight paths, but this one has ${paths.length}`,
          at,
        };
    }
  }
  const scalars = tooWide.flatMap(({ paths }) => paths);
  yield* together(
    scalars,
    `${ofPolicies(tooWide).join('; ')} ${scalars.length === 1 ? 'is a scalar' : 'are scalars'}; ${scalars[0]?.text.slice(0, -1) ?? ''}? is enough`,
  );
}

export const INDEXES: readonly Rule[] = [
  {
    id: 'E2',
    title: 'An indexing policy names /* exactly once',
    source: POLICY,
    why: 'The root path is either in the included or in the excluded paths. The service refuses a policy without it. A policy with the path in both lists contradicts itself.',
    hint: 'Exclude `/*` for a selective index. Include it for a full index.',
    needs: [DESIGN],
    *check(facts) {
      const rootless: { readonly name: string; readonly at: SourceLine; readonly paths: readonly SourceLine[] }[] = [];
      for (const detail of facts.containers) {
        const [first] = stated(detail);
        if (!first) continue;
        const roots = stated(detail).filter(({ text }) => text === '/*').length;
        if (
          roots === 0 &&
          (detail.index.included.length > 0 ||
            (detail.index.json && detail.index.excluded.some(({ text }) => !text.includes('_etag'))))
        )
          rootless.push({
            name: detail.container.name,
            at: detail.index.excluded[0]?.at ?? facts.place(detail, 'indexingPolicy'),
            // The root belongs into one of the lists, so their lines are places of the finding too.
            paths: [
              facts.place(detail, 'indexingPolicy'),
              ...['ncluded', 'xcluded'].map((kind) =>
                lineWith(facts, facts.place(detail, 'indexingPolicy'), `${kind}Paths`),
              ),
              ...stated(detail).map(({ at }) => at),
            ],
          });
        if (roots > 1)
          yield {
            message: `${detail.container.name}: the policy names /* ${roots} times`,
            at: facts.place(detail, 'indexingPolicy'),
          };
      }
      // A policy in a program may name no container.
      const known = facts.containers.flatMap((detail) => stated(detail).map(({ at }) => at.line));
      yield* together(
        loosePolicies(facts).filter(
          ({ at }) => !known.some((line) => line >= at.line && line < at.line + POLICY_LINES),
        ),
        'The policy neither includes nor excludes /*',
      );
      const [one] = rootless;
      const names = [...new Set(rootless.map(({ name }) => name))];
      if (one)
        yield {
          message: `${names.join(', ')}: the policy neither includes nor excludes /*`,
          at: one.at,
          related: rootless.flatMap(({ at, paths }) => [at, ...paths]).filter(({ line }) => line !== one.at.line),
        };
    },
  },
  {
    id: 'E3',
    title: 'Index paths are legal: /[]/ for elements of an array, an ending /? or /*, and none in a composite index',
    source: POLICY,
    why: '`/a/*/b/?` isn’t a valid path. The path of array elements is `/a/[]/b/?`. The service refuses a path without an ending. `/name/*` also works for a scalar, but indexes everything below it too. A composite index has two to eight paths, which have no ending and lead to scalars (ASM-E102).',
    hint: 'Write `[]` for the elements of an array.',
    needs: [DESIGN],
    *check(facts) {
      yield* part(endings(facts), 'warning', 'Write `/name/?`. In a composite index write `/name`.');
      for (const detail of facts.containers) {
        const invalid = stated(detail).filter(({ text }) => /\*(?!$)/.test(text) || /\[\d+\]/.test(text));
        const [first] = invalid;
        if (first)
          yield {
            message: `${detail.container.name}: ${list(invalid)} ${invalid.length === 1 ? "isn't a valid index path" : "aren't valid index paths"}`,
            at: first.at,
            related: invalid.slice(1).map(({ at }) => at),
            fixes: invalid.flatMap(({ text, at }) => {
              const right = text.replaceAll(/\*(?!$)|\[\d+\]/g, '[]');
              const [array = ''] = right.split('/[]');
              // Below an object `*` means its names, which no path can leave open.
              return examplesIn(detail.container).some((example) => Array.isArray(valueAt(example, array)))
                ? fixOfPath(facts.design?.lines ?? [], at, text, right)
                : [];
            }),
            hint: `Write ${first.text.replaceAll(/\*(?!$)|\[\d+\]/g, '[]')}.`,
          };
        // A path into an array without `[]` matches no property.
        const into = stated(detail).filter((path) => {
          const steps = fieldOf(path.text).split('.');
          return (
            !path.text.includes('[]') &&
            !invalid.includes(path) &&
            examplesIn(detail.container).some((example) =>
              steps
                .slice(0, -1)
                .some((_, index) => Array.isArray(valueAt(example, steps.slice(0, index + 1).join('/')))),
            )
          );
        });
        const [inside] = into;
        if (inside)
          yield {
            message: `${detail.container.name}: ${list(into)} ${into.length === 1 ? 'goes' : 'go'} into an array, but ${into.length === 1 ? 'has' : 'have'} no /[]/`,
            at: inside.at,
            related: into.slice(1).map(({ at }) => at),
          };
      }
    },
  },
  {
    id: 'E5',
    title: 'Every property that queries filter or sort by exists and is indexed',
    severity: 'warning',
    source: POLICY,
    why: 'A filter without an index reads documents to check them; so does one by what a function makes of a field, such as `LOWER(c.email) = @e`. With `/*` excluded, this also applies to the partition key. If no example has a property, the query or the example has a mistake.',
    hint: 'Include the path in the policy, or correct the name of the property.',
    needs: [DESIGN],
    *check(facts) {
      yield* byFunction(facts);
      for (const detail of facts.containers) {
        const examples = examplesIn(detail.container);
        const complete = examples.length > 0 && detail.container.partialExamples === undefined;
        const absent: Absent[] = [];
        for (const { who, at: place, query } of queriesOf(facts, detail)) {
          const asked = [...new Set([...query.filters, ...query.order.map(({ path }) => path)])].filter(
            (field) => field !== 'id' && !field.startsWith('_'),
          );
          const bare = asked.filter((field) => !indexed(detail, field));
          if (bare.length > 0)
            yield {
              message: `${who} queries ${detail.container.name} by ${bare.join(', ')}, which its policy doesn't index`,
              at: place,
              related: [facts.place(detail, 'indexingPolicy')],
            };
          const fields = asked.filter(
            (field) =>
              complete &&
              examples.every((example) => valueAt(example, field) === undefined) &&
              !/ttl|deleted/i.test(field),
          );
          const [, named] = /\btype\s*=\s*'([^']+)'/.exec(query.text) ?? [];
          const isShown = examples.length === 0 || detail.container.types.some(({ name }) => name === named);
          if (fields.length > 0 || (named !== undefined && !isShown))
            absent.push({ who, at: place, fields, type: isShown ? undefined : named });
        }
        yield* absentIn(detail, absent);
        const bareKey = detail.container.partitionKey.filter(
          (path) => path !== '/id' && !indexed(detail, path.slice(1).replaceAll('/', '.')),
        );
        // A policy without the root isn't one yet (E2).
        const isWhole = !detail.index.json || stated(detail).some(({ text }) => text === '/*');
        if (bareKey.length > 0 && isWhole && detail.container.indexingPolicy?.indexingMode !== 'none')
          yield {
            message: `${detail.container.name}: the policy doesn't index ${bareKey.join(', ')} of the partition key`,
            at: detail.index.included[0]?.at ?? facts.place(detail, 'indexingPolicy'),
            related: [facts.place(detail, 'partitionKey')],
            hint: `Include ${bareKey.map((path) => `\`${path}/?\``).join(', ')}: with /* excluded, the key needs its own path.`,
          };
        const unknown = detail.index.included.filter(({ text, at }) => {
          const field = fieldOf(text);
          // The policy may be of several containers; it needs only one of them to have the field.
          const elsewhere = facts.containers.some(
            (other) =>
              other !== detail &&
              other.index.included.some((path) => path.at.line === at.line) &&
              examplesIn(other.container).some((example) => valueAt(example, field.split('.')[0] ?? '') !== undefined),
          );
          return (
            !elsewhere &&
            text !== '/*' &&
            complete &&
            !text.includes('"') &&
            !field.startsWith('_') &&
            examples.every((example) => valueAt(example, field.split('.')[0] ?? '') === undefined)
          );
        });
        const [odd, ...others] = unknown;
        if (odd)
          yield {
            message: `${detail.container.name} indexes ${list(unknown)}, which no example has`,
            at: odd.at,
            related: others.map(({ at }) => at),
          };
      }
    },
  },
  {
    id: 'E6',
    title: 'Every ORDER BY of several properties has a composite index',
    source: POLICY,
    why: 'The service refuses the query without such an index. The index has the same paths as the ORDER BY, in the same order and with the same directions, or with all directions reversed.',
    hint: 'Add the composite index to the policy.',
    needs: [DESIGN],
    *check(facts) {
      const all = facts.containers.flatMap((detail) => queriesOf(facts, detail).map((asked) => ({ detail, ...asked })));
      for (const { detail, who, at: place, query } of all) {
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
            message: `${who} orders ${detail.container.name} by ${wanted.map(({ path, descending }) => `${path}${descending ? ' DESC' : ''}`).join(', ')} without a composite index`,
            at: place,
            related: [...detail.index.composites.map(({ at }) => at), facts.place(detail, 'indexingPolicy')],
          };
      }
    },
  },
];
