// Prints `tests: N passed, N failed` from vitest's JSON report. No report, no tests, or a file that didn't run: exit code 1.
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const report = process.argv[2];
const counts = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numFailedTestSuites: z.number(),
  numPendingTests: z.number(),
});

if (report === undefined || !existsSync(report)) {
  console.log('tests: 0 passed, 0 failed');
  console.error('The tests wrote no report: they did not come to an end.');
  process.exitCode = 1;
} else {
  const { numPassedTests, numFailedTests, numFailedTestSuites, numPendingTests } = counts.parse(
    JSON.parse(readFileSync(report, 'utf8')),
  );
  const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : '';
  console.log(`tests: ${numPassedTests} passed, ${numFailedTests} failed${skipped}`);
  if (numPassedTests === 0 || numFailedTests > 0 || numFailedTestSuites > 0) process.exitCode = 1;
}
