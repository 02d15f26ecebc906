// How processes end whose services are gone. A test's time limit is what they have: on a service that answers nothing
// they used to take one to four minutes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, inject, it, onTestFinished } from 'vitest';
import { millrace } from '../support/process.ts';
import { SHOP, openStage } from '../support/stage.ts';

const LIMIT = { timeout: 60_000 };

it(
  '`run` ends although its account answers nothing any more, and names the leases that it could not give back',
  LIMIT,
  async () => {
    await using stage = await openStage();
    await using run = millrace(['run', '--pipeline', SHOP, '--poll-delay', '50'], { env: stage.env });
    await run.until(/lag 0 s/);
    stage.emulator.stall(600_000);
    run.kill('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect(run.stdout).toMatch(
      /stopped; it could not give back 2 leases \((Customers|Orders) \S+, (Customers|Orders) \S+\), which other hosts may take 60 s after the last renewal\.\n/,
    );
    // Nothing but the answers was missing, so the test's own requests get them.
    stage.emulator.stall(0);
  },
);

it('`run` says that its leases are free where they are', LIMIT, async () => {
  await using stage = await openStage();
  await using run = millrace(['run', '--pipeline', SHOP, '--poll-delay', '50'], { env: stage.env });
  await run.until(/lag 0 s/);
  run.kill('SIGTERM');
  expect((await run.ended).code).toBe(143);
  expect(run.stdout).toContain('stopped; its leases are free.');
});

it.skipIf(process.platform === 'win32')('`dev --once` ends when its disk is full, and says so', LIMIT, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-ending-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  // A limit on the size of files stands for a disk that is full: SQLite meets it at the same calls.
  const limited = [
    '-c',
    'ulimit -S -f 1000; exec "$0" "$@"',
    process.execPath,
    join(inject('built'), 'dist/src/cli/main.js'),
  ];
  const dev = spawn(
    'sh',
    [...limited, 'dev', '--pipeline', join(inject('built'), 'test/fixtures/shop'), '--once', '--data', 'data'],
    {
      cwd: directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  onTestFinished(() => void dev.kill('SIGKILL'));
  const [said, [code]] = await Promise.all([text(dev.stderr), once(dev, 'close')]);
  expect(said).toMatch(/error: The data folder data can't be written any more: .*\n {2}Free space on its disk/);
  expect(code).toBe(2);
});
