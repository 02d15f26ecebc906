import { resolve } from 'node:path';
import { z } from 'zod';
import { named } from '../flags.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import {
  FILE_DIALECTS,
  type FileDialect,
  type FiledLease,
  prefixIn,
  readLeaseFile,
  translate,
} from '../../procedures/leases/file.ts';
import { type LeaseGroup, type LeaseInventory, type StoredLease, openLeases } from '../../procedures/leases/groups.ts';
import { expiration } from './inputs.ts';
import {
  type Move,
  type Procedure,
  costOf,
  moveLeases,
  moveText,
  raiseEpochs,
  whileStopped,
} from '../../procedures/rewind/rewind-leases.ts';
import { recorded } from '../../procedures/rewind/recorded.ts';
import { createDocument } from '../../procedures/rewind/write-leases.ts';
import type { LeaseDocument } from '../../feed/leases/dialects/dialect.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError, NAME_MONITORED_ACCOUNT } from '../../procedures/errors.ts';

const input = z.object({
  file: z
    .string()
    .min(1)
    .describe('file of `leases export`, or documents copied from a lease container: one a line, or a JSON array'),
  prefix: named(
    'whole prefix to give the leases, for another processor, account or container (default: as in the file)',
  ),
  dialect: z.enum(FILE_DIALECTS).optional().describe('dialect to store (default: as in the file)'),
  leaseExpiration: expiration,
});
type ImportInput = z.output<typeof input>;

interface Item {
  readonly document: LeaseDocument;
  readonly prefix: string;
  /** The position in the file; absent: the lease has none. */
  readonly position?: string;
  /** The lease that is stored under the id now; only its position changes. */
  readonly stored?: { readonly lease: StoredLease; readonly group: LeaseGroup };
}

export const leasesImport = defineOperation({
  name: 'leases import',
  summary: 'Import leases from a file: create missing ones, move existing ones while no host owns them',
  examples: [
    'millrace leases import leases.jsonl --dry-run',
    'millrace leases import billing.jsonl --dialect java-epk --prefix billingacc.documents.azure.com_dbRid==_collRid=',
  ],
  effect: 'changes',
  argument: 'file',
  input,
  plan: async (given, context): Promise<Plan> => {
    const { items } = await prepare(given, context);
    const moves = movesOf(items);
    const made = items.filter(({ stored }) => !stored).length;
    const making = made > 0 ? [`create ${plural(made, 'lease')}`] : [];
    if (moves.length === 0) return { steps: making, ru: Math.ceil(made * 6) };
    return {
      steps: [
        'wait until no host has written the leases for two expirations; stop their hosts first',
        ...moves.map(moveText),
        ...making,
        'wait one more expiration',
      ],
      ...costOf(items.length, procedureOf(items, given)),
    };
  },
  run: async (given, context) => {
    const first = await prepare(given, context);
    return recorded(context, first.inventory, 'leases import', given, async () => {
      const write = async (): Promise<{ made: number; moved: number }> => {
        const { inventory, items } = await prepare(given, context);
        const moves = movesOf(items);
        await moveLeases(inventory.leases, moves, () => raiseEpochs(context, moves));
        const missing = items.filter(({ stored }) => !stored);
        for (const { document } of missing) await createDocument(inventory.leases, document);
        return { made: missing.length, moved: moves.length };
      };
      if (movesOf(first.items).length === 0) return write();
      return whileStopped(first.inventory.leases, procedureOf(first.items, given), context, write);
    });
  },
  format: ({ made, moved }) => `${plural(made, 'lease')} created, ${moved.toLocaleString('en-US')} moved.`,
});

const procedureOf = (items: readonly Item[], { leaseExpiration }: ImportInput): Procedure => ({
  prefixes: [...new Set(items.map(({ prefix }) => prefix))],
  expirationMs: leaseExpiration,
});

const movesOf = (items: readonly Item[]): Move[] =>
  items.flatMap(({ stored, position }): Move[] =>
    stored && position !== undefined && position !== stored.lease.position ? [{ ...stored, to: position }] : [],
  );

async function prepare(given: ImportInput, context: Context): Promise<{ inventory: LeaseInventory; items: Item[] }> {
  const leases = await readLeaseFile(resolve(context.workspace.directory, given.file));
  if (leases.length === 0) throw operationsError('leases-none', `There are no leases in ${given.file}`);
  const inventory = await openLeases(context);
  const items: Item[] = [];
  for (const lease of leases) items.push(await itemOf(lease, inventory, given));
  return { inventory, items };
}

async function itemOf(lease: FiledLease, inventory: LeaseInventory, given: ImportInput): Promise<Item> {
  const own = lease.id.slice(0, lease.id.lastIndexOf('..'));
  const prefix = given.prefix ?? prefixIn(inventory, given.dialect, { prefix: own, ...(await inventory.about(own)) });
  const document = await documentFor(lease, inventory, { own, prefix, dialect: given.dialect });
  const group = inventory.groups.find((of) => of.prefix === prefix);
  const strange = group?.unexplained.find(({ id }) => id === document.id);
  if (strange) {
    throw operationsError(
      'lease-unexplained',
      `The stored document ${strange.id} is not a known lease: ${strange.why}`,
      {
        hint: 'Delete it if you are sure that no program needs it. Nothing was written.',
      },
    );
  }
  const stored = group?.leases.find(({ id }) => id === document.id);
  const { position } = lease;
  if (stored?.position !== undefined && position === undefined) {
    throw sharedError('position-unusable', `Lease ${document.id} has a stored position, but the file has none for it`, {
      hint: 'Without a position the host would read from its configured start. To read from the beginning, run `millrace leases rewind --to beginning`.',
    });
  }
  return {
    document,
    prefix,
    ...(position === undefined ? {} : { position }),
    ...(stored && group && { stored: { lease: stored, group } }),
  };
}

/** The document of the file, translated if another dialect or prefix is asked for. */
async function documentFor(
  lease: FiledLease,
  inventory: LeaseInventory,
  { own, prefix, dialect }: { own: string; prefix: string; dialect: FileDialect | undefined },
): Promise<LeaseDocument> {
  if (dialect === undefined && prefix === own) return { ...(lease.document as LeaseDocument), Owner: null };
  const about = (await inventory.about(prefix)) ?? (await inventory.about(own));
  if (!about) {
    throw sharedError('not-found', `The prefix ${prefix} belongs to a container that is not in this database`, {
      hint: NAME_MONITORED_ACCOUNT,
    });
  }
  const as = dialect ?? (lease.dialect === 'dotnet-v0' ? 'dotnet' : lease.dialect);
  return { ...translate(lease, { dialect: as, prefix, monitored: about.monitored }), Owner: null };
}
