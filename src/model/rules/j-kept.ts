// J51 to J53: what is kept for ever on purpose, lifetimes that differ, and what is gone before it is needed.
import { type Annotation, type Annotations, same, sameField } from '../annotations/annotations.ts';
import { type Derived, derivedIn, namesOf, plural } from '../annotations/derived.ts';
import {
  type WholeType,
  accessesOf,
  article,
  hasPurpose,
  listed,
  outerOf,
  typeOf,
  typesOf,
} from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import type { Place } from '../model.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, n, together } from './rule.ts';

const ofType = (annotations: Annotations, type: WholeType): readonly Annotation<'retention'>[] =>
  annotations
    .of('retention')
    .filter((one) => (one.type === undefined ? same(one.container, type.container) : same(one.type, type.name)));

/** Documents whose use ends with a retry or a sign-in. The receipt of a purchase and the session of a chat are others. */
const isUsedUp = (type: WholeType): boolean =>
  hasPurpose(type, 'token', 'lease', 'cache') ||
  /idempoten|nonce|dedup|(?:command|request)[-_ ]?receipt|(?:login|sign-?in|auth)[-_ ]?session/i.test(type.name) ||
  (/receipt/i.test(type.name) &&
    (hasPurpose(type, 'log', 'job', 'event') || type.fields.some(({ path }) => /idempoten/i.test(path))));

/** Whether the deletion of something else, as of a person, is said to take these documents with it. */
const goesWith = (annotations: Annotations, type: WholeType): boolean =>
  annotations
    .of('deletion')
    .some((one) => !same(one.type, type.name) && one.also?.some((other) => same(other, type.name))) ||
  annotations
    .of('flow')
    .some(
      ({ steps }) =>
        steps.some((step) => step.operation === 'delete' && same(step.type, type.name)) &&
        steps.some((step) => step.operation === 'delete' && step.type !== undefined && !same(step.type, type.name)),
    );

function* forEver(annotations: Annotations): Iterable<Found> {
  const kept = typesOf(annotations).flatMap((type) => {
    const stated = ofType(annotations, type).filter(({ forever }) => forever === true);
    const personal = type.fields
      .filter(({ personal: is, path }) => is === true && !path.includes('['))
      .map(({ path }) => path);
    const grows = hasPurpose(
      type,
      'event',
      'log',
      'audit',
      'message',
      'telemetry',
      'session',
      'token',
      'job',
      'result',
    );
    const usedUp = isUsedUp(type);
    return stated.length > 0 && !isExisting(annotations, { type: type.name })
      ? [{ type, stated, personal: grows && !goesWith(annotations, type) ? personal : [], usedUp }]
      : [];
  });
  const persons = kept.filter(({ personal }) => personal.length > 0);
  yield* hinted(
    together(
      persons.flatMap(({ stated }) => stated),
      `${listed(persons.map(({ type, personal }) => `${type.name} (${listed(personal)})`))} ${plural(persons, 'is', 'are')} kept for ever, with data about persons: there are more every day, nothing ends their storage, and who wants to be forgotten stays in ${plural(persons, 'it', 'them')}`,
      persons.flatMap(({ type }) => type.places.slice(0, 1)),
    ),
    `State how long ${listed(persons.map(({ type }) => type.name))} ${plural(persons, 'is', 'are')} needed and set a \`ttl\` of that time; and name what deletes or blanks ${listed(persons.flatMap(({ personal }) => personal))} when the person is deleted.`,
  );
  const used = kept.filter(({ usedUp, personal }) => usedUp && personal.length === 0);
  yield* hinted(
    together(
      used.flatMap(({ stated }) => stated),
      `${listed(used.map(({ type }) => type.name))} ${plural(used, 'is', 'are')} kept for ever, though nobody needs one after its retry or sign-in is over: each request leaves one more, in a logical partition that takes no more writes at 20 GB`,
    ),
    `Give each ${listed(
      used.map(({ type }) => type.name),
      'or',
    )} a \`ttl\` that is longer than any retry, and state it.`,
  );
}

/** Of settings there are some dozens, deleted ones among them. */
const isFew = (type: WholeType): boolean =>
  hasPurpose(type, 'reference', 'audit', 'log') || /config|setting|template|role|categor|plan\b/i.test(type.name);

/** Documents that are marked as deleted and are said to stay, where nothing takes them away later. */
function* marked(annotations: Annotations): Iterable<Found> {
  const all = typesOf(annotations).flatMap((type) => {
    const stated = ofType(annotations, type);
    const soft = annotations.of('deletion').filter((one) => same(one.type, type.name));
    const forever = stated.filter(({ forever: is }) => is === true);
    const ends =
      stated.some(({ seconds, by }) => seconds !== undefined || by !== undefined) ||
      soft.some(({ way, restorable }) => way === 'hard' || restorable === true) ||
      annotations.of('access').some((one) => one.operation === 'delete' && same(one.type, type.name));
    return forever.length > 0 &&
      soft.length > 0 &&
      !ends &&
      !isFew(type) &&
      !isExisting(annotations, { type: type.name })
      ? [{ type, forever, soft }]
      : [];
  });
  yield* hinted(
    together(
      all.flatMap(({ forever }) => forever),
      `${listed(all.map(({ type }) => type.name))} ${plural(all, 'is', 'are')} only marked as deleted and ${plural(all, 'stays', 'stay')} for ever: each read goes on to skip what nobody wants any more, it is paid for, and the logical partition of its owner grows with it`,
      all.flatMap(({ soft }) => soft.map(({ at }) => at)),
    ),
    `Set a \`ttl\` together with the mark, as long as somebody may want it back; or state why ${listed(all.map(({ type }) => type.name))} must stay.`,
  );
}

const EXPIRY = /expir|valid_?(?:until|to)|(?:^|[._])ends?_?at$/i;
const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^s(?:ec(?:ond)?s?)?$/i, 1],
  [/^m(?:in(?:ute)?s?)?$/i, 60],
  [/^h(?:our)?s?$/i, 3600],
  [/^d(?:ay)?s?$/i, 86_400],
];

/** The seconds of a fact on how long something is valid. */
function secondsOf({ of, property, value, unit = '' }: Annotation<'fact'>): number | undefined {
  if (!/lifetime|valid|expir|time[- ]to[- ]live|age/i.test(`${property} ${of}`)) return undefined;
  const [, number, word] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)/i.exec(String(value)) ?? [];
  const size = UNITS.find(([form]) => form.test(word === '' || word === undefined ? unit : word))?.[1];
  return number === undefined || size === undefined ? undefined : Number(number) * size;
}

/** `lifetime` of OTP, and the type has `otp_code_hash`. */
const isOf = ({ of }: Annotation<'fact'>, type: WholeType): boolean =>
  same(of, type.name) ||
  of
    .toLowerCase()
    .split(/\W+/)
    .some((word) => word.length > 2 && type.fields.some(({ path }) => path.toLowerCase().split(/[_.]/).includes(word)));

/** Types that are valid for a shorter time than their TTL keeps them, where no read looks at the end of it. */
function* lifetimes(annotations: Annotations): Iterable<Found> {
  const ending = typesOf(annotations).flatMap((type) => {
    const field = type.fields.find(({ path }) => EXPIRY.test(path));
    const ttls = [
      ...annotations
        .of('container')
        .flatMap(({ container, ttl, at }) =>
          typeof ttl === 'number' && same(container, type.container) ? [{ seconds: ttl, at }] : [],
        ),
      ...ofType(annotations, type).flatMap(({ by, seconds, at, environment }) =>
        by === 'ttl' && seconds !== undefined && environment === undefined ? [{ seconds, at }] : [],
      ),
    ];
    return field && ttls.length > 0 ? [{ type, field, ttls }] : [];
  });
  for (const { type, field, ttls } of ending) {
    const lives = annotations.of('fact').flatMap((fact) => {
      const seconds = secondsOf(fact);
      return seconds !== undefined && isOf(fact, type) ? [{ seconds, at: fact.at }] : [];
    });
    const fields = ofType(annotations, type).flatMap(({ from, seconds, at }) =>
      from === 'field' && seconds !== undefined ? [{ seconds, at }] : [],
    );
    const all = [...lives, ...fields];
    const longest = Math.min(...ttls.map(({ seconds }) => seconds));
    const valid = Math.max(...all.map(({ seconds }) => seconds));
    const checked = accessesOf(annotations, type.name).some(
      ({ ranges = [], equals, sql = '' }) =>
        [...ranges, ...equals].some((path) => sameField(path, field.path)) || sql.includes(field.path),
    );
    if (all.length === 0 || checked || valid >= longest) continue;
    yield* hinted(
      together(
        [field, ...all, ...ttls],
        `${article(type.name).replace(/^a/, 'A')} is valid for ${n(valid)} s by ${field.path}, and its TTL keeps it for ${n(longest)} s; no read is said to compare ${field.path}: what is left to the TTL is accepted for ${n(longest - valid)} s too long`,
        accessesOf(annotations, type.name)
          .filter(({ operation }) => operation === 'query' || operation === 'point-read')
          .map(({ at }) => at),
      ),
      `Compare ${field.path} with the time now at each read of ${article(type.name)}, and take the TTL only to clear up; or set \`ttl\` to ${n(valid)}.`,
    );
  }
}

/** The TTL of a type, if every place that gives it one gives it the same sort. */
const ttlOf = (annotations: Annotations, type: WholeType): { seconds: number; at: Place } | undefined => {
  // Where some stay for ever, the time is that of drafts or of deleted ones, and what refers to the others keeps them.
  if (ofType(annotations, type).some(({ forever }) => forever === true)) return undefined;
  const container = annotations
    .of('container')
    .find(({ container: name, ttl }) => typeof ttl === 'number' && same(name, type.container));
  const stated = ofType(annotations, type).find(
    ({ seconds, environment }) => seconds !== undefined && environment === undefined,
  );
  const seconds = stated?.seconds ?? (typeof container?.ttl === 'number' ? container.ttl : undefined);
  const at = stated?.at ?? container?.at;
  return seconds === undefined || at === undefined ? undefined : { seconds, at };
};

/** References to documents that expire before those which hold them. */
function* outlived(annotations: Annotations): Iterable<Found> {
  for (const target of typesOf(annotations)) {
    const ttl = ttlOf(annotations, target);
    if (!ttl || hasPurpose(target, 'token', 'session', 'cache', 'lease', 'log', 'telemetry')) continue;
    const holders = typesOf(annotations).flatMap((type) => {
      const field = type.fields.find(({ refersTo }) => same(refersTo, target.name));
      const own = ttlOf(annotations, type);
      const copies = type.fields.some(({ copyOf = '' }) => same(copyOf.split('.')[0], target.name));
      const lasts = own === undefined || own.seconds > ttl.seconds;
      return field &&
        lasts &&
        !copies &&
        !same(type.name, target.name) &&
        !outerOf(annotations, type.name) &&
        !hasPurpose(type, 'log', 'audit', 'event', 'telemetry', 'message')
        ? [{ name: `${type.name}.${field.path}`, at: field.at }]
        : [];
    });
    yield* hinted(
      together(
        holders,
        `${target.name} expires after ${n(ttl.seconds)} s, and ${listed(holders.map(({ name }) => name))} ${plural(holders, 'stays', 'stay')} and ${plural(holders, 'has', 'have')} only its id: later nobody can tell what ${plural(holders, 'it was', 'they were')} about`,
        [ttl.at],
      ),
      `Copy what is needed of the ${target.name} into the documents that refer to it when they are written, or keep ${article(target.name)} as long as they are.`,
    );
  }
}

const YEAR = 365 * 86_400;

/** Counts over a list in documents of which only the newest elements stay. */
function* cut(annotations: Annotations): Iterable<Found> {
  for (const type of typesOf(annotations))
    for (const list of type.fields) {
      const max =
        list.max === undefined ? maximumOf(annotations, type.name, list.path) : { value: list.max, at: list.at };
      if (max === undefined || list.path.includes('[') || list.type === 'string') continue;
      const counts = accessesOf(annotations, type.name).filter(
        ({ returns, equals, ranges = [] }) =>
          returns === 'count' && [...equals, ...ranges].some((path) => path.startsWith(`${list.path}[`)),
      );
      yield* hinted(
        together(
          counts,
          `${listed([...new Set(counts.map(({ name }) => `"${name}"`))])} counts elements of ${type.name}.${list.path}, of which only ${n(max.value)} stay: after more of them the figure falls below what happened`,
          [max.at],
        ),
        `Count what was moved away too, or store the figure in the ${type.name} and raise it with each element.`,
      );
    }
}

const WHOLE_HISTORY = /\b(?:full|complete|entire) (?:data )?(?:retention|histor(?:y|ical))\b/i;

/** A history that is promised in full, of measurements that expire. */
function* promised(annotations: Annotations): Iterable<Found> {
  const lines = annotations.lines.flatMap((line, index) =>
    WHOLE_HISTORY.test(line) && !/\bno\b|\bnot\b/i.test(line)
      ? [{ at: { file: annotations.file, line: index + 1 } }]
      : [],
  );
  const ending = typesOf(annotations).flatMap((type) => {
    const stated = ofType(annotations, type).filter(({ by, seconds }) => by === 'ttl' && seconds !== undefined);
    const longest = Math.max(...stated.map(({ seconds = 0 }) => seconds));
    return stated.length > 0 && hasPurpose(type, 'telemetry', 'event', 'message') ? [{ type, stated, longest }] : [];
  });
  if (lines.length === 0 || ending.length === 0) return;
  const lasting = typesOf(annotations).filter((type) =>
    ofType(annotations, type).some(({ forever }) => forever === true),
  );
  yield* hinted(
    together(
      lines,
      `A full history is promised, and a TTL removes ${listed(ending.map(({ type, longest }) => `${type.name} after ${n(longest / 86_400)} days`))}: what is older has no data left${lasting.length > 0 ? `, though ${listed(lasting.map(({ name }) => name))} ${plural(lasting, 'stays', 'stay')} for ever` : ''}`,
      ending.flatMap(({ stated }) => stated.map(({ at }) => at)),
    ),
    `Keep a summary of each ${listed(ending.map(({ type }) => type.name))} before it expires (an average for each hour, or an archive), or write down how far back the history goes.`,
  );
}

/** "events in analytics of Student: 700" */
function maximumOf(annotations: Annotations, type: string, list: string): { value: number; at: Place } | undefined {
  const fact = annotations
    .of('fact')
    .find(
      ({ of, property, value, words }) =>
        typeof value === 'number' &&
        /max|trim|cap|limit/i.test(`${property} ${words}`) &&
        of.toLowerCase().split(/\W+/).includes(list.toLowerCase()) &&
        of.toLowerCase().includes(type.toLowerCase()),
    );
  return fact && { value: Number(fact.value), at: fact.at };
}

/** Figures that are counted again over documents of which the older ones are gone. */
function* trimmed(annotations: Annotations): Iterable<Found> {
  const figures = derivedIn(annotations).filter(
    (one) =>
      (one.form === 'counter' || one.form === 'aggregate') &&
      one.keptBy.has('query') &&
      !/last|latest|recent|today|day|week|month|current|active/i.test(one.name),
  );
  for (const all of Map.groupBy(figures, ({ of }) => of?.toLowerCase()).values()) {
    const [first] = all;
    const source = goneOf(annotations, first);
    if (!first || !source) continue;
    yield* hinted(
      together(
        all.flatMap(({ places }) => places),
        `${namesOf(all)} ${plural(all, 'is', 'are')} counted over ${first.of}, and ${source.why}: ${plural(all, 'the figure falls', 'the figures fall')} below what happened as soon as the first ones are gone`,
        [source.at],
      ),
      `Store ${namesOf(all)} and raise ${plural(all, 'it', 'them')} when ${article(first.of ?? '')} is written, or count what was moved away too.`,
    );
  }
}

function goneOf(annotations: Annotations, figure: Derived | undefined): { why: string; at: Place } | undefined {
  const source = figure?.of;
  if (source === undefined) return undefined;
  const outer = outerOf(annotations, source);
  const list = outer
    ? outer.field
    : typesOf(annotations)
        .flatMap(({ fields }) => fields)
        .find(({ path, max, type }) => same(path, source) && max !== undefined && type === 'array');
  if (list?.max !== undefined)
    return { why: `only the newest ${n(list.max)} of these stay in ${list.path}`, at: list.at };
  const archive = annotations.of('derived').find(({ form, of }) => form === 'archive' && same(of, source));
  if (archive) return { why: 'older ones are moved to an archive', at: archive.at };
  const whole = typeOf(annotations, source);
  const ttl = whole && ttlOf(annotations, whole);
  return ttl && ttl.seconds < YEAR && !hasPurpose(whole, 'session', 'cache', 'token', 'lease')
    ? { why: `these expire after ${n(ttl.seconds)} s`, at: ttl.at }
    : undefined;
}

export const KEPT: readonly Rule[] = [
  {
    id: 'J51',
    title: 'What is kept for ever holds nothing that should end',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A decision to keep everything answers how long, and not whether it is right. Records with addresses or health data of persons need a reason and an end. Receipts, keys of idempotency, tokens and sessions are used up after the longest retry or the sign-in, and then only cost storage. The rule takes types that a place says to keep for ever, also when they are only marked as deleted.',
    hint: 'State how long it is needed, and set a `ttl` of that time.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (!annotations.of('retention').some(({ forever }) => forever === true)) yield missing('what is kept for ever');
      yield* forEver(annotations);
      yield* marked(annotations);
    },
  },
  {
    id: 'J52',
    title: 'A TTL that is longer than something is valid doesn’t decide whether it is valid',
    severity: 'warning',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
    why: 'A code that is valid for three minutes, with a TTL of five, is found by reads for five. Only a comparison with its field for the end tells. The rule takes types with such a field and a TTL in seconds, where the text states a shorter time and no read compares the field.',
    hint: 'Compare the field at each read.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (annotations.of('retention').length === 0) yield missing('a retention');
      yield* lifetimes(annotations);
    },
  },
  {
    id: 'J53',
    title: 'Documents stay as long as what refers to them or is counted over them',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A TTL is set for one type, and others keep its id. A payment that has only the id of an offer which expired a day later can’t show what was bought. A figure that is counted at each read over a list of the newest 700 never passes 700. The rule takes references whose target has a TTL that is shorter than their own, where no field of the target is copied, and figures computed by a query over what expires, is moved or is trimmed.',
    hint: 'Copy what is needed, or keep the target as long.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      yield* outlived(annotations);
      yield* trimmed(annotations);
      yield* cut(annotations);
      yield* promised(annotations);
    },
  },
];
