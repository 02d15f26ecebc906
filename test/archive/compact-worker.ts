// `archive compact` without the wait of five minutes, in a process of its own that may be killed at any point.
import { compactArchive } from '../../src/archive/compact.ts';
import { openArchives } from '../../src/operations/archive/open.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';

const { signal } = new AbortController();
const workspace = openWorkspace({ pipeline: process.env['MILLRACE_PIPELINE'] ?? '' });
const [loaded, services] = [await workspace.pipeline(), await workspace.services()];
for (const archive of await openArchives(loaded, services, { signal, screen: { line: () => undefined } })) {
  const { faults } = await compactArchive(archive, { signal, grace: async () => undefined });
  if (faults.length > 0) throw new Error(faults[0]?.what);
}
await workspace.close();
