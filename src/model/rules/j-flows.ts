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

/** A cache is filled again from Cosmos DB, and files that were written before the document do no harm. */
const OWN_COPY = /cache|redis|blob|file|log/i;

/** Why no transaction covers a flow. Undefined: one may, or the text says too little. */
function openOf(annotations: Annotations, flow: Flow): Open | undefined {
  const writes = flow.steps.filter(isWriting);
  const containers = [...new Set(writes.flatMap((step) => annotations.containerOf(step) ?? []))];
  const what = [...new Set(writes.flatMap((step) => step.type ?? step.container ?? []))];
  const open = (cause: Open['cause']): Open => ({ flow, cause, what, containers });
  const outside = flow.steps.flatMap((step) =>
    step.outside !== undefined && !OWN_COPY.test(step.outside) ? [step.outside] : [],
  );
  if (outside.length > 0 && writes.length > 0)
    return { flow, cause: 'outside', what: [...what, ...outside], containers };
  if (writes.length < 2 && flow.many === undefined) return undefined;
  if (writes.some(({ type }) => redelivered(annotations, type))) return undefined;
  if (writes.slice(1).length > 0 && writes.slice(1).every(({ type }) => redelivered(annotations, type)))
    return undefined;
  // A sweep that changes each document alone is completed by the next one.
  if (what.length < 2 && new Set(writes.map(({ operation }) => operation)).size < 2) return undefined;
  if (containers.length > 1) return open('containers');
  const [container] = containers;
  const byId = annotations.keyOf(container)?.join() === '/id';
  if (flow.sameKey === false || (byId && what.length > 1)) return open('keys');
  return flow.many && writes.length > 0 ? open('many') : undefined;
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

function* findings(annotations: Annotations, outside: boolean): Iterable<Found> {
  // A flow stands in several places; a repair that one of them names is there for all.
  const all = annotations.of('flow');
  const repaired = ({ name, together: by }: Flow): boolean =>
    REPAIRS.has(by) || all.some((one) => same(one.name, name) && REPAIRS.has(one.together));
  const open = all.filter((flow) => !repaired(flow)).flatMap((flow) => openOf(annotations, flow) ?? []);
  for (const group of grouped(open.filter(({ cause }) => (cause === 'outside') === outside))) {
    const [first] = group;
    if (!first) continue;
    const names = listed([...new Set(group.map(({ flow }) => `"${flow.name}"`))]);
    yield* hinted(
      together(
        group.map(({ flow }) => flow),
        `${names} write${group.every(({ flow }) => flow.name === first.flow.name) ? 's' : ''} ${listed(group.flatMap(({ what }) => what))} together: ${whyOf(first)}`,
      ),
      first.cause === 'outside'
        ? `Write only to Cosmos DB, and let a reader of the change feed (or an outbox document in the same batch) do the rest: ${listed(first.flow.steps.flatMap((step) => step.outside ?? []))}. It is repeated until it succeeds.`
        : first.cause === 'many'
          ? `Write ${listed(first.what)} in batches that can be repeated, and keep where the job is, so that a restart completes it.`
          : `Write ${first.what[0] ?? 'one document'} with a state first, and let the change feed or a repeatable job write ${listed(first.what.slice(1)) || 'the others'} and set the state; or put them under one partition key.`,
    );
  }
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
