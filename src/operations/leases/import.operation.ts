import { resolve } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { audited } from '../audit/record.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { FILE_DIALECTS, type FileDialect, type FiledLease, readLeaseFile, translate } from './file.ts';
import { type LeaseGroup, type LeaseRoom, type StoredLease, openLeases } from './groups.ts';
import { expiration } from './inputs.ts';
import { type Move, type Procedure, costOf, moveLeases, moveText, raiseEpochs, whileStopped } from './move.ts';
import { createDocument } from './write.ts';
import type { LeaseDocument } from '../../feed/leases/dialects/dialect.ts';

const input = z.object({
  file: z
    .string()
    .min(1)
    .describe('what `leases export` wrote, or documents copied from a lease container: one a line, or a JSON array'),
  prefix: z
    .string()
    .min(1)
    .optional()
    .describe('for another processor, account or container: its whole prefix; as in the file if absent'),
  dialect: z.enum(FILE_DIALECTS).optional().describe('stored as; as in the file if absent'),
  leaseExpiration: expiration,
});
type ImportInput = z.output<typeof input>;

interface Item {
  readonly document: LeaseDocument;
  readonly prefix: string;
  /** Where the file has it; absent: nothing was checkpointed. */
  readonly position?: string;
  /** What is stored under the id now: its position is moved, all else stays. */
  readonly stored?: { readonly lease: StoredLease; readonly group: LeaseGroup };
}

export const leasesImport = defineOperation({
  noun: 'leases',
  verb: 'import',
  summary: 'Store the leases of a file: made where they are missing, else moved while nobody holds them',
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
    const making = made > 0 ? [`make ${plural(made, 'lease')}`] : [];
    if (moves.length === 0) return { steps: making, ru: Math.ceil(made * 6) };
    return {
      steps: [
        'wait until nobody has written the leases for two expirations: stop every host of theirs first',
        ...moves.map(moveText),
        ...making,
        'wait one expiration more',
      ],
      ...costOf(items.length, procedureOf(items, given)),
    };
  },
  run: async (given, context) => {
    const first = await prepare(given, context);
    return audited(context, 'leases import', given, async () => {
      const write = async (): Promise<{ made: number; moved: number }> => {
        const { room, items } = await prepare(given, context);
        const moves = movesOf(items);
        await moveLeases(room.leases, moves, () => raiseEpochs(context, moves));
        const missing = items.filter(({ stored }) => !stored);
        for (const { document } of missing) await createDocument(room.leases, document);
        return { made: missing.length, moved: moves.length };
      };
      if (movesOf(first.items).length === 0) return write();
      return whileStopped(first.room.leases, procedureOf(first.items, given), context, write);
    });
  },
  format: ({ made, moved }) => `${plural(made, 'lease')} made, ${moved.toLocaleString('en-US')} moved.`,
});

const procedureOf = (items: readonly Item[], { leaseExpiration }: ImportInput): Procedure => ({
  prefixes: [...new Set(items.map(({ prefix }) => prefix))],
  expirationMs: leaseExpiration,
});

const movesOf = (items: readonly Item[]): Move[] =>
  items.flatMap(({ stored, position }): Move[] =>
    stored && position !== undefined && position !== stored.lease.position ? [{ ...stored, to: position }] : [],
  );

async function prepare(given: ImportInput, context: Context): Promise<{ room: LeaseRoom; items: Item[] }> {
  const leases = await readLeaseFile(resolve(context.workspace.directory, given.file));
  if (leases.length === 0) throw new UsageError('leases-none', `There are no leases in ${given.file}`);
  const room = await openLeases(context);
  const items: Item[] = [];
  for (const lease of leases) items.push(await itemOf(lease, room, given));
  return { room, items };
}

async function itemOf(lease: FiledLease, room: LeaseRoom, given: ImportInput): Promise<Item> {
  const own = lease.id.slice(0, lease.id.lastIndexOf('..'));
  const prefix = given.prefix ?? own;
  const document = await documentFor(lease, room, { own, prefix, dialect: given.dialect });
  const group = room.groups.find((of) => of.prefix === prefix);
  const strange = group?.unexplained.find(({ id }) => id === document.id);
  if (strange) {
    throw new UsageError('lease-unexplained', `The document ${strange.id} is there and can't be read: ${strange.why}`, {
      mend: 'It is left alone, and nothing was written. Delete it if you know that it is nobody’s.',
    });
  }
  const stored = group?.leases.find(({ id }) => id === document.id);
  const { position } = lease;
  if (stored?.position !== undefined && position === undefined) {
    throw new UsageError('position-missing', `Lease ${document.id} has a position, and the file has none for it`, {
      mend: 'An empty position means the host’s own start. To begin at the beginning, say `millrace leases rewind --to beginning`.',
    });
  }
  return {
    document,
    prefix,
    ...(position === undefined ? {} : { position }),
    ...(stored && group && { stored: { lease: stored, group } }),
  };
}

/** As it is in the file, unless another dialect or prefix is asked for: then in that one's words. */
async function documentFor(
  lease: FiledLease,
  room: LeaseRoom,
  { own, prefix, dialect }: { own: string; prefix: string; dialect: FileDialect | undefined },
): Promise<LeaseDocument> {
  if (dialect === undefined && prefix === own) return { ...(lease.document as LeaseDocument), Owner: null };
  const about = (await room.about(prefix)) ?? (await room.about(own));
  if (!about) {
    throw new UsageError('monitored-unknown', `The prefix ${prefix} is of a container that is not in this database`, {
      mend: 'Set COSMOS and COSMOS_DATABASE to the account and database of that container.',
    });
  }
  const as = dialect ?? (lease.dialect === 'dotnet-v0' ? 'dotnet' : lease.dialect);
  return { ...translate(lease, { dialect: as, prefix, monitored: about.monitored }), Owner: null };
}
