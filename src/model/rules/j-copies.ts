// J27 and J37: copies and views that go stale, or show what is gone.
import { type Annotations, fieldOf, same, sameField } from '../annotations/annotations.ts';
import {
  type Derived,
  type Form,
  RETRACTED,
  derivedIn,
  isRemoved,
  isSaidBeside,
  namesOf,
  plural,
} from '../annotations/derived.ts';
import { idOf } from '../annotations/known.ts';
import { accessesOf, hasPurpose, isEdit, isWriting, listed, outerOf, typeOf, typesOf } from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

/** Types that keep the state of their time, so that a copy in them is meant to stay. */
const keepsHistory = (annotations: Annotations, type: string | undefined): boolean =>
  hasPurpose(typeOf(annotations, type), 'event', 'log', 'audit', 'message', 'telemetry', 'result', 'token');

/** What was bought stays as it was bought. */
const PAST = /order|invoice|receipt|payment|purchase|transaction/i;

/** What `copyOf` says of fields without a `derived` of their own. */
function copiesIn(annotations: Annotations): Derived[] {
  const stated = derivedIn(annotations).filter(({ form }) => form === 'copy');
  const fields = typesOf(annotations).flatMap((type) =>
    type.fields.flatMap((field): Derived[] => {
      const [of = '', ...path] = field.copyOf?.split('.') ?? [];
      const known = annotations
        .of('derived')
        .some((one) => same(one.type, type.name) && one.field !== undefined && sameField(one.field, field.path));
      return field.copyOf === undefined || known || path.length === 0
        ? []
        : [
            {
              name: `${type.name}.${field.path}`,
              form: 'copy',
              type: type.name,
              field: field.path,
              of,
              keptBy: new Set(),
              onRepeat: false,
              onDelete: false,
              snapshot: false,
              places: [{ at: field.at }],
            },
          ];
    }),
  );
  return [...stated, ...fields];
}

/** A document that is there so that a value exists once isn't shown to anybody. */
const RESERVES = /reservation|reserved|pointer|look-?up|claim|unique|index|alias|mapping/i;

const FOLLOWS =
  /\b(?:re-?syn\w*|sync\w*|propagat\w*|refresh\w*|cascad\w*|follows?|back-?fill\w*|re-?nam\w*|(?:also |is |are )?updated? (?:when|if|on|by|with|whenever|all)|snapshot|at (?:the )?time)\b/i;

/** Whether a use writes the copy after the source changed, or a sentence beside the field's name says so. */
function isRefreshed(annotations: Annotations, { type, of, field = '' }: Derived): boolean {
  const inFlow = annotations
    .of('flow')
    .some(({ steps }) => [type, of].every((one) => steps.some((step) => same(step.type, one) && isEdit(step))));
  const set = annotations
    .of('access')
    .some((one) => same(one.type, type) && isEdit(one) && one.sets?.some((path) => sameField(path, field)));
  const last = field.replace('[]', '').split('.').at(-1) ?? '';
  const word = new RegExp(`\\b${last.replaceAll(/\W/g, '')}\\b`, 'i');
  const { lines } = annotations;
  const said = lines.some((line, index) => word.test(line) && FOLLOWS.test(`${line} ${lines[index + 1] ?? ''}`));
  return inFlow || set || (last.length > 4 && said);
}

function* stale(annotations: Annotations): Iterable<Found> {
  const open = copiesIn(annotations).filter((one) => {
    const holder = typeOf(annotations, one.type);
    const field = holder?.fields.find(({ path }) => one.field !== undefined && sameField(path, one.field));
    const isReference = field?.refersTo !== undefined || /(?:^|[._])ids?$|Ids?$/.test(one.field ?? '');
    const wholeViewKept = annotations
      .of('derived')
      .some(
        ({ type, field: part, form, keptBy }) =>
          (form === 'view' || (part === undefined && (form === 'copy' || form === 'replica'))) &&
          keptBy !== undefined &&
          same(type, one.type) &&
          (part === undefined || (one.field ?? '').startsWith(fieldOf(part))),
      );
    return (
      one.keptBy.size === 0 &&
      !one.snapshot &&
      !isReference &&
      !isRefreshed(annotations, one) &&
      !RESERVES.test(one.type ?? '') &&
      !isExisting(annotations, { type: one.type }) &&
      !wholeViewKept &&
      holder !== undefined &&
      one.field !== undefined &&
      one.of !== undefined &&
      !same(one.of, one.type) &&
      !PAST.test(one.type ?? '') &&
      !keepsHistory(annotations, one.type) &&
      !keepsHistory(annotations, one.of)
    );
  });
  if (open.length === 0) return;
  const bySource = [...Map.groupBy(open, ({ of }) => of)].map(
    ([of, all]) => `${namesOf(all)} ${plural(all, 'repeats', 'repeat')} values of ${of}`,
  );
  yield* hinted(
    together(
      open.flatMap(({ places }) => places),
      `${bySource.join(', ')}, and no place says whether ${plural(open, 'the copy follows', 'the copies follow')} when the source changes, and by what: documents that are already there go on showing the old value`,
    ),
    `State that ${namesOf(open)} ${plural(open, 'keeps', 'keep')} the value of ${plural(open, 'its', 'their')} time, or let a reader of the change feed of ${listed(open.map(({ of }) => annotations.containerOf({ type: of }) ?? of ?? ''))} write ${plural(open, 'it', 'them')} again.`,
  );
}

const SHOWING: ReadonlySet<Form> = new Set([
  'view',
  'cache',
  'search-index',
  'replica',
  'embedding',
  'counter',
  'aggregate',
]);

function* unseen(annotations: Annotations): Iterable<Found> {
  const byFeed = derivedIn(annotations).filter(
    ({ form, keptBy, onDelete, places }) =>
      SHOWING.has(form) && keptBy.has('change-feed') && !onDelete && !isSaidBeside(annotations, places, RETRACTED),
  );
  const removed = byFeed.filter(({ of, type }) => isRemoved(annotations, of) && !same(of, type));
  // A replica of which no source is named is of all that is there.
  const rest = byFeed.filter(({ of, form }) => of === undefined && (form === 'replica' || form === 'cache'));
  const all = removed.length > 0 ? [...removed, ...rest] : [];
  if (all.length === 0) return;
  const sources = listed(removed.map(({ of }) => of ?? ''));
  const feeds = annotations.of('access').filter(({ operation }) => operation === 'feed');
  yield* hinted(
    together(
      all.flatMap(({ places }) => places),
      `${namesOf(all)} ${plural(all, 'is', 'are')} kept by the change feed, and ${sources} can be deleted. The feed in its default mode has no deletes: what is deleted stays in ${namesOf(all)}, and nothing is said to remove it`,
      feeds.map(({ at }) => at),
    ),
    `Mark a deleted ${removed[0]?.of ?? 'document'} by a field and a \`ttl\` instead of deleting it, so that the feed shows the mark; or read the feed in the mode "all versions and deletes".`,
  );
}

/** What several sources share, as an entity that many texts mention: that one source no longer has it ends nothing. */
const isShared = (annotations: Annotations, type: string): boolean =>
  (typeOf(annotations, type)?.fields ?? []).some(
    ({ path, type: kind, grows }) =>
      (kind === 'array' || grows === true) && /evidence|sources?$|mention|occurrence|documents?$/i.test(path),
  ) ||
  derivedIn(annotations).some(
    (one) =>
      same(one.type, type) &&
      one.field !== undefined &&
      (one.form === 'counter' || one.form === 'aggregate') &&
      /mention|occurrence|sources?|uses?$/i.test(one.field),
  );

function* leftOver(annotations: Annotations): Iterable<Found> {
  const views = derivedIn(annotations).filter(
    ({ form, type, onDelete }) => form === 'view' && type !== undefined && !onDelete,
  );
  for (const flow of annotations.of('flow')) {
    const writes = flow.steps.filter(isWriting);
    const rebuilt = [
      ...new Set(writes.flatMap(({ operation, type }) => (operation === 'upsert' && type !== undefined ? [type] : []))),
    ];
    const isView = rebuilt.some((type) => views.some((view) => same(view.type, type) && view.field === undefined));
    const removes = rebuilt.some(
      (type) => isRemoved(annotations, type) || annotations.of('deletion').some((one) => same(one.type, type)),
    );
    const single = (type: string): boolean =>
      derivedIn(annotations).some(
        (one) =>
          same(one.type, type) && one.field === undefined && (one.form === 'aggregate' || one.form === 'counter'),
      );
    const many = rebuilt.filter((type) => !single(type) && !outerOf(annotations, type) && !isShared(annotations, type));
    if (!flow.many || !isView || removes || many.length === 0) continue;
    const of = listed(
      views.flatMap((view) => (view.of !== undefined && many.some((type) => same(type, view.type)) ? [view.of] : [])),
    );
    yield {
      message: `"${flow.name}" upserts ${listed(many)}, and nothing deletes ${plural(many, 'one', 'those')} that the ${of || 'source'} no longer has: after the next run ${listed(many)} of before are still there and are returned as if they were true`,
      at: flow.at,
      related: views
        .filter((view) => many.some((type) => same(type, view.type)))
        .flatMap(({ places }) => places.map(({ at }) => at)),
      hint: `Write the number of the run into each of ${listed(many)}, and delete those with an older one after the run has succeeded.`,
    };
    return;
  }
}

const AGAIN = /\bre-?(?:run|scan|process|generat|calculat|comput|build|import|index)|\brun (?:it )?again/i;
/** Which documents there are is what the run finds, and not one for each thing that it looks at. */
const FINDINGS =
  /signal|finding|alert|match|candidate|recommend|suggest|violation|anomal|conflict|duplicate|detection|issue/i;

/** A run that is repeated, and writes what it finds by ids that follow from it: what it finds no more stays. */
function* rerun(annotations: Annotations): Iterable<Found> {
  for (const flow of annotations.of('flow')) {
    if (flow.many !== true || !AGAIN.test(`${flow.name} ${flow.words} ${flow.recovery ?? ''}`)) continue;
    const types = flow.steps.flatMap(({ operation, type }) =>
      operation === 'upsert' && type !== undefined && FINDINGS.test(type) && !isShared(annotations, type) ? [type] : [],
    );
    for (const type of types) {
      const { from = [] } = idOf(annotations, type);
      const removes = isRemoved(annotations, type) || annotations.of('deletion').some((one) => same(one.type, type));
      const lists = accessesOf(annotations, type).filter(
        ({ operation, returns, equals }) =>
          operation === 'query' &&
          returns === 'list' &&
          from.some((field) => equals.some((one) => sameField(one, field))),
      );
      if (from.length < 2 || removes || lists.length === 0) continue;
      yield* hinted(
        together(
          [flow],
          `"${flow.name}" can be run again and upserts each ${type} by an id of ${listed(from)}. That makes no second one, but what the run finds no more stays: ${listed(lists.map(({ name }) => `"${name}"`))} then returns it beside the new ones`,
          lists.map(({ at }) => at),
        ),
        `Write the number of the run into each ${type}, and delete those of an earlier run of the same ${lists[0]?.equals[0] ?? 'scope'} when the run has succeeded.`,
      );
    }
  }
}

/** The uses that write many documents of a type whole, by a flow or again and again. */
function* overwritten(annotations: Annotations): Iterable<Found> {
  const runs = annotations
    .of('flow')
    .flatMap((flow) =>
      flow.many === true
        ? flow.steps.flatMap(({ operation, type }) =>
            operation === 'upsert' && type !== undefined ? [{ flow, type }] : [],
          )
        : [],
    );
  for (const [type, all] of Map.groupBy(runs, (run) => run.type)) {
    const edits = annotations
      .of('access')
      .filter(
        (one) =>
          same(one.type, type) &&
          isEdit(one) &&
          (one.sets?.length ?? 0) > 0 &&
          !all.some(({ flow }) => same(flow.name, one.name)),
      );
    if (edits.length === 0) continue;
    const fields = listed([...new Set(edits.flatMap(({ sets = [] }) => sets.map(fieldOf)))]);
    const names = listed([...new Set(edits.map(({ name }) => `"${name}"`))]);
    yield* hinted(
      together(
        all.map(({ flow }) => flow),
        `${listed([...new Set(all.map(({ flow }) => `"${flow.name}"`))])} upserts whole documents of ${type}, and ${names} set${new Set(edits.map(({ name }) => name)).size === 1 ? 's' : ''} ${fields} in them: when the run is repeated, it puts the values of before over what was entered since`,
        edits.map(({ at }) => at),
      ),
      `Let the run patch only what it works out itself and leave ${fields}, or keep ${fields} in a document of its own.`,
    );
  }
}

/** A reader of the feed that writes into what it reads. */
function* loops(annotations: Annotations): Iterable<Found> {
  const open = derivedIn(annotations).filter(
    ({ keptBy, of, type, onRepeat, field }) =>
      keptBy.has('change-feed') && field !== undefined && of !== undefined && same(of, type) && !onRepeat,
  );
  yield* hinted(
    together(
      open.flatMap(({ places }) => places),
      `The reader of the change feed writes ${namesOf(open)} into the same documents whose changes it reads: each of its writes is a change and comes back to it, and nothing is said to end that`,
    ),
    `Write ${namesOf(open)} into documents of another container or type, or let the reader leave out a document in which ${namesOf(open)} ${plural(open, 'belongs', 'belong')} to the version that it reads.`,
  );
}

export const COPIES: readonly Rule[] = [
  {
    id: 'J27',
    title: 'Copies follow their source, and views from the change feed lose what is deleted',
    severity: 'warning',
    source: SOURCES.feed,
    why: 'A copied name is old as soon as its source changes, unless something writes it again. What is derived by the change feed keeps deleted documents: the feed in its default mode has no deletes, nor what a TTL removes (ASM-A2). The rule accepts a copy that is said to keep the value of its time, any word on deletes, and what a projection of the document keeps.',
    hint: 'State what refreshes the copy, or that it keeps the value of its time; mark deleted documents by a field.',
    instead: ['D11', 'D21', 'F2'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (annotations.of('derived').length === 0 && copiesIn(annotations).length === 0)
        yield missing('a copy or a view');
      yield* stale(annotations);
      yield* unseen(annotations);
    },
  },
  {
    id: 'J37',
    title: 'A run that writes a view again removes what its source no longer has',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'An upsert replaces what is still there, and leaves the rest. After a file lost a part, and was read again, the part’s documents are as good as the others for each query. The rule takes uses that upsert many documents of a view, and runs that are repeated and write what they find, where no place deletes them. What several sources share is left out.',
    hint: 'Mark documents by the run that wrote them, and delete those of older runs.',
    instead: ['D21', 'F22'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (annotations.of('flow').length === 0) yield missing('a use that changes several documents');
      yield* leftOver(annotations);
      yield* rerun(annotations);
    },
  },
  {
    id: 'J35',
    title: 'A run that is repeated doesn’t overwrite what was entered in between',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'An upsert replaces the whole document. A second analysis of the same night writes its own results, and with them the empty fields in which people had written their verdict. The rule takes uses that upsert many documents of a type, and other accesses that set fields of the same type.',
    hint: 'Patch what the run works out, or keep what people enter in documents of their own.',
    instead: ['F22'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (annotations) yield* overwritten(annotations);
    },
  },
  {
    id: 'J32',
    title: 'A reader of the change feed doesn’t call itself',
    severity: 'warning',
    source: SOURCES.feed,
    why: 'Each write of a document is delivered by the feed, also one of the feed’s own reader (ASM-A2). A function that adds its result to the document that it was called for is called again for that, and pays for both. The rule takes data that the feed keeps in documents of the type that they follow from, and accepts any word that a repetition is safe.',
    hint: 'Write the result elsewhere, or leave out documents that have it.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (annotations) yield* loops(annotations);
    },
  },
];
