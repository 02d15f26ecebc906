import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { cli } from '../../cli/cli.ts';
import { VERSIONS } from '../../verbs/projections/versions.ts';
import { millrace } from '../../support/process.ts';

it('a development run works on jobs that another terminal leaves to it, and starts nothing for them before', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-dev-jobs-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  await using dev = millrace(['dev', '--pipeline', VERSIONS, '--data', directory]);
  await dev.until(/documents loaded/);
  expect(existsSync(join(directory, 'jobs'))).toBe(false);
  // What it prints, pasted into a shell.
  const lines = dev.stdout.split('\n').filter((line) => line.startsWith('export '));
  const names = ['COSMOS', 'COSMOS_DATABASE', 'JOBS_URL'];
  const shell = ['-c', [...lines, `printenv ${names.join(' ')}`].join('\n')];
  const values = spawnSync('sh', shell, { encoding: 'utf8', env: { PATH: process.env['PATH'] } }).stdout.split('\n');
  expect(values).toEqual([expect.stringMatching(/^AccountEndpoint=http/), 'versions', expect.any(String), '']);
  for (const [at, name] of names.entries()) vi.stubEnv(name, values[at]);
  onTestFinished(() => void vi.unstubAllEnvs());
  const asked = await cli(['projections', 'rebuild', 'summaries@2', '--background', '--pipeline', VERSIONS]);
  expect(asked).toMatchObject({ code: 0, stderr: '' });
  await dev.until(/job 1 \(operation\) is done/);
  const show = await cli(['projections', 'show', 'summaries', '--pipeline', VERSIONS]);
  expect(show.stdout).toContain('filled: version 2');
  dev.kill('SIGINT');
  expect(await dev.ended).toEqual({ code: 130, signal: null });
});
