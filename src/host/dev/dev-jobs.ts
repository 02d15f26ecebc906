import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { messageOf } from '../../base/errors.ts';
import type { Working } from '../../jobs/jobs.ts';
import type { Registry } from '../../verbs/registry.ts';
import type { Screen } from '../../procedures/screen.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { startEmbeddedJobs } from './jobs-embedded.ts';
import { jobHandlers } from '../run/jobs.ts';
import { openJobs } from '../../runtime/open-jobs.ts';

export interface DevJobsOptions {
  /** Where jobs are stored, so that they outlive the run. Without it they are in memory. */
  readonly folder: string | undefined;
  /** The servers of this run, on which the jobs work. */
  readonly workspace: Workspace;
  readonly screen: Pick<Screen, 'line'>;
  /** The operations that jobs may run. */
  readonly registry: () => Registry;
}

/** Background jobs of a development run. */
export interface DevJobs extends AsyncDisposable {
  /** For JOBS_URL of other terminals. */
  readonly url: string;
  /** Resolves once the datastore runs. A client waits half a minute for an answer, and a slow machine takes longer to start it. */
  ready(): Promise<void>;
}

/**
 * A datastore for jobs, PostgreSQL in WebAssembly, and a worker. Both start at the first connection, or immediately if the
 * folder has jobs of an earlier run. Until then only a port is open.
 */
export async function startDevJobs({ folder, workspace, screen, registry }: DevJobsOptions): Promise<DevJobs> {
  let starting: ReturnType<typeof start> | undefined;
  const start = async () => {
    const store = await startEmbeddedJobs(folder === undefined ? {} : { folder });
    const jobs = await openJobs(store.url, (await workspace.pipeline()).pipeline);
    const working: Working = jobs.work(jobHandlers(registry(), { ...workspace, jobs: async () => jobs }), {
      concurrency: 2,
      onTrouble: (error) => screen.line(`jobs: ${messageOf(error)}; Millrace will try again`),
      onFinished: ({ id, name, failure }) =>
        screen.line(failure === null ? `job ${id} (${name}) is done` : `job ${id} (${name}) failed: ${failure}`),
    });
    return { store, jobs, working };
  };
  const started = (): ReturnType<typeof start> => {
    starting ??= start();
    starting.catch((error: unknown) => {
      starting = undefined;
      screen.line(`jobs: ${messageOf(error)}`);
    });
    return starting;
  };
  const pass = async (socket: Socket): Promise<void> => {
    const { store } = await started();
    const behind = connect({ port: Number(new URL(store.url).port), host: '127.0.0.1', noDelay: true });
    behind.on('error', () => socket.destroy());
    socket.once('close', () => behind.destroy());
    behind.once('close', () => socket.destroy());
    socket.pipe(behind).pipe(socket);
  };
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    void pass(socket).catch(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  if (folder !== undefined && existsSync(folder)) await started();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`,
    ready: async () => void (await started()),
    [Symbol.asyncDispose]: async () => {
      server.close();
      const running = await starting?.catch(() => undefined);
      await running?.working.stop();
      for (const socket of sockets) socket.destroy();
      await running?.jobs.close();
      await running?.store[Symbol.asyncDispose]();
    },
  };
}
