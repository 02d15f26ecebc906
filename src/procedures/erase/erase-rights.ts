import { randomUUID } from 'node:crypto';
import { UsageError } from '../../base/errors.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { isOfTenants } from '../../pipeline/tenant.ts';
import { type EraseParts, inPlace } from './erase-options.ts';
import { deniedTables } from './erase-tables.ts';
import { operationsError } from '../errors.ts';

/**
 * Checks before the first step that this identity may delete: a document that doesn't exist in each container, and a blob
 * that is written for this, with its versions; the rows of tables.
 * @throws UsageError `erase-denied`, `container-missing`
 */
export async function assertMayErase(parts: EraseParts): Promise<void> {
  const { asked, store } = parts;
  const all = (await parts.places()).all.flatMap((at) => [
    ...at.containers
      .filter((container) => isOfTenants(container, asked.rule.field))
      .map(({ name, partitionKey: { length } }) => ({
        at,
        container: at.services.place.database.container(name),
        length,
      })),
    { at, container: at.services.place.state, length: 1 },
  ]);
  for (const { at, container, length } of all) {
    const item = container.item(`erase-${randomUUID()}`, Array<string>(length).fill('erase'));
    try {
      await withRetry<unknown>(() => item.delete(), { reads: true });
    } catch (error) {
      const { kind } = failureOf(error);
      if (kind === 'denied') throw denied(`container ${inPlace(at, container.id)}`, error);
      if (kind !== 'not-found') throw error;
      await container.read().catch(throwMissing(container));
    }
  }
  const [table] = await deniedTables(parts);
  if (table !== undefined)
    throw operationsError('erase-denied', `The role of POSTGRES_URL may not read and delete rows of ${table}`, {
      hint: 'Give it the right in PostgreSQL: `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA millrace TO ROLE`. Then run the command again.',
    });
  if (!store) return;
  const name = `erase-probe/${randomUUID()}`;
  try {
    await store.put(name, Buffer.from('May be deleted.'), null);
    await store.remove(name);
  } catch (error) {
    if (error instanceof UsageError && error.code === 'denied') throw denied('the storage account', error);
    throw error;
  }
}

const denied = (where: string, cause: unknown): Error =>
  operationsError('erase-denied', `This identity may not delete in ${where}`, { cause });
