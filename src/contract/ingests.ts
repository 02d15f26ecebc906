// G19: an ingest makes the same document of the same event, with each value in its field.
import { canonical } from '../base/json.ts';
import { type Model, containerOf, examplesOf, exampleValueAt } from '../model/model.ts';
import { type Rule, type RuleResult, noDesign } from '../model/rules/rule.ts';
import { parseDate } from '../pipeline/date.ts';
import type { ArchiveSpec, Doc, IngestSpec } from '../pipeline/specs.ts';
import { attempt, watched } from '../pipeline/fields/watched.ts';
import type { Contract } from './declared.ts';
import { noPipeline } from './same-projections.ts';

/** A time that is no more than this away from the present was taken from the clock. */
const NOW_MS = 60_000;

export function ingests(contract: Contract): Rule[] {
  return [
    {
      id: 'G19',
      title: 'An ingest makes the same document of the same event, with each value in its own field',
      why: 'A hub delivers an event at least once, and a sender may send it twice. One document comes of it only if the id and the key follow from the event: a random id makes two. The rule hands `map` twice a JSON event with the values of each example of the document, under the names of its fields with and without the end `Id`. The second run is at least a millisecond later. It fails if the id or the key differ, and if two fields have each other’s values. It doesn’t see an id that has only the second or the day of arrival: both runs have the same. It warns if a field has the time of arrival though `map` reads the event’s own. It also warns if `map` takes an event without a readable time, and an archive goes by this time: such a document is never archived. It says nothing if `map` doesn’t take such an event.',
      hint: 'Make id and key of the event’s own values, and copy each value into the field of its name.',
      *check(facts) {
        const { pipeline } = contract;
        if (!pipeline || !facts.design) {
          yield pipeline ? noDesign : noPipeline;
          return;
        }
        const { model } = facts.design;
        for (const spec of pipeline.ingests) {
          if (spec.format !== 'json') continue;
          yield* told(contract, spec, model);
          for (const archive of pipeline.archives)
            if (archive.rule.kind !== 'always' && canonical(archive.from) === canonical(spec.into))
              yield* undated(contract, spec, archive, model);
        }
      },
    },
  ];
}

interface Made {
  readonly example: Doc;
  readonly doc: Doc;
  readonly again: Doc;
  /** Names that the function read in the event. */
  readonly read: ReadonlySet<string>;
}

/** The example's fields, and those of references also as `device` for `deviceId`. */
const bodyOf = (example: Doc): Doc => ({
  ...Object.fromEntries(
    Object.entries(example).flatMap(([field, value]) => (/.Id$/.test(field) ? [[field.slice(0, -2), value]] : [])),
  ),
  ...example,
});

/** Ids with the time of the clock differ only if the clock has gone on; it ends also where the clock stands still. */
function passMillisecond(): void {
  const before = Date.now();
  for (let tries = 0; tries < 200_000 && Date.now() === before; tries++);
}

/** `other`: values that events have instead of the examples'. */
function made(spec: IngestSpec, model: Model, other: Doc = {}): Made[] {
  return examplesOf(model, spec.into).flatMap((example): Made[] => {
    const read = new Set<string>();
    const body = { ...bodyOf(example), ...other };
    const enqueuedAt = new Date();
    const run = (): Doc | null | undefined =>
      attempt(() =>
        spec.map({
          body: watched(body, read),
          properties: body,
          partition: '0',
          sequence: 1,
          offset: '1',
          enqueuedAt,
        }),
      );
    const doc = run();
    if (doc) passMillisecond();
    const again = run();
    return doc && again ? [{ example, doc, again, read }] : [];
  });
}

function* told(contract: Contract, spec: IngestSpec, model: Model): Iterable<RuleResult> {
  const all = made(spec, model);
  const at = contract.placeOf(spec.name);
  const paths = ['/id', ...(containerOf(model, spec.into.container)?.partitionKey ?? [])];
  const random = paths.filter((path) =>
    all.some(
      ({ doc, again }) =>
        canonical(exampleValueAt(doc, path) ?? null) !== canonical(exampleValueAt(again, path) ?? null),
    ),
  );
  for (const path of random)
    yield {
      message: `${spec.name} makes another ${path.slice(1)} each time that it gets the same event: what comes twice becomes two documents`,
      at,
    };
  const fields = [...new Set(all.flatMap(({ example }) => Object.keys(example)))];
  for (const [index, one] of fields.entries())
    for (const other of fields.slice(index + 1))
      if (isSwapped(all, one, other))
        yield { message: `${spec.name} writes the event’s ${other} into ${one}, and its ${one} into ${other}`, at };
  for (const field of fields)
    if (!random.includes(`/${field}`) && all.length > 0 && all.every((each) => isArrival(each, field)))
      yield {
        severity: 'warning',
        message: `${spec.name} writes the time of arrival into ${field}, though the event has its own`,
        at,
      };
}

const NO_TIME = 'no time';

/** A document whose date can't be read is never archived, and stays for good. */
function* undated(
  contract: Contract,
  spec: IngestSpec,
  { name, dateField }: ArchiveSpec,
  model: Model,
): Iterable<RuleResult> {
  const dated = examplesOf(model, spec.into).filter((example) => parseDate(example[dateField]) !== undefined);
  const all = made(spec, model, { [dateField]: NO_TIME });
  if (dated.length > 0 && all.some(({ doc, read }) => doc[dateField] === NO_TIME && !read.has('*')))
    yield {
      severity: 'warning',
      message: `${spec.name} accepts an event whose ${dateField} is no time, and ${name} never archives such a document`,
      at: contract.placeOf(spec.name),
      hint: `Throw an error in \`map\` if ${dateField} is no time: the event then becomes a dead letter.`,
    };
}

/** In every example in which the two differ, each has the other's value. */
function isSwapped(all: readonly Made[], one: string, other: string): boolean {
  const differing = all.filter(
    ({ example }) =>
      example[one] !== undefined &&
      example[other] !== undefined &&
      canonical(example[one]) !== canonical(example[other]),
  );
  return (
    differing.length > 0 &&
    differing.every(
      ({ example, doc }) =>
        canonical(doc[one] ?? null) === canonical(example[other]) &&
        canonical(doc[other] ?? null) === canonical(example[one]),
    )
  );
}

const timeOf = (value: unknown): number =>
  typeof value === 'string' ? Date.parse(value) : value instanceof Date ? value.getTime() : Number.NaN;
const isNow = (value: unknown): boolean => Math.abs(timeOf(value) - Date.now()) < NOW_MS;

/**
 * The event's own time is read, and the present is written. A field that isn't read may be meant so: `receivedAt`. A
 * function that takes all fields (`*`) doesn't show which of them events have.
 */
const isArrival = ({ example, doc, read }: Made, field: string): boolean =>
  read.has(field) &&
  !read.has('*') &&
  !isNow(example[field]) &&
  !Number.isNaN(timeOf(example[field])) &&
  isNow(doc[field]);
