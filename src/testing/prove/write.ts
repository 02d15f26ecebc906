// Runs an access pattern that writes, by its own operation on the projected database: does the write take effect, and
// what does it cost? Later stages check what is derived from it.
import type { Database, PatchOperation } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Doc } from '../../definition/specs.ts';
import { ownFields } from '../../definition/oracle/recompute.ts';
import { type Asked, keyOf, readOne } from './ask.ts';
import { short } from './difference.ts';
import type { Changes } from './changes.ts';
import type { Question } from './question.ts';

const NOTHING = { runs: 0, rows: 0, ru: 0, loaded: 0 };
/** The most operations of one patch. */
const PATCHED = 10;

export async function write(
  { container, operation, text }: Extract<Question, { kind: 'write' }>,
  database: Database,
  changes: Changes,
): Promise<Asked> {
  const meant = changes.meant(container.name, operation, text);
  if (!meant) return { ...NOTHING, why: `${container.name} has no example left that an application writes` };
  const { doc, before } = meant;
  const live = database.container(container.name);
  const item = live.item(String(doc['id']), keyOf(container, doc));
  const once = { reads: true };
  let ru = 0;
  let wanted: Doc | undefined = doc;
  if (operation === 'create') ru = (await withRetry(() => live.items.create(doc), once)).requestCharge;
  else if (operation === 'upsert') ru = (await withRetry(() => live.items.upsert(doc), once)).requestCharge;
  else if (operation === 'replace')
    ru = (await withRetry(() => item.replace(doc as Doc & { id: string }), once)).requestCharge;
  else if (operation === 'patch') {
    const patch = patchOf(before ?? {}, doc);
    wanted = { ...before, ...Object.fromEntries(patch.map(({ path }) => [path.slice(1), doc[path.slice(1)]])) };
    if (patch.length > 0) ru = (await withRetry(() => item.patch(patch), once)).requestCharge;
  } else {
    ru = (await withRetry(() => item.delete(), once)).requestCharge;
    wanted = undefined;
  }
  const { doc: after } = await readOne(database, container, doc);
  const asked = { runs: 1, rows: 1, ru, loaded: 0 };
  if (canonical(after ?? null) === canonical(wanted ? ownFields(wanted) : null)) return asked;
  return { ...asked, first: `${short(doc['id'])} is ${short(after ?? null)} after the ${operation}` };
}

const patchOf = (before: Doc, doc: Doc): PatchOperation[] =>
  Object.entries(doc)
    .filter(([field, value]) => canonical(before[field] ?? null) !== canonical(value ?? null))
    .slice(0, PATCHED)
    .map(([field, value]) => ({ op: 'set', path: `/${field}`, value }));
