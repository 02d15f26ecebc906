import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { cli } from '../../cli/cli.ts';
import { VERSIONS } from '../../operations/projections/versions.ts';
import { millrace } from '../../support/process.ts';

it('a development run works on jobs that another terminal leaves to it, and starts nothing for them before', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-dev-jobs-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  await using dev = millrace(['dev', '--pipeline', VERSIONS, '--data', directory]);
  const [, database = '', account = ''] = await dev.until(/COSMOS_DATABASE=(\S+) COSMOS='([^']+)'/);
  const [, url = ''] = await dev.until(/JOBS_URL='([^']+)'/);
  await dev.until(/nothing to load/);
  expect(existsSync(join(directory, 'jobs'))).toBe(false);
  for (const [name, value] of Object.entries({ COSMOS: account, COSMOS_DATABASE: database, JOBS_URL: url }))
    vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const asked = await cli(['projections', 'rebuild', 'summaries@2', '--background', '--pipeline', VERSIONS]);
  expect(asked).toMatchObject({ code: 0, stderr: '' });
  await dev.until(/job 1 \(operation\) is done/);
  const show = await cli(['projections', 'show', 'summaries', '--pipeline', VERSIONS]);
  expect(show.stdout).toContain('filled: version 2');
  dev.kill('SIGINT');
  expect(await dev.ended).toEqual({ code: 130, signal: null });
});
