// Types of documents that tables name: in an overview of containers, and beside the value of the key that each has.
import type { ContainerDraft } from './container.ts';
import { isSame } from './names.ts';
import { type Section, within } from './text/outline.ts';
import type { Overview } from './overviews.ts';
import { onlyOne } from './owners.ts';
import { type Table, tablesOf } from './text/tables.ts';

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
    const draft = types.length > 0 ? drafts.find((one) => isSame(one.name, name)) : undefined;
    for (const type of types) draft?.typed(type, line);
  }
  const only = onlyOne(drafts);
  for (const section of all)
    for (const table of tablesOf(section.blocks, text, file))
      for (const { name, line } of typesOf(table)) (ownerOf(section, all, drafts) ?? only)?.typed(name, line);
}

/** The container whose section this is, or is a part of. */
const ownerOf = (
  section: Section,
  all: readonly Section[],
  drafts: readonly ContainerDraft[],
): ContainerDraft | undefined =>
  drafts.find(({ line }) => all.some((own) => own.line === line && [...within(own)].includes(section)));
