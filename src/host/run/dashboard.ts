import { z } from 'zod';
import { packageVersion } from '../../base/package.ts';
import { type Dashboard, startDashboard } from '../../dashboard/server.ts';
import type { Context } from '../../procedures/context.ts';
import type { Registry } from '../../verbs/registry.ts';
import type { Workspace } from '../../runtime/workspace.ts';

const WRONG = 'must be a port, 0 to 65535';
const port = z.int(WRONG).min(0, WRONG).max(65_535, WRONG);

/** A flag with or without a port: `--dashboard`, `--dashboard 8080`. */
export const portFlag = z.union([z.boolean(), port], { error: WRONG });

/** Of `--dashboard`: the port to listen at, 0 for any; undefined: the flag isn't given. */
export const portOf = (flag: boolean | number | undefined): number | undefined =>
  flag === true ? 0 : flag === false ? undefined : flag;

/** Of a verb that also does other work. */
export const dashboardFlag = portFlag
  .optional()
  .describe('also serve the dashboard, at this port of 127.0.0.1 (without a port: any free one)');

/** A look costs as much as `millrace status`: it reads a document for each lease, the dead letters and the hosts' reports. */
export const LOOK_MS = 5_000;

/** The dashboard beside the work of a verb, if `--dashboard` is given. */
export async function dashboardBeside(
  flag: boolean | number | undefined,
  context: Context,
  registry: () => Registry,
): Promise<Dashboard | undefined> {
  const at = portOf(flag);
  if (at === undefined) return undefined;
  const workspace = Promise.resolve(context.workspace);
  return openDashboard({ context, registry: registry(), workspace, port: at, everyMs: LOOK_MS });
}

interface OpenedBy {
  readonly context: Context;
  readonly registry: Registry;
  readonly workspace: Promise<Workspace>;
  readonly port: number;
  /** Milliseconds between two looks at the pipeline. */
  readonly everyMs: number;
}

/**
 * Starts the dashboard, by the variables MILLRACE_DASHBOARD_ADDRESS (default 127.0.0.1), MILLRACE_DASHBOARD_TOKEN and
 * MILLRACE_DASHBOARD_READER_TOKEN.
 * @throws UsageError `setting-invalid`, `cannot-listen`
 */
export async function openDashboard({ context, registry, workspace, port: at, everyMs }: OpenedBy): Promise<Dashboard> {
  const {
    MILLRACE_DASHBOARD_ADDRESS: address,
    MILLRACE_DASHBOARD_TOKEN,
    MILLRACE_DASHBOARD_READER_TOKEN,
  } = process.env;
  const dashboard = await startDashboard({
    operations: registry.all(),
    workspace,
    address: set(address) ?? '127.0.0.1',
    port: at,
    tokens: { operator: set(MILLRACE_DASHBOARD_TOKEN), reader: set(MILLRACE_DASHBOARD_READER_TOKEN) },
    everyMs,
    actor: context.actor,
    version: packageVersion(),
  });
  context.screen.line(`Dashboard: ${dashboard.url}`);
  return dashboard;
}

const set = (value: string | undefined): string | undefined => (value === '' ? undefined : value);
