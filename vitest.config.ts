import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Plugin, defineConfig } from 'vitest/config';

/** Handed to Node itself, whose require() would take 'import' for its own: pg, for one, breaks on that. */
const NODE_CONDITIONS = ['millrace-source', 'node'];

/** Packages as users have them: Vite adds the condition for their development builds, which are slower. */
const asInstalled: Plugin = {
  name: 'as-installed',
  configResolved({ ssr }) {
    if (ssr.resolve) ssr.resolve.conditions = NODE_CONDITIONS;
  },
};

// One project a tier, so that `npm test -- --project unit` runs just the quick ones.
const tier = (name: string, testTimeout: number, isolate: boolean, globalSetup: string[] = []) => ({
  extends: true as const,
  test: { name, include: [`test/**/*.${name}.test.ts`], testTimeout, hookTimeout: 60_000, isolate, globalSetup },
});

// What Node compiled for one file, or one of the many processes that tests start, is there for the next: in Node's folder.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache');

// .ci/run reads the counts from a report.
const report = process.env['MILLRACE_TEST_REPORT'];

export default defineConfig({
  resolve: { conditions: ['millrace-source', 'node', 'import', 'default'] },
  ssr: { resolve: { conditions: NODE_CONDITIONS } },
  plugins: [asInstalled],
  test: {
    // Timeouts end what hangs; nothing is timed by them.
    projects: [
      // Files share a process and its modules: loading them again for each file took a third of the tests' time.
      tier('unit', 30_000, false),
      tier('int', 120_000, false),
      tier('model', 900_000, false),
      tier('crash', 3_600_000, false),
      tier('e2e', 600_000, true, ['test/support/built.ts']),
    ],
    // The default of a second fails on a busy machine. `vi.waitFor` has no such option: each call has its own.
    expect: { poll: { timeout: 30_000 } },
    // More than cores, because many tests wait half of their time.
    maxWorkers: availableParallelism() * 2,
    passWithNoTests: false,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
