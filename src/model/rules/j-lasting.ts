// J21: documents that accumulate and stay for ever.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { type Purpose, type WholeType, hasPurpose, listed, outerOf, typesOf } from '../annotations/merged.ts';
import { isExisting, neighbours } from '../annotations/scale.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

/** Types of which there are more every day. */
export const ACCUMULATING: readonly Purpose[] = [
  'event',
  'log',
  'audit',
  'message',
  'telemetry',
  'session',
  'token',
  'cache',
  'job',
  'result',
];
/** Names of stores that aren't containers of Cosmos DB. */
const ELSEWHERE = /redis|blob|browser|local ?storage|queue|topic|event ?hub|in[- ]?memory/i;
/** Keys with one value for very many documents. */
const WIDE = /tenant|org|account|customer|region|type|status|cluster|domain|site|project|date|day|month/i;

/** "Historical data is archived": of no type, after no time. */
const isVague = ({ type, container, seconds, forever }: Annotation<'retention'>): boolean =>
  type === undefined && container === undefined && seconds === undefined && forever === undefined;

/** "How long the audit stays is for a later specification": the open point is known. */
const isPostponed = (annotations: Annotations, type: WholeType): boolean =>
  annotations.planned.some(
    (one) =>
      one.kind === 'retention' &&
      (one.type === undefined ? same(one.container, type.container) : same(one.type, type.name)) &&
      /\bTBD\b|to be (?:decided|defined|determined)|polic(?:y|ies)\b/i.test(one.words),
  );

/** The text counts them for a year, and they are few: a long history costs little. */
const isLittle = (annotations: Annotations, type: WholeType): boolean =>
  annotations
    .of('scale')
    .some(
      ({ type: name, documents, words }) =>
        same(name, type.name) &&
        documents !== undefined &&
        documents <= 100_000 &&
        /(?:\/|\bper |\ba |\beach )(?:year|season)\b/i.test(words),
    ) && !type.fields.some(({ large, grows }) => large === true || grows === true);

/** "Immutable once written (a historical snapshot)": it is to stay. */
const isHistory = (annotations: Annotations, type: WholeType): boolean =>
  hasPurpose(type, 'result', 'state', 'telemetry') &&
  annotations.lines.some(
    (line) =>
      /\bhistorical (?:snapshot|record)s?\b/i.test(line) && /\bimmutable\b|\bkept\b|\bpreserv|\bretain/i.test(line),
  ) &&
  /snapshot|histor/i.test(type.name);

const isHandled = (annotations: Annotations, type: WholeType): boolean =>
  isPostponed(annotations, type) ||
  isLittle(annotations, type) ||
  isHistory(annotations, type) ||
  annotations
    .of('retention')
    .some((one) =>
      one.type === undefined
        ? one.container === undefined
          ? !isVague(one)
          : same(one.container, type.container)
        : same(one.type, type.name),
    ) ||
  annotations.of('container').some(
    (one) =>
      same(one.container, type.container) &&
      one.ttl !== undefined &&
      // Off on purpose is a decision, except for what has an end by its nature.
      (one.ttl !== 'off' || !hasPurpose(type, 'cache', 'token', 'session')),
  ) ||
  annotations.of('derived').some(({ form, of, type: own }) => form === 'archive' && same(of ?? own, type.name)) ||
  type.fields.some(({ path }) => path === 'ttl');

/**
 * Whether the text bounds these documents themselves, or sets a limit of the container. That it has few documents today is
 * no bound of those which come every day.
 */
const isLimited = (annotations: Annotations, { name, container }: WholeType): boolean =>
  annotations
    .of('scale')
    .some(
      (one) =>
        one.users === 1 ||
        (one.bounded === true &&
          ((one.within === undefined && same(one.type, name)) ||
            (one.type === undefined &&
              same(one.container, container) &&
              one.documents !== undefined &&
              /limit|reject|exceed|at most|max|up to|bounded by|never more/i.test(one.words)))),
    );

/** There is one such document, so none is added each day. */
const isSingle = (annotations: Annotations, type: WholeType): boolean =>
  annotations.of('id').some(({ type: name, constant }) => constant === true && same(name, type.name));

/** A counter for each day or window: rate limits, daily figures. */
const isOfTime = (annotations: Annotations, type: WholeType): boolean =>
  hasPurpose(type, 'counter') &&
  (annotations.of('keyValue').some((one) => same(one.container, type.container) && one.byTime === true) ||
    annotations
      .of('id')
      .some(
        ({ type: name, from = [] }) =>
          same(name, type.name) && from.some((field) => /date|day|month|hour|window/i.test(field)),
      ));

function* staying(annotations: Annotations): Iterable<Found> {
  const open = typesOf(annotations).filter(
    (type) =>
      (hasPurpose(type, ...ACCUMULATING) || isOfTime(annotations, type)) &&
      (type.container !== undefined || annotations.containers.length === 0) &&
      !ELSEWHERE.test(type.container ?? '') &&
      !outerOf(annotations, type.name) &&
      !isExisting(annotations, { type: type.name }) &&
      !isLimited(annotations, type) &&
      !isSingle(annotations, type) &&
      !isHandled(annotations, type),
  );
  if (open.length === 0) return;
  const names = open.map(
    ({ name, purposes }) =>
      `${name} (${[...purposes].filter((one) => ACCUMULATING.includes(one)).join(', ') || 'counter of a time'})`,
  );
  const off = annotations
    .of('container')
    .filter(({ container, ttl }) => ttl === 'off' && open.some((type) => same(type.container, container)));
  const wide = open.flatMap(({ container }) => {
    const key = annotations.keyOf(container) ?? [];
    const values = annotations.of('keyValue').filter((one) => same(one.container, container));
    const made = [...key, ...values.flatMap(({ from = [] }) => from)];
    const few = values.some(({ distinct }) => distinct === 'one' || distinct === 'few');
    const wideFields = made.map(fieldOf).filter((one) => WIDE.test(one) && one !== 'partitionKey');
    return container !== undefined && key.length > 0 && (few || wideFields.length > 0)
      ? [`${container} by ${listed(wideFields.length > 0 ? wideFields : key)}`]
      : [];
  });
  const partition =
    wide.length === 0 ? '' : `, and a logical partition of ${listed(wide)} takes no more writes when it has 20 GB`;
  yield* hinted(
    together(
      open.flatMap(({ places }) => places.slice(0, 3).map((at) => ({ at }))),
      `Nothing removes or archives ${listed(names)}${off.length > 0 ? `, and the TTL of ${listed(off.map(({ container }) => container))} is off` : ''}. There are more of them every day: storage, its price and the cost of queries grow without an end${partition}`,
      [...off, ...annotations.of('retention').filter((one) => isVague(one) && one.by !== undefined)].map(
        ({ at }) => at,
      ),
    ),
    remedyOf(annotations, open),
  );
}

/** A TTL of a container removes all that is in it, so it is named only where nothing else is there. */
function remedyOf(annotations: Annotations, open: readonly WholeType[]): string {
  const alone = open.filter(
    ({ name, container }) =>
      container !== undefined &&
      neighbours(annotations, name).every((other) => open.some((one) => same(one.name, other))),
  );
  const mixed = open.filter((type) => !alone.includes(type));
  const parts = [
    ...(alone.length > 0 ? [`give ${listed(alone.map(({ container, name }) => container ?? name))} a TTL`] : []),
    ...(mixed.length > 0
      ? [
          `set the default TTL ${mixed.some(({ container }) => container !== undefined) ? `of ${listed(mixed.map(({ container, name }) => container ?? name))} ` : ''}to -1 and write a \`ttl\` into each ${listed(
            mixed.map(({ name }) => name),
            'or',
          )} when it is done, as other documents are there which stay`,
        ]
      : []),
  ].join('; ');
  return `${parts.charAt(0).toUpperCase()}${parts.slice(1)}; or state where old ones are archived, or that they stay for ever and why.`;
}

export const LASTING: readonly Rule[] = [
  {
    id: 'J21',
    title: 'Documents that accumulate have an end: a TTL, an archive, or a word that they stay',
    severity: 'warning',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
    why: 'Events, logs, messages, sessions, tokens, jobs and results become more every day. Without an end each query and each month costs more, and a logical partition ends at 20 GB (ASM-E121). To add a TTL later is easy; to delete years of documents then costs RU. The rule takes the purposes of types, and is silent for a type whose retention any place states, "for ever" among it, and a TTL that is off on purpose, except for caches, tokens and sessions.',
    hint: 'Give the containers a TTL, or state where old documents are archived, or that they stay for ever and why.',
    instead: ['B23', 'B25', 'F16', 'F17'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (!typesOf(annotations).some((type) => hasPurpose(type, 'counter', ...ACCUMULATING)))
        yield missing('a type whose documents accumulate');
      yield* staying(annotations);
    },
  },
];
