// Prints what failed and `tests: N passed, N failed` from vitest's JSON report: last, because the end of a long log is
// what is read, or kept. No report, no tests, or a file that didn't run: exit code 1.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';

/** Lines of a failure's message: the assertion, its difference, and where it was thrown. */
const MESSAGE_LINES = 40;

const reportOf = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numFailedTestSuites: z.number(),
  numPendingTests: z.number(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string(),
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()).nullish() }),
      ),
    }),
  ),
});

const path = process.argv[2];

if (path === undefined || !existsSync(path)) {
  console.log('tests: 0 passed, 0 failed');
  console.error('The tests wrote no report: they did not come to an end.');
  process.exitCode = 1;
} else {
  const report = reportOf.parse(JSON.parse(readFileSync(path, 'utf8')));
  for (const file of report.testResults) {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed');
    for (const { fullName, failureMessages } of failed) told(file.name, fullName, failureMessages ?? []);
    if (file.status === 'failed' && failed.length === 0) told(file.name, 'the file itself', [file.message]);
  }
  const { numPassedTests, numFailedTests, numFailedTestSuites, numPendingTests } = report;
  const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : '';
  console.log(`tests: ${numPassedTests} passed, ${numFailedTests} failed${skipped}`);
  if (numPassedTests === 0 || numFailedTests > 0 || numFailedTestSuites > 0) process.exitCode = 1;
}

function told(file: string, test: string, messages: readonly string[]): void {
  console.log(`failed: ${relative(process.cwd(), file)}: ${test}`);
  for (const message of messages) {
    const lines = stripVTControlCharacters(message).split('\n');
    console.log(lines.slice(0, MESSAGE_LINES).join('\n'));
  }
  console.log('');
}
