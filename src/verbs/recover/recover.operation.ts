import { z } from 'zod';
import { optional } from '../flags.ts';
import { expiration } from '../leases/inputs.ts';
import type { Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { formatVerification } from '../../procedures/verify/verify.ts';
import { plural } from '../../procedures/table.ts';
import { examine } from '../../procedures/recover/examine.ts';
import type { RecoveryFinding } from '../../procedures/recover/finding.ts';
import { parseWriters } from '../../procedures/recover/gates.ts';
import { assertOneShard } from '../../procedures/recover/one-shard.ts';
import { recover as run } from '../../procedures/recover/recover.ts';

const SIGNS = { recover: 'found', you: 'for you', unknown: 'unknown' } as const;

const lineOf = ({ about, what, remedy, hint }: RecoveryFinding): string =>
  `${SIGNS[remedy]}: ${about}: ${what}${hint === undefined ? '' : `. ${hint}`}`;

const NEXT = {
  all: 'Start the hosts again.',
  shard:
    'Correct what the global place has of this shard: `millrace projections verify --repair`. Then start the hosts again.',
} as const;

const NOTHING_FOUND = 'found nothing that does not fit by itself; the comparison shows the rest';

export const recoverVerb = defineOperation({
  name: 'recover',
  summary:
    'Recover after a restore, a failover that lost writes, or a lost container: find what no longer fits, and correct it',
  examples: [
    'millrace recover --dry-run',
    'millrace recover --yes',
    'millrace recover --since 2026-06-03T12:00:00Z --yes',
    'millrace recover --entries make --current summaries@2 --yes',
    'millrace recover --writers Orders=OrdersByCustomer --yes',
    'millrace recover --shard west --yes',
  ],
  shards: 'one',
  effect: 'destroys',
  bulk: true,
  input: z.object({
    since: optional(
      'read changes again from this time on, or from the beginning (the default without publishes and effects)',
    ),
    entries: z
      .enum(['make', 'leave'])
      .optional()
      .describe('make: archive entries were lost with the state, make them from the blobs; leave: they were not'),
    current: optional('which versions were current, if the views are lost or older: NAME@VERSION, several with commas'),
    writers: optional('where writers write, if a write gate does not fit: CONTAINER=TARGET, several with commas'),
    leaseExpiration: expiration,
  }),
  plan: async ({ since = 'beginning', entries, writers, leaseExpiration }, context): Promise<Plan> => {
    await assertOneShard({ entries }, context);
    const { findings, missing } = await examine(context);
    return {
      steps: [
        ...(findings.length === 0 ? [NOTHING_FOUND] : findings.map(lineOf)),
        ...(missing.length > 0 ? ['create these containers, and look at the rest after that'] : []),
        'wait until no host has written the leases for two expirations; stop the hosts first',
        ...[...parseWriters(writers)].map(([name, into]) => `open the write gate of ${name} onto ${into}`),
        'drop the versions that were being built, and remove the leases of rebuilds, replays and promotions',
        ...(entries === 'make' ? ['make the archive entries that are missing'] : []),
        'let documents stay that leave for an archive by expiry',
        'remove the states of joined documents, and list entries and parents’ states of documents that no longer exist',
        'raise the epoch of every source above all that were ever stored',
        `move the leases back to: ${since}`,
        'remove what is deferred: the feed and the comparison bring it',
        'apply the parents of embeds again whose states are absent or have another version',
        'compare every projection with its sources, and correct the differences',
      ],
      ru: 0,
      seconds: Math.ceil((3 * leaseExpiration) / 1000),
    };
  },
  run,
  format: ({
    findings,
    created,
    epochs,
    moved,
    dropped,
    writers,
    entries,
    stayed,
    forgotten,
    parents,
    verification,
    left,
    place,
  }) =>
    [
      ...findings.map(lineOf),
      ...created.map((say) => `done: ${say}`),
      ...Object.entries(epochs).map(([name, epoch]) => `done: ${name} is in epoch ${epoch}`),
      ...moved.map(({ text }) => `done: ${text}`),
      ...Object.entries(writers).map(([name, into]) => `done: writers of ${name} write to ${into}`),
      ...dropped.map((id) => `done: ${id} is dropped. Build it again with \`millrace projections rebuild ${id}\``),
      ...(entries > 0 ? [`done: entries made for ${plural(entries, 'archived document')}`] : []),
      ...(stayed > 0 ? [`done: ${plural(stayed, 'document')} that left for the archive by expiry stay`] : []),
      ...(forgotten > 0 ? [`done: ${plural(forgotten, 'state document')} of lost or joined documents removed`] : []),
      ...(parents > 0 ? [`done: ${plural(parents, 'parent')} of embeds applied again`] : []),
      ...(verification ? [formatVerification(verification)] : []),
      ...left.map((one) => `left: ${lineOf(one)}`),
      left.length === 0 ? `Everything fits. ${NEXT[place]}` : `${plural(left.length, 'thing')} left for you.`,
    ].join('\n'),
  ok: ({ left }) => left.length === 0,
});
