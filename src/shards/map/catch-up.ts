import { type OperationDocument, type SheetDocument, isEnded, isOperation } from './documents.ts';

// A map changes by its operations only, and each says what it removes and adds. So a process that has read the map once
// reads the operations since, and not the mappings again. Their order is that of their begin: an operation begins after the
// one before was ended, or can't be shown any more.

type Entries = ReadonlyMap<string, SheetDocument>;

/** Its document doesn't change any more. */
const isLasting = (operation: OperationDocument): boolean => isEnded(operation) && operation.ttl !== undefined;

/** The operations that may have changed since the map was read at a generation began after this one. */
export function changedAfter(generation: number, entries: Entries): number {
  let after = generation;
  for (const entry of entries.values())
    if (isOperation(entry) && !isLasting(entry)) after = Math.min(after, entry.at - 1);
  return after;
}

/** What operations have changed in a map since it was read. */
export function changesBy(
  entries: Entries,
  operations: readonly OperationDocument[],
): { readonly before: readonly SheetDocument[]; readonly after: readonly SheetDocument[] } {
  const touched = new Map<string, SheetDocument | undefined>();
  for (const operation of operations.toSorted((one, other) => one.at - other.at)) {
    const known = entries.get(operation.id);
    if (known && isOperation(known) && isLasting(known)) continue;
    touched.set(operation.id, operation);
    if (operation.state !== 'done' || (known && isOperation(known) && isEnded(known))) continue;
    for (const { id } of operation.removes) touched.set(id, undefined);
    for (const entry of operation.adds) touched.set(entry.id, entry);
  }
  return {
    before: [...touched.keys()].flatMap((id) => entries.get(id) ?? []),
    after: [...touched.values()].filter((entry) => entry !== undefined),
  };
}
