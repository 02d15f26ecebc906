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
