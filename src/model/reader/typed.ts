// Types of documents that tables name: in an overview of containers, and beside the value of the key that each has.
import type { ContainerDraft } from './container.ts';
import { isOfContainer } from './elsewhere.ts';
import { type Section, within } from './outline.ts';
import type { Overview } from './overviews.ts';
import { onlyOne } from './owners.ts';
import { type Table, column, tablesOf } from './tables.ts';

const TYPE = /^(?:document|item|entity|doc|record)?\s*types?$|^entit(?:y|ies)$/i;
/** `pk value`, and `Partition key` with values below it. */
const KEY_VALUE = /^`?(?:pk|partition ?key)`?(?: values?)?$/i;

/** The names in the first column, if another one has values of the key. A path there is a key, and the row a container. */
function typesOf({ headers: [first = '', ...others], rows }: Table): { name: string; line: number }[] {
  const value = others.find((header) => KEY_VALUE.test(header));
  if (!TYPE.test(first) || value === undefined) return [];
  if (rows.some(({ cells }) => /^`?\//.test(cells[value] ?? '') || (cells[value] ?? '') === '')) return [];
  return rows.flatMap(({ cells, struck, at }) => {
    const name = /^`?([A-Za-z_][\w-]*)`?$/.exec(cells[first] ?? '')?.[1];
    return name === undefined || struck ? [] : [{ name, line: at.line }];
  });
}

/** Gives each container the types that tables name: those of its own row, of its section, or of the only container. */
export function typesInTables(
  all: readonly Section[],
  drafts: readonly ContainerDraft[],
  rows: readonly Overview[],
  text: string,
  file: string,
): void {
  for (const { name, types, line } of rows) {
    const draft = drafts.find((one) => one.name.toLowerCase() === name.toLowerCase());
    for (const type of types) draft?.typed(type, line);
  }
  const only = onlyOne(drafts);
  const owners = new Map(
    all
      .filter((section) => isOfContainer(section, drafts))
      .flatMap((section) => {
        const draft = drafts.find(({ line }) => line === section.line);
        return [...within(section)].map((part) => [part, draft] as const);
      }),
  );
  for (const section of all)
    for (const table of tablesOf(section.blocks, text, file))
      for (const { name, line } of typesOf(table)) (owners.get(section) ?? only)?.typed(name, line);
}

const TYPES_COLUMN = ['document types', 'document type', 'item types', 'entity types', 'types'];

/** The names in backticks of a cell that has nothing else. */
export function typesInRow(row: Table['rows'][number]): string[] {
  const cell = column(row, TYPES_COLUMN) ?? '';
  return /^`[\w-]+`(?:\s*[,/]\s*`[\w-]+`)*$/.test(cell) ? [...cell.matchAll(/[\w-]+/g)].map(([name]) => name) : [];
}
