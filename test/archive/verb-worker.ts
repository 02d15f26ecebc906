// A process that has loaded everything before it is asked for a verb of the archive, so that a test which kills many of
// them waits for no start. `compact` runs without its wait of five minutes. It may be killed at any point.
import { once } from 'node:events';
import { compactArchive } from '../../src/archive/compact.ts';
import { everyOperation } from '../../src/cli/registry.ts';
import { runCli } from '../../src/cli/run.ts';
import { openArchives } from '../../src/procedures/archive/open.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';

/** What the parent asks for. */
export interface Asked {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const { signal } = new AbortController();

async function compact(): Promise<number> {
  const pipeline = process.env['MILLRACE_PIPELINE'] ?? '';
  const workspace = openWorkspace({ directory: pipeline, pipeline });
  const [loaded, services] = [await workspace.pipeline(), await workspace.services()];
  for (const archive of await openArchives(loaded, services, { signal, screen: { line: () => undefined } })) {
    const { faults } = await compactArchive(archive, { signal, grace: async () => undefined });
    if (faults.length > 0) throw new Error(faults[0]?.what);
  }
  await workspace.close();
  return 0;
}

process.once('disconnect', () => process.exit());
process.send?.('ready');
const [{ name, args, env }] = (await once(process, 'message')) as [Asked];
Object.assign(process.env, env);
const { stdout, stderr } = process;
const streams = { stdout, stderr, directory: process.cwd(), signal };
process.exit(name === 'compact' ? await compact() : await runCli(everyOperation, '0.0.0-test', args, streams));
