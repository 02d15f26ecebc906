// C27: a key that is kept twice.
import type { ContainerDetail } from '../../documents.ts';
import type { SourceLine } from '../../model.ts';
import { type Facts, examplesIn, valueAt } from '../facts.ts';
import { type Field, fieldsOf } from '../fields.ts';
import { type Rule, type RuleResult, DESIGN, more, together } from '../rule.ts';
import { linesSaying, textAround } from '../said.ts';

const COPY = /^_?(?:partition_?key|pk|partition_?id)$/i;

/** A field that is called the key, in documents whose key is another path. */
function secondKey(facts: Facts, detail: ContainerDetail): Field | undefined {
  const { partitionKey } = detail.container;
  const [first] = partitionKey;
  if (first === undefined || partitionKey.some((path) => COPY.test(path.slice(1)))) return undefined;
  const examples = examplesIn(detail.container);
  if (examples.some((one) => valueAt(one, first) === undefined)) return undefined;
  return fieldsOf(facts, detail).find(({ field, at }) => {
    if (!COPY.test(field)) return false;
    const shown = examples.filter((one) => field in one);
    // A definition of the container is no document; nor is a row of labels.
    const text = facts.design?.lines[at.line - 1] ?? '';
    return shown.length > 0
      ? shown.every((one) => typeof one[field] === 'string' && !one[field].startsWith('/'))
      : !/['"`|]\s*\/\w|paths|PartitionKey\(|[{(]\s*$/.test(text);
  });
}

const WRITTEN = /^\s*["']?(?:partition_?key|pk)["']?\s*:\s*(?<value>[A-Za-z_][\w.]*)\s*,?\s*$/i;
/** So many lines around it are the same object. */
const WITHIN = 4;

/** `partitionKey: date` beside `date: date`, in a program that writes documents whose key is another path. */
function writtenTwice({ design, containers }: Facts): { readonly at: SourceLine; readonly key: string }[] {
  if (!design || containers.some(({ container }) => container.partitionKey.some((path) => COPY.test(path.slice(1)))))
    return [];
  return linesSaying(design, WRITTEN).flatMap(([line, text]) => {
    const value = WRITTEN.exec(text)?.groups?.['value'] ?? '';
    const near = textAround(design, line, WITHIN).split('\n');
    const found = containers.find(({ container }) => {
      const [, field = ''] = container.partitionKey[0]?.split('/') ?? [];
      return near.some((one) => new RegExp(String.raw`^\s*["']?${field}["']?\s*:\s*${value}\s*,?\s*$`).test(one));
    });
    return found ? [{ at: { file: design.file, line }, key: found.container.partitionKey.join(', ') }] : [];
  });
}

export const DOUBLED: readonly Rule[] = [
  {
    id: 'C27',
    title: 'Documents have the partition key once',
    severity: 'warning',
    why: 'A field such as `partitionKey` in documents whose container has another path as its key is read by no request. Either it is a second copy of the key, which each write must keep equal, or the path is wrong: then every document has the same undefined key. The rule reads examples and declarations, and objects in programs that have one value under both names.',
    hint: 'Delete the field, or make its path the key of the container.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      // Of documents without the key, C1 speaks.
      const found = facts.containers.flatMap((detail) => {
        const field = secondKey(facts, detail);
        return field ? [{ detail, ...field }] : [];
      });
      const twice = writtenTwice(facts);
      yield* together(
        twice,
        `A program writes the value of the key ${twice[0]?.key ?? ''} a second time, in a field that is called the key`,
      );
      const [first, ...others] = found;
      if (first)
        yield {
          message: `${first.detail.container.name}${more(others.length)}: documents have ${first.field} beside the key ${first.detail.container.partitionKey.join(', ')}`,
          at: first.at,
          related: [facts.place(first.detail, 'partitionKey'), ...others.map(({ at }) => at)],
        };
    },
  },
];
