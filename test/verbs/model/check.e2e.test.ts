import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { millrace } from '../../support/process.ts';
import { DESIGN } from '../../model/rules/base.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-check-'));
  // Quotes of their own take the parser time with the square of their number: a quarter of a minute, before it is ended.
  writeFileSync(join(folder, 'cosmosdb_data_model.md'), `${DESIGN}\n\n${'> a\n\n'.repeat(40_000)}`);
  writeFileSync(join(folder, 'pipeline.ts'), 'console.error("reading");\nthrow new Error("no pipeline");\n');
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends a check in the middle of a document', async (signal) => {
  await using check = millrace(['model', 'check', folder]);
  await check.until(/reading/);
  check.kill(signal);
  expect(await check.ended).toEqual({ code: null, signal });
  expect(check.stdout).toBe('');
});
