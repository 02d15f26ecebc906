// The tenant's records in the state container of a place.
import { kindOf } from '../../base/format.ts';
import { isObject } from '../../base/json.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { deferredPartition } from '../../engine/deferred/cosmos-store.ts';
import { type QueueEntry, REGISTER, type Register, bundleId, headId } from '../../engine/deferred/documents.ts';
import type { SinkDocument } from '../../access/document-access.ts';
import { type Count, type PlaceParts, all, inPlace } from './erase-options.ts';
import { removeKept } from './erase-letters.ts';
import { isForTenant, isNamed, namesIn, renamed } from './names.ts';
import type { Owned } from './owned.ts';
import { removeFrom } from './remove-by-query.ts';

/** What the certificate calls these records, by their kind. */
const PLACES: Readonly<Record<string, string>> = {
  deadLetter: 'dead letters',
  deferred: 'changes deferred',
  archived: 'archive entries',
  status: 'reports of hosts',
  tenantsizes: 'counts of documents',
};

/**
 * Removes every record of the tenant from the state container, and writes `by` in place of its name in the audit. Goes
 * through the whole container, because most records don't show their tenant. `held` gets the blobs that a hold keeps.
 */
export async function removeState(
  owned: Owned,
  by: string,
  counted: Count,
  options: PlaceParts,
  held: Set<string>,
): Promise<void> {
  const { services, asked } = options;
  const count: Count = (what, removed) => counted(inPlace(options, what), removed);
  const names = namesIn(asked);
  const queues = new Set((await queuesOf(options)).flatMap(({ id }) => [headId(id), bundleId(id, 0).slice(0, -1)]));
  await removeKept(owned, count, options, held);
  const audits = new Set<string>();
  const places = new Map<string, number>();
  const goes = (document: SinkDocument): boolean => {
    const kind = kindOf(document);
    if (kind === 'run' && document['kept'] && isNamed([document['arguments'], document['result']], names))
      audits.add(document.id);
    return kind !== undefined && isGone(document, kind, owned, queues, asked.tenant);
  };
  const from = { container: services.place.state, keyPaths: [['pk']] };
  // Parts of letters were looked at before: they are large.
  const query = "SELECT * FROM c WHERE NOT IS_DEFINED(c.kind) OR c.kind != 'dead-letter-part'";
  const gone = (document: SinkDocument): void => {
    const place = PLACES[kindOf(document) ?? ''] ?? 'state';
    places.set(place, (places.get(place) ?? 0) + 1);
  };
  const { found, removed } = await removeFrom(from, query, goes, options, { gone });
  for (const [place, some] of places) count(place, all(some));
  count('state', { found: found - removed, removed: 0 });
  // A bundle that is still there needs it.
  if (found === removed) count('changes deferred', all((await queuesOf(options, true)).length));
  for (const id of audits) {
    await rewrite(services.global.state, { id, pk: 'runs' }, (stored: SinkDocument | undefined) => {
      if (!stored) return stored;
      const { arguments: given, result, ...rest } = withoutSystemFields(stored);
      return {
        ...rest,
        arguments: renamed(given, names, by),
        ...(result !== undefined && { result: renamed(result, names, by) }),
      };
    });
    count('audit records', all(1));
  }
}

function isGone(
  document: SinkDocument,
  kind: string,
  owned: Owned,
  queues: ReadonlySet<string>,
  tenant: string,
): boolean {
  const { source, parent, of, doc, part, items, id } = document;
  switch (kind) {
    case 'locator':
    case 'archived':
      return owned.has(source);
    case 'join':
    case 'embed':
      return owned.has(parent) || (isObject(parent) && owned.hasDocument(parent['container'], doc));
    case 'listed':
      return owned.has(of) || (isObject(of) && owned.hasDocument(of['container'], part));
    case 'published':
      return owned.hasPublished(document);
    case 'deadLetter':
      return owned.hasLetter(document);
    case 'deferred':
      return (
        queues.has(id) ||
        queues.has(id.slice(0, id.lastIndexOf('|') + 1)) ||
        (Array.isArray(items) && owned.has(items[0]))
      );
    case 'status':
    case 'tenantsizes':
      return isForTenant(document, tenant);
    default:
      return false;
  }
}

/**
 * The tenant's queues. `forget`: they leave the registers. That comes last, because only
 * the register says whose a bundle is.
 */
async function queuesOf({ loaded, services, asked }: PlaceParts, forget = false): Promise<QueueEntry[]> {
  const found: QueueEntry[] = [];
  for (const source of loaded.model.containers) {
    const at = { id: REGISTER, pk: deferredPartition(loaded.pipeline.name, source.name) };
    await rewrite(services.place.state, at, (stored: Pick<Register, 'queues'> | undefined) => {
      const own = stored?.queues.filter(({ tenant }) => tenant === asked.tenant) ?? [];
      found.push(...own);
      if (!stored || own.length === 0 || !forget) return stored;
      return { ...withoutSystemFields(stored), queues: stored.queues.filter((queue) => !own.includes(queue)) };
    });
  }
  return found;
}
