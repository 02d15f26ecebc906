import type { Item, ItemDefinition, Resource } from '@azure/cosmos';
import type { z } from 'zod';
import { FormatUnreadable, assertReadable } from '../base/format.ts';
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

/** Undefined: there is none, or a later version of Millrace stored it in another form. */
export async function readLeniently<S extends z.ZodType>(item: Item, schema: S): Promise<z.output<S> | undefined> {
  try {
    return schema.safeParse(await readItem(item)).data;
  } catch (error) {
    if (error instanceof FormatUnreadable) return undefined;
    throw error;
  }
}
