// J25: uses that change several documents which no transaction can cover, and that nothing completes.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import { isWriting, listed } from '../annotations/merged.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

type Flow = Annotation<'flow'>;

interface Open {
  readonly flow: Flow;
  readonly cause: 'containers' | 'keys' | 'many' | 'outside';
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

/** A cache is filled again from Cosmos DB, and a file that is written before its document does no harm. */
const OWN_COPY = /cache|redis|log/i;
const FILE = /blob|file|storage/i;

/** The steps outside Cosmos DB that a failure leaves apart. Files matter where they are deleted with the document. */
const outsideOf = ({ steps }: Flow): string[] =>
  steps.flatMap(({ outside }) =>
    outside === undefined ||
    OWN_COPY.test(outside) ||
    (FILE.test(outside) && !steps.some(({ operation }) => operation === 'delete'))
      ? []
      : [outside],
  );

/** Why no transaction covers a flow. Undefined: one may, or the text says too little. */
function openOf(annotations: Annotations, flow: Flow): Open | undefined {
  const writes = flow.steps.filter(isWriting);
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
    return flow.many ? 'many' : undefined;
  };
  const cause = apart() ?? (outside.length > 0 && writes.length > 0 ? 'outside' : undefined);
  return cause && open(cause);
}

const REPAIRS: ReadonlySet<Flow['together']> = new Set(['change-feed', 'outbox', 'saga', 'idempotent-retry']);

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
  if (flow.together !== undefined)
    return `${transaction} is said to hold them together, but ${where}: ${cause === 'many' ? 'the rest is left out or written apart' : 'a transaction has one container and one value of the partition key'}`;
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

/** More than so many uses of one cause are one finding. */
const EACH = 2;

const quotedNames = (flows: readonly Open[]): string => listed([...new Set(flows.map(({ flow }) => `"${flow.name}"`))]);

function* findings(annotations: Annotations, outside: boolean): Iterable<Found> {
  // A flow stands in several places; a repair that one of them names is there for all.
  const all = annotations.of('flow');
  const repaired = ({ name, together: by }: Flow): boolean =>
    REPAIRS.has(by) || all.some((one) => same(one.name, name) && REPAIRS.has(one.together));
  const open = all.filter((flow) => !repaired(flow)).flatMap((flow) => openOf(annotations, flow) ?? []);
  const groups = grouped(open.filter(({ cause }) => (cause === 'outside') === outside));
  const alike = groups.filter(([first]) => first?.cause !== 'many' && first?.flow.together === undefined);
  const merged = alike.length > EACH ? alike : [];
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
    why: 'A transaction has one container and one partition key (ASM-E121), and a batch at most 100 operations (ASM-A5). A program that stops after the first of two writes leaves a user without a profile, or a deleted team with its members. A retry helps only if it runs, and if each step can be repeated. The rule takes uses that write several documents, and accepts a change feed, an outbox, a saga or a repeatable retry.',
    hint: 'State what completes the rest, or put the documents under one partition key.',
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
    why: 'A program that writes a document, and then sends a message or writes a search index, stops in between one day. Then the document is there and its message never comes, or the index doesn’t know it, and no error shows it. The other order is no better. The change feed, or an outbox document in the same batch, is read until the second write succeeds. The rule takes uses with a step outside Cosmos DB, and search indexes and replicas that the request itself writes. It leaves out caches, and files in Blob Storage.',
    hint: 'Write to Cosmos DB only, and do the rest from its change feed or an outbox.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      yield* findings(annotations, true);
      const both = annotations
        .of('derived')
        .filter(
          ({ form, keptBy, onRepeat }) =>
            (form === 'search-index' || form === 'replica') && keptBy === 'same-request' && onRepeat === undefined,
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
