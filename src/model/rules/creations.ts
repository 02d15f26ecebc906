// Calls and commands that create containers, in the programs of a document.
import type { ContainerDetail, Design } from '../documents.ts';
import type { SourceLine } from '../model.ts';
import { FENCE } from './fenced.ts';

export interface Creation {
  readonly detail: ContainerDetail;
  readonly at: SourceLine;
  /** The call or command, up to the next one. */
  readonly lines: readonly string[];
}

const CREATES =
  /\bcontainers\.create(?:IfNotExists)?\(|\bcreate_container(?:_if_not_exists)?\(|\bCreateContainer(?:IfNotExists)?(?:Async)?\(|\bnew ContainerProperties\b|\bcosmosdb sql container create\b|\bNew-AzCosmosDBSqlContainer\b/i;
/** A call has no more lines. */
const LONGEST = 30;

/** `id: "orders"`, `--name orders`, `"orders", "/customerId"`. */
const NAME = /["'`]([\w-]+)["'`]|(?:--name|-n)[ =]([\w-]+)/g;

/** The name of the container is in the first lines of a call. */
const HEAD = 6;

const read = new WeakMap<Design, readonly Creation[]>();

/** The creations of designed containers. A call is of the first container that it names. */
export function creationsIn(design: Design): readonly Creation[] {
  const known = read.get(design);
  if (known) return known;
  const begins = design.lines.flatMap((text, index) => (text.length <= 400 && CREATES.test(text) ? [index] : []));
  const found = begins.flatMap((begin, index): Creation[] => {
    const end = Math.min(begins[index + 1] ?? Infinity, begin + LONGEST);
    const all = design.lines.slice(begin, end);
    const fence = all.findIndex((line) => FENCE.test(line));
    const lines = fence < 0 ? all : all.slice(0, fence);
    const named = [...lines.slice(0, HEAD).join('\n').matchAll(NAME)].map(([, quoted, option]) => quoted ?? option);
    const name = named.find((one) => design.containers.some(({ container }) => container.name === one));
    const detail = design.containers.find(({ container }) => container.name === name);
    return detail ? [{ detail, at: { file: design.file, line: begin + 1 }, lines }] : [];
  });
  read.set(design, found);
  return found;
}
