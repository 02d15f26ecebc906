// J25: uses that change several documents which no transaction can cover, and that nothing completes.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import { HARMLESS, isSaidBeside } from '../annotations/derived.ts';
import { hasPurpose, isWriting, listed, typeOf } from '../annotations/merged.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

type Flow = Annotation<'flow'>;

interface Open {
  readonly flow: Flow;
  readonly cause: 'containers' | 'keys' | 'many' | 'outside' | 'apart';
  readonly what: readonly string[];
  readonly containers: readonly string[];
}

/** Data that a queue or the feed delivers again until they are written. */
const redelivered = (annotations: Annotations, type: string | undefined): boolean =>
  annotations
    .of('derived')
    .some(
      ({ type: own, keptBy }) =>
        type !== undefined && same(own, type) && (keptBy === 'change-feed' || keptBy === 'queue'),
    );

/** Steps that have an effect elsewhere. A cache is filled again from Cosmos DB, and a mail is asked for again. */
const EFFECTS: ReadonlySet<string> = new Set(['queue', 'blob', 'search index', 'database', 'payment']);

/**
 * The steps outside Cosmos DB that a failure leaves apart. Files matter where they are deleted with the document: a file
 * that is written before its document does no harm.
 */
const outsideOf = ({ name, steps }: Flow): string[] =>
  steps.flatMap(({ outside }, index) => {
    // An archive is written before its document is deleted: whoever repeats it finds the document still there.
    const archives = /archiv|export|cold/i.test(name) && steps.slice(index).some(isDelete);
    return outside === undefined || !EFFECTS.has(outside) || (outside === 'blob' && (archives || !steps.some(isDelete)))
      ? []
      : [outside];
  });

const isDelete = ({ operation }: Flow['steps'][number]): boolean => operation === 'delete';

const LINES = /audit|log(?!in)|history|telemetry|metric|trace/i;
/** A name that says it without a purpose. */
const LINE = /^(?:deletion|erasure|audit|log) ?(?:events?|records?|entry|entries|lines?)$/i;

/** A document in which a process says that it lives. */
export const HEARTBEAT = /(?:^|[._])last_?heart_?beat|^heart_?beat/i;

/** How many uses create documents of a type. */
const createdBy = (annotations: Annotations, type: string | undefined): number =>
  new Set(
    [
      ...annotations
        .of('flow')
        .filter(({ steps }) => steps.some((step) => step.operation === 'create' && same(step.type, type))),
      ...annotations.of('access').filter((one) => one.operation === 'create' && same(one.type, type)),
    ].map(({ name }) => name.toLowerCase()),
  ).size;

/**
 * A step whose loss leaves the others right: a line of a log, and the removal of what a TTL removes anyhow.
 */
function isMinor(annotations: Annotations, { operation, type }: Flow['steps'][number]): boolean {
  const whole = typeOf(annotations, type);
  if (LINE.test(type ?? '')) return true;
  if (LINES.test(type ?? '') && hasPurpose(whole, 'log', 'telemetry', 'audit', 'event')) return true;
  // A session that is missing is made by the next sign-in, and the next heartbeat writes the state of a process.
  if (operation === 'create' && hasPurpose(whole, 'session', 'token', 'cache', 'lease'))
    return createdBy(annotations, type) > 1;
  if (whole?.fields.some(({ path }) => HEARTBEAT.test(path))) return operation !== 'delete';
  return (
    operation === 'delete' &&
    whole !== undefined &&
    annotations.all.some(
      (one) =>
        (one.kind === 'container' && same(one.container, whole.container) && typeof one.ttl === 'number') ||
        (one.kind === 'retention' && same(one.type, whole.name) && one.by === 'ttl'),
    )
  );
}

/** Why no transaction covers a flow. Undefined: one may, or the text says too little. */
function openOf(annotations: Annotations, flow: Flow): Open | undefined {
  const writes = flow.steps.filter((step) => isWriting(step) && !isMinor(annotations, step));
  const containers = [...new Set(writes.flatMap((step) => annotations.containerOf(step) ?? []))];
  const outside = outsideOf(flow);
  const types = [...new Set(writes.flatMap((step) => step.type ?? step.container ?? []))];
  const open = (cause: Open['cause']): Open => ({ flow, cause, what: [...types, ...outside], containers });
  if (writes.some(({ type }) => redelivered(annotations, type))) return undefined;
  const apart = (): Open['cause'] | undefined => {
    // A sweep that changes each document alone is completed by the next one.
    if (types.length < 2 && new Set(writes.map(({ operation }) => operation)).size < 2) return undefined;
    if (containers.length > 1) return 'containers';
    const byId = annotations.keyOf(containers[0])?.join() === '/id';
    if (flow.sameKey === false || (byId && types.length > 1)) return 'keys';
    if (flow.many) return 'many';
    // One batch could hold them, and the text says that they are written one after another.
    return flow.sameKey === true && flow.together === undefined && types.length > 1 ? 'apart' : undefined;
  };
  const cause = apart() ?? (outside.length > 0 && writes.length > 0 ? 'outside' : undefined);
  return cause && open(cause);
}

const REPAIRS: ReadonlySet<Flow['together']> = new Set(['change-feed', 'outbox', 'saga', 'idempotent-retry', 'other']);

function whyOf({ cause, containers, flow }: Open): string {
  const transaction = flow.together === 'stored-procedure' ? 'a stored procedure' : 'a batch';
  if (cause === 'outside')
    return 'no transaction covers Cosmos DB and another store, and nothing is said to complete the second write: if the program stops in between, or the second write fails, one side has it and the other never hears of it';
  const where =
    cause === 'containers'
      ? `they are in the containers ${listed(containers)}`
      : cause === 'keys'
        ? `they have different values of the partition key${containers[0] === undefined ? '' : ` in ${containers[0]}`}`
        : `there is an open number of them, and a batch has at most 100 operations`;
  if (cause === 'apart')
    return `they have one value of the partition key, and no batch holds them together: a failure in between leaves the first without the others, and nothing is said to complete them`;
  if (flow.together !== undefined)
    return `${transaction} is said to hold them together, but ${where}: ${cause === 'many' ? 'a larger one is refused as a whole' : 'a transaction has one container and one value of the partition key'}`;
  const many = flow.many && cause !== 'many' ? ', and there is an open number of them' : '';
  return `${where}${many}, so no transaction covers them, and nothing is said to complete or undo what a failure in between leaves half done`;
}

/** Flows over the same containers that share documents are steps or forms of one use. */
function grouped(open: readonly Open[]): Open[][] {
  const groups: Open[][] = [];
  for (const one of open.toSorted((a, b) => b.what.length - a.what.length)) {
    const group = groups.find(
      ([first]) =>
        first &&
        first.cause === one.cause &&
        first.flow.together === one.flow.together &&
        first.containers.toSorted().join() === one.containers.toSorted().join() &&
        one.what.filter((type) => first.what.includes(type)).length > 1,
    );
    if (group) group.push(one);
    else groups.push([one]);
  }
  return groups;
}

const quotedNames = (flows: readonly Open[]): string => listed([...new Set(flows.map(({ flow }) => `"${flow.name}"`))]);

/** Words beside a use that name what completes it. */
const COMPLETED = /(?<!\bno |\bwithout |\bwithout (?:any|an?) )\b(?:reconcil\w*|compensat\w*|outbox|saga)\b/i;

/** A batch that another place names for the same documents: the document's way to write them. */
const isBatched = (annotations: Annotations, { what }: Open): boolean =>
  annotations
    .of('flow')
    .some(
      ({ together: by, steps }) =>
        (by === 'batch' || by === 'stored-procedure') &&
        what.every((type) => steps.some((step) => same(step.type, type))),
    );

/** A sentence on all uses of this sort: "changes across entities are orchestrated by a saga". */
const ALL_USES =
  /\b(?:cross|multi|across)[- ](?:\w+[- ])?(?:entit\w*|containers?|partitions?|documents?)\b|\b(?:all|every|each) (?:\w+ )?(?:workflows?|operations?|multi-step)\b/i;

/** An engine that goes on after a stop where it was. */
const RESUMES =
  /\bdurable (?:functions?|orchestrat\w+|tasks?|entit\w+)|\borchestrator\b|\btemporal (?:workflow|activit)|\bstep functions\b|\bworkflow engine\b/i;

function* findings(annotations: Annotations, outside: boolean): Iterable<Found> {
  const stated = annotations.lines.some((line) => ALL_USES.test(line) && COMPLETED.test(line));
  if (stated && !outside) return;
  // A flow stands in several places; a repair that one of them names is there for all.
  const all = annotations.of('flow');
  const repaired = ({ name }: Flow): boolean =>
    all.some(
      (one) =>
        same(one.name, name) &&
        (REPAIRS.has(one.together) ||
          one.recovery !== undefined ||
          isSaidBeside(annotations, [one], COMPLETED) ||
          isSaidBeside(annotations, [one], RESUMES)),
    );
  // What completes the writes of one use completes those of another that also does more.
  const writesIn = ({ steps }: Flow): string[] =>
    steps.filter(isWriting).map(({ operation, type }) => `${operation} ${type?.toLowerCase()}`);
  const completed = all.filter((flow) => repaired(flow) && new Set(flow.steps.map(({ type }) => type)).size > 1);
  const isCompleted = (flow: Flow): boolean =>
    completed.some((one) => writesIn(one).length > 1 && writesIn(one).every((write) => writesIn(flow).includes(write)));
  const open = all
    .filter((flow) => !repaired(flow) && !isCompleted(flow))
    .flatMap((flow) => openOf(annotations, flow) ?? [])
    .filter((one) => one.cause !== 'apart' || !isBatched(annotations, one));
  const among = stated ? [] : open.filter(({ cause }) => cause !== 'outside');
  // A message of a document that another finding has with its message is told there.
  const told = ({ cause, what }: Open): boolean =>
    cause === 'outside' && among.some((one) => what.every((name) => one.what.includes(name)));
  const groups = grouped(open.filter((one) => (one.cause === 'outside') === outside && !told(one)));
  const alike = groups.filter(
    ([first]) => first?.cause !== 'many' && first?.cause !== 'apart' && first?.flow.together === undefined,
  );
  const merged = alike.length > 1 ? alike : [];
  if (merged.length > 0) yield* several(merged, outside);
  for (const group of groups) if (!merged.includes(group)) yield* single(group);
}

function* single(group: readonly Open[]): Iterable<Found> {
  const [first] = group;
  if (!first) return;
  yield* hinted(
    together(
      group.map(({ flow }) => flow),
      `${quotedNames(group)} write${group.every(({ flow }) => flow.name === first.flow.name) ? 's' : ''} ${listed(group.flatMap(({ what }) => what))} together: ${whyOf(first)}`,
    ),
    first.cause === 'outside'
      ? `Write only to Cosmos DB, and let a reader of the change feed (or an outbox document in the same batch) do the rest: ${listed(outsideOf(first.flow))}. It is repeated until it succeeds.`
      : first.cause === 'apart'
        ? `Write ${listed(first.what)} in one transactional batch: they have the same partition key, so all of them are there or none.`
        : first.cause === 'many'
          ? `Write ${listed(first.what)} in batches that can be repeated, and keep where the job is, so that a restart completes it.`
          : `Write ${first.what[0] ?? 'one document'} with a state first, and let the change feed or a repeatable job write ${listed(first.what.slice(1)) || 'the others'} and set the state; or put them under one partition key.`,
  );
}

/** Uses that are said the same way: each with what it writes. */
function* several(groups: readonly (readonly Open[])[], outside: boolean): Iterable<Found> {
  const uses = groups.map((group) => `${quotedNames(group)} (${listed(group.flatMap(({ what }) => what))})`);
  const flows = groups.flatMap((group) => group.map(({ flow }) => flow));
  yield* hinted(
    together(
      flows,
      outside
        ? `${uses.join('; ')}: each writes to Cosmos DB and to another store, no transaction covers both, and nothing is said to complete the second write: if the program stops in between, one side has it and the other never hears of it`
        : `${uses.join('; ')}: each writes documents of several containers or values of the partition key, no transaction covers them, and nothing is said to complete or undo what a failure in between leaves half done`,
    ),
    `For each of them write the first document with a state, and let a reader of the change feed${outside ? ' or of an outbox' : ''} do the rest until it succeeds; or put the documents under one partition key and write one batch.`,
  );
}

export const FLOWS: readonly Rule[] = [
  {
    id: 'J25',
    title: 'Documents that are changed together are in one transaction, or something completes the rest',
    severity: 'warning',
    source: SOURCES.microsoft('Transactional batch operations in Azure Cosmos DB'),
    why: 'A transaction has one container and one partition key (ASM-E121), and a batch at most 100 operations (ASM-A5). A program that stops after the first of two writes leaves a user without a profile, or a deleted team with its members. A retry helps only if it runs, and if each step can be repeated. The rule takes uses that write several documents, and accepts a change feed, an outbox, a saga, a repeatable retry, and any word on what happens after a stop halfway. A sentence on all such uses counts for each. Lines of logs, the state that a process writes with its heartbeat, a session that the next sign-in makes, and the removal of what a TTL removes anyhow, don’t count.',
    hint: 'State what completes the rest, or put the documents under one partition key.',
    instead: ['C25', 'F20'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (annotations.of('flow').length === 0) yield missing('a use that changes several documents');
      yield* findings(annotations, false);
    },
  },
  {
    id: 'J34',
    title: 'What is written to Cosmos DB and to another store reaches both',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A program that writes a document, and then sends a message or writes a search index, stops in between one day. Then the document is there and its message never comes, or the index doesn’t know it, and no error shows it. The other order is no better. The change feed, or an outbox document in the same batch, is read until the second write succeeds. The rule takes uses with a step outside Cosmos DB, and search indexes and replicas that the request itself writes. It leaves out caches, mails, computations, files in Blob Storage, and the steps of an engine that goes on after a stop.',
    hint: 'Write to Cosmos DB only, and do the rest from its change feed or an outbox.',
    instead: ['F20'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      yield* findings(annotations, true);
      // An activity of an engine that goes on after a stop writes the index then.
      const resumed = annotations
        .of('flow')
        .some((flow) => isSaidBeside(annotations, [flow], RESUMES) && outsideOf(flow).includes('search index'));
      const both = annotations
        .of('derived')
        .filter(
          (one) =>
            (one.form === 'search-index' || one.form === 'replica') &&
            one.keptBy === 'same-request' &&
            !(resumed && one.form === 'search-index') &&
            one.onRepeat === undefined &&
            !isSaidBeside(annotations, [one], HARMLESS),
        );
      yield* hinted(
        together(
          both,
          `${listed(both.map(({ what }) => what))} ${both.length === 1 ? 'is' : 'are'} written by the request that writes ${listed(both.map(({ of, type }) => of ?? type ?? 'the document'))}: if it stops in between, the one has what the other hasn’t, and nothing is said to find or repair it`,
        ),
        `Write ${listed(both.map(({ what }) => what))} from the change feed of ${listed(both.map(({ of, type }) => annotations.containerOf({ type: of ?? type }) ?? of ?? type ?? 'the container'))}, which is read until it succeeds.`,
      );
    },
  },
];
