import { z } from 'zod';
import { flag, optional } from '../flags.ts';
import { UsageError } from '../../base/errors.ts';
import { type Settings, loadSettings, resourceName } from '../../base/settings.ts';
import { bulkMarks } from '../../cosmos/connect.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { openAccount } from '../../runtime/services.ts';
import { readWriters } from '../../shards/gate/write-gate.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { orContainerMissing } from '../../cosmos/container-missing.ts';
import { allVersionsContainers } from '../../pipeline/all-versions.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { secondsToWrite } from '../../procedures/seconds.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../../procedures/table.ts';
import { type MigrateOptions, type Migrated, migrate } from '../../procedures/migrate/migrate.ts';
import { Migrations } from '../../procedures/migrate/migrations.ts';
import { operationsError } from '../../procedures/errors.ts';
import { sharedError } from '../../base/shared-errors.ts';

const input = z.object({
  name: resourceName('A container name').describe('the container to migrate'),
  into: resourceName('A container name').describe('the target container; it must exist'),
  intoDatabase: resourceName('A database name').optional().describe('database of the target (default: the same)'),
  intoEnv: optional('read the target’s account and database from millrace.NAME.env'),
  rollback: flag('go back: copy what was written since to the old container, and switch the writers back'),
  patience: z
    .number()
    .min(60)
    .optional()
    .describe(
      'seconds after which it stops if writers write faster than it copies; run it again to resume (default: never)',
    ),
  giveUp: flag('abandon an unfinished migration'),
  ...backgroundInput,
});
type MigrateInput = z.output<typeof input>;

async function withContainers<R>(
  { name, into, intoDatabase, intoEnv }: MigrateInput,
  { workspace }: Context,
  work: (containers: Pick<MigrateOptions, 'state' | 'source' | 'target' | 'endpoint'>) => Promise<R>,
): Promise<R> {
  const services = await workspace.services();
  const source = services.place.database.container(name);
  const elsewhere: Settings | undefined =
    intoEnv === undefined ? undefined : loadSettings({ env: intoEnv, directory: workspace.directory, processEnv: {} });
  const ruBudget = elsewhere?.ruBudget ?? workspace.settings().ruBudget;
  const client = elsewhere
    ? await openAccount(
        elsewhere.cosmos,
        { ...elsewhere, ...(ruBudget !== undefined && { ruBudget }) },
        { setting: `COSMOS of millrace.${intoEnv}.env`, ...bulkMarks(elsewhere.bulkBucket) },
      )
    : services.place.database.client;
  try {
    const target = client.database(intoDatabase ?? elsewhere?.database ?? services.place.database.id).container(into);
    for (const container of [source, target]) {
      await withRetry(() => container.read(), { reads: true }).catch(async (error: unknown) => {
        throw await missing(error, container);
      });
    }
    if (
      source.id === target.id &&
      !elsewhere &&
      (intoDatabase ?? services.place.database.id) === services.place.database.id
    ) {
      throw operationsError('input-invalid', `${name} can't be migrated into itself`, {
        hint: 'Name another container with `--into`.',
      });
    }
    return await work({
      state: services.place.state,
      source,
      target,
      ...(elsewhere ? { endpoint: elsewhere.cosmos.endpoint } : {}),
    });
  } finally {
    if (elsewhere) client.dispose();
  }
}

/**
 * The all-versions feed of the target starts when it is first read. The pipeline would miss everything that is written
 * to the target before, deletions included.
 * @throws UsageError `all-versions-feed`, or the reason why the pipeline can't be loaded
 */
async function refuseAllVersions({ name, into, rollback }: MigrateInput, { workspace }: Context): Promise<void> {
  const declared = rollback ? undefined : await workspace.declared(workspace.folder);
  if (!declared) return;
  if ('unloadable' in declared) throw declared.unloadable;
  const containers = allVersionsContainers(declared.pipeline.sources);
  const read = [name, into].find((of) => containers.has(of));
  if (read === undefined) return;
  throw sharedError(
    'all-versions-feed',
    `The pipeline reads ${read} by its all-versions feed, which starts when it is first read. It would miss everything written to ${into} before`,
    {
      hint: "Remove `feed: 'all-versions'` from `source()` and mark deleted documents. Or migrate without the pipeline, then rebuild its projections.",
    },
  );
}

async function missing(error: unknown, container: MigrateOptions['source']): Promise<unknown> {
  const explained = orContainerMissing(error, container);
  if (!(explained instanceof UsageError)) return error;
  const { resources } = await withRetry(() => container.database.containers.readAll().fetchAll(), { reads: true });
  const near = suggestion(
    container.id,
    resources.map(({ id }) => id),
  );
  return sharedError('not-found', `There is no container ${container.id} in database ${container.database.id}${near}`, {
    cause: error,
    hint: 'Create the target first, with its new key and the same `defaultTtl` as the source.',
  });
}

export const migrateContainer = defineOperation({
  name: 'migrate',
  summary:
    'Migrate a container to another partition key, container or account while applications write through the write gate',
  examples: [
    'millrace migrate Orders --into OrdersByCustomer --dry-run',
    'millrace migrate Orders --into Orders --into-env new-account',
    'millrace migrate Orders --into OrdersByCustomer --background --patience 3600',
    'millrace migrate Orders --into OrdersByCustomer --rollback',
  ],
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input,
  plan: async (asked, context) => {
    await refuseAllVersions(asked, context);
    return withContainers(asked, context, async ({ state, source, target }) => {
      const [from, into] = asked.rollback ? [target, source] : [source, target];
      const { resources } = await withRetry(() => from.items.query<number>('SELECT VALUE COUNT(1) FROM c').fetchAll(), {
        reads: true,
      });
      const documents = resources[0] ?? 0;
      const writers = (await readWriters(state, source.id, 0))?.length ?? 0;
      return {
        steps: [
          `copy ${plural(documents, 'document')} of ${from.id} to ${into.id}, then all changes of ${from.id} since`,
          `remove from ${into.id} the documents that ${from.id} no longer has`,
          `close the write gate of ${source.id} for a moment${writers === 0 ? '; no process writes through it now, so make sure that none writes without it' : `: ${writers === 1 ? '1 process writes' : `${writers} processes write`} through it now`}`,
          `open it again with ${into.id} as its target`,
        ],
        ru: documents * RU_A_DOCUMENT,
        seconds: secondsToWrite(documents, 0),
      };
    });
  },
  run: async (asked, context): Promise<Migrated | Enqueued | { readonly givenUp: true }> => {
    if (!asked.giveUp) await refuseAllVersions(asked, context);
    if (asked.background) return enqueue('migrate', asked, context);
    const { workspace, signal, screen } = context;
    if (asked.giveUp) {
      const { state } = (await workspace.services()).place;
      return audited(context, 'migrate', asked, async () => {
        await new Migrations(state).forget(asked.name);
        return { givenUp: true };
      });
    }
    return withContainers(asked, context, (containers) =>
      audited(context, 'migrate', asked, () =>
        migrate({
          ...containers,
          signal,
          rollback: asked.rollback,
          progress: (copied) => screen.progress('copied', copied),
          warn: (text) => screen.line(text),
          patienceMs: asked.patience === undefined ? undefined : asked.patience * 1_000,
        }),
      ),
    );
  },
  format: (result) => {
    if ('givenUp' in result) return 'Migration abandoned. The copied documents stay in the target.';
    if (isEnqueued(result)) return sayEnqueued(result);
    const late = result.late.map(
      (document) =>
        `\n  ${result.from} has a version of ${document} that ${result.into} lacks: it was written without the gate. Compare both.`,
    );
    return `Writers of ${result.from} write to ${result.into} now. ${plural(result.copied, 'document')} copied, ${result.removed.toLocaleString('en-US')} removed; writes paused for ${(result.pausedMs / 1_000).toFixed(2)} s.${late.join('')}`;
  },
  ok: (result) => !('late' in result) || result.late.length === 0,
});

/** To read a document from the feed, look it up in the target, and write it. */
const RU_A_DOCUMENT = 9;
