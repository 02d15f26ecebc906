import { defineConfig } from 'vitest/config';

// One project a tier, so that `npm test -- --project unit` runs just the quick ones.
const tier = (name: string, testTimeout: number) => ({
  extends: true as const,
  test: { name, include: [`test/**/*.${name}.test.ts`], testTimeout, hookTimeout: 60_000 },
});

// .ci/run reads the counts from a report.
const report = process.env['MILLRACE_TEST_REPORT'];

export default defineConfig({
  resolve: { conditions: ['millrace-source', 'node', 'import', 'default'] },
  // Handed to Node itself, whose require() would take 'import' for its own: pg, for one, breaks on that.
  ssr: { resolve: { conditions: ['millrace-source', 'node'] } },
  test: {
    // Timeouts end what hangs; nothing is timed by them.
    projects: [tier('unit', 30_000), tier('int', 120_000), tier('model', 900_000), tier('e2e', 600_000)],
    // All cores: left to itself it keeps one back for watching, which here is half of the machine.
    maxWorkers: '100%',
    passWithNoTests: false,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
