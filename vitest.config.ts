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
    projects: [tier('unit', 10_000), tier('int', 60_000), tier('model', 600_000), tier('e2e', 300_000)],
    passWithNoTests: false,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
