// Keys that a document states for a container: in its section, in tables and in code. Where they differ,
// which one the programs have isn't known, so no rule but C31 uses any of them.
import type { ContainerDetail, Design, ModelDocuments } from '../documents.ts';
import type { Container, SourceLine } from '../model.ts';
import { namedLike } from '../reader/owners.ts';

/** `| Orders | /storeId |` in any table, with the headers above it. */
const ROW = /^\s*\|\W*(?<name>[A-Za-z][\w-]*)\W*\|(?<rest>.*)$/;
const PATH = /(?<![\w/])\/(?:[A-Za-z_]\w*)(?:\/[A-Za-z_]\w*)*(?![\w/-])/g;
/** The text tells what the key was or will be. */
const MOVES =
  /\bmigrat|\bprevious|\bcurrent\w* (?:state|deployed)|\btarget\b|\bold\b|\bnew\b|\binstead\b|\bbefore\b|\blegacy\b|→|->/i;
/** A longer line is no statement. */
const LONGEST = 400;

export interface StatedKey {
  readonly key: string;
  readonly at: SourceLine;
}

interface Statement extends StatedKey {
  readonly detail: ContainerDetail;
}

const read = new WeakMap<Design, readonly Statement[]>();

/** What rows of tables state, besides the section of the container. */
function statementsOf(design: Design): readonly Statement[] {
  const known = read.get(design);
  if (known) return known;
  const all = design.containers.map(({ container }) => container);
  const byName = new Map(design.containers.map((detail) => [detail.container.name.toLowerCase(), detail]));
  const detailOf = (name: string): ContainerDetail | undefined => {
    const exact = byName.get(name.toLowerCase());
    const like = exact === undefined ? namedLike(name, all) : undefined;
    return exact ?? (like?.name.length === name.length ? byName.get(like.name.toLowerCase()) : undefined);
  };
  let column = -1;
  const found = design.lines.flatMap((text, index): Statement[] => {
    const at = { file: design.file, line: index + 1 };
    if (text.length > LONGEST) return [];
    const isRow = text.trimStart().startsWith('|');
    if (!isRow) column = -1;
    else if (column < 0) column = text.split('|').findIndex((cell) => /^\W*(?:partition key|pk)\W*$/i.test(cell));
    if (column <= 0 || !text.includes('/') || MOVES.test(text)) return [];
    const detail = detailOf(ROW.exec(text)?.groups?.['name'] ?? '');
    const paths = [...(text.split('|')[column] ?? '').matchAll(PATH)].map(([path]) => path);
    const [key] = paths;
    return detail && key !== undefined && paths.length === 1 ? [{ detail, key, at }] : [];
  });
  read.set(design, found);
  return found;
}

/** Each container with several keys: all places, those of its own key first. */
export function contestedIn(design: Design): ReadonlyMap<ContainerDetail, readonly StatedKey[]> {
  const known = contested.get(design);
  if (known) return known;
  const found = new Map<ContainerDetail, readonly StatedKey[]>();
  const byContainer = Map.groupBy(statementsOf(design), ({ detail }) => detail);
  for (const detail of design.containers) {
    const { partitionKey, otherKeys = [], places, at } = detail.container;
    // Levels of a hierarchical key are often named one by one.
    const stated = partitionKey.length === 1 ? (byContainer.get(detail) ?? []) : [];
    const own = partitionKey.join(', ');
    const all: StatedKey[] = [
      { key: own, at: places.partitionKey ?? at },
      ...otherKeys.map(({ paths, at: place }) => ({ key: paths.join(', '), at: place })),
      ...stated,
    ];
    // A definition in code is read in two ways, a line or two apart.
    const once = all.filter(
      (one, index) =>
        !all.slice(0, index).some((other) => other.key === one.key && Math.abs(other.at.line - one.at.line) <= 2),
    );
    if (partitionKey.length > 0 && once.some(({ key }) => key !== own)) found.set(detail, once);
  }
  contested.set(design, found);
  return found;
}

const contested = new WeakMap<Design, ReadonlyMap<ContainerDetail, readonly StatedKey[]>>();

/** The fields of a container's keys, also of those that are contested. */
export const fieldsOfKeys = ({ partitionKey, otherKeys = [] }: Container): ReadonlySet<string> =>
  new Set([...partitionKey, ...otherKeys.flatMap(({ paths }) => paths)].map((path) => path.slice(1)));

/** The documents without the keys that are contested; the same documents if none is. */
export function withoutContested(documents: ModelDocuments): ModelDocuments {
  const { design } = documents;
  if (!design) return documents;
  const all = contestedIn(design);
  if (all.size === 0) return documents;
  const keyless = new Map<Container, Container>(
    [...all].map(([{ container }, stated]) => [
      container,
      {
        ...container,
        partitionKey: [],
        otherKeys: stated.map(({ key, at }) => ({ paths: key.split(', '), at })),
      },
    ]),
  );
  return {
    ...documents,
    design: {
      ...design,
      model: {
        ...design.model,
        containers: design.model.containers.map((container) => keyless.get(container) ?? container),
      },
      containers: design.containers.map((detail) => {
        const container = keyless.get(detail.container);
        return container ? { ...detail, container } : detail;
      }),
    },
  };
}
