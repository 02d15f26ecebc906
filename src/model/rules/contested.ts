// Keys that a document states for a container: in its section, in tables, in code and in sentences. Where they differ,
// which one the programs have isn't known, so no rule but C31 uses any of them.
import type { ContainerDetail, Design, Documents } from '../documents.ts';
import type { Container, Place } from '../model.ts';
import { namedLike } from '../reader/owners.ts';
import { toldIn } from '../reader/told.ts';

/** `| Orders | /storeId |` in any table, with the headers above it. */
const ROW = /^\s*\|\W*(?<name>[A-Za-z][\w-]*)\W*\|(?<rest>.*)$/;
const PATH = /(?<![\w/])\/(?:[A-Za-z_]\w*)(?:\/[A-Za-z_]\w*)*(?![\w/-])/g;
const ALL_WITH =
  /`[\w-]+`.*\b(?:all|each|every one|both) (?:with|use|uses|have|has|by)\b[^.|]{0,20}\bpartition key\b\W{0,4}`?(?<key>\/\w+)/i;
/** The text tells what the key was or will be. */
const MOVES =
  /\bmigrat|\bprevious|\bcurrent\w* (?:state|deployed)|\btarget\b|\bold\b|\bnew\b|\binstead\b|\bbefore\b|\blegacy\b|→|->/i;
const OF_KEYS = /\bpk\b|partition|分区键|パーティションキー/i;
/** A longer line is no statement. */
const LONGEST = 400;
/** So many sentences contest a key; one may speak of something else. */
const SENTENCES = 2;

export interface StatedKey {
  readonly key: string;
  readonly at: Place;
}

interface Statement extends StatedKey {
  readonly detail: ContainerDetail;
  /** By words alone. */
  readonly told?: true;
}

const read = new WeakMap<Design, readonly Statement[]>();

/** What rows and sentences state, besides the section of the container. */
export function statementsOf(design: Design): readonly Statement[] {
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
    if (!text.includes('/') || !(column > 0 || OF_KEYS.test(text)) || MOVES.test(text)) return [];
    if (isRow && column > 0) {
      const detail = detailOf(ROW.exec(text)?.groups?.['name'] ?? '');
      const paths = [...(text.split('|')[column] ?? '').matchAll(PATH)].map(([path]) => path);
      const [key] = paths;
      return detail && key !== undefined && paths.length === 1 ? [{ detail, key, at }] : [];
    }
    const key = ALL_WITH.exec(text)?.groups?.['key'];
    if (key !== undefined)
      return [...text.matchAll(/`([\w-]+)`/g)].flatMap(([, name = '']) => {
        const detail = detailOf(name);
        return detail ? [{ detail, key, at }] : [];
      });
    return text.split('|').flatMap((cell) =>
      toldIn(cell).flatMap((told): Statement[] => {
        const detail = detailOf(told.name);
        return detail ? [{ detail, key: told.key, at, told: true }] : [];
      }),
    );
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
    const sentences = stated.filter(({ told, key }) => told && key !== own);
    const counted = stated.filter(
      ({ told, key }) => !told || key === own || sentences.filter((one) => one.key === key).length >= SENTENCES,
    );
    const all: StatedKey[] = [
      { key: own, at: places.partitionKey ?? at },
      ...otherKeys.map(({ paths, at: place }) => ({ key: paths.join(', '), at: place })),
      ...counted,
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
export function withoutContested(documents: Documents): Documents {
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
