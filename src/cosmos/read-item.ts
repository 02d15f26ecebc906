import type { Item, ItemDefinition, Resource } from '@azure/cosmos';
import { assertReadable } from '../base/format.ts';
import { type RetryOptions, withRetry } from './retry.ts';

/** Reads a document that Millrace stores; undefined if there is none. @throws FormatUnreadable */
export async function readItem<T extends ItemDefinition>(
  item: Item,
  retry: Omit<RetryOptions, 'reads'> = {},
): Promise<(T & Resource) | undefined> {
  const { resource } = await withRetry(() => item.read<T>(), { ...retry, reads: true });
  assertReadable(resource);
  return resource;
}
