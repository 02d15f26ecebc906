// What a text says of a key's values.
import type { ContainerDetail, Text } from '../documents.ts';
import type { SourceLine } from '../model.ts';
import type { Facts } from './facts.ts';

/** The text makes the key of several values: `` `${seasonId}#${category}` ``, "season + category". */
export function isComposed({ design }: Facts, path: string): boolean {
  const name = path.split('/').at(-1) ?? '';
  const made = new RegExp(
    String.raw`\b${name}\b[\x60"'\s]*(?:=|:|\(|\bis\b)[^.]{0,20}?(?:\}[-#|_:]+\$?\{|[)\w]\s\+\s[\w(]|\bconcat|\bcomposite\b|\w[#|]\w)`,
    'i',
  );
  return design?.lines.some((line) => line.length < 600 && made.test(line)) ?? false;
}

export const keyValueLineOf = ({ design }: Facts, at: SourceLine): Text | undefined =>
  design?.file === at.file ? { text: design.lines[at.line - 1] ?? '', at } : undefined;

/** The same key with more than twice as many values. Up to twice is accepted: one may include the new values of a day. */
export const contradicts = (one: ContainerDetail, other: ContainerDetail): boolean =>
  one !== other &&
  one.container.partitionKey.join() === other.container.partitionKey.join() &&
  (one.cardinality ?? 0) > 2 * (other.cardinality ?? Infinity);
