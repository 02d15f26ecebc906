// A function of the user that never returns: who says so, and how the process still ends.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { millrace } from '../support/process.ts';
import { SHOP, openStage } from '../support/stage.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-watchdog-'));
  cpSync(SHOP, join(directory, 'pipeline'), { recursive: true });
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(inject('built'), join(directory, 'node_modules/millrace'), 'dir');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Puts a loop that never ends before a part of a file. */
function loop(name: string, before: string): void {
  const file = join(directory, 'pipeline', name);
  const code = readFileSync(file, 'utf8');
  expect(code).toContain(before);
  writeFileSync(file, code.replace(before, `(() => { for (let n = 0; ; n++); })() ?? ${before}`));
}
const IN_MAP = 'customer?.name ?? null';
const OF_MAP = /^map of summaries@1 \(pipeline\/pipeline\.ts:\d+:\d+\) has not returned for 5 s, .* Ctrl-C ends it/m;

it.each([
  ['SIGINT', 'pipeline.ts', IN_MAP, OF_MAP],
  [
    'SIGTERM',
    'pipeline.ts',
    'definePipeline({',
    /^A function \(pipeline\/pipeline\.ts:\d+:\d+\) has not returned for 5 s/m,
  ],
] as const)(
  '`dev` names code that never returns, and %s ends it (%s, before %s)',
  async (signal, name, before, said) => {
    loop(name, before);
    await using dev = millrace(['dev'], { directory });
    await dev.until(said);
    dev.kill(signal);
    expect((await dev.ended).signal).toBe(signal);
  },
);

it('`run` names the function and the projection that never return, and a signal ends it', async () => {
  await using stage = await openStage();
  await stage.container('Orders').items.create({
    id: 'o1',
    storeId: 's1',
    type: 'order',
    customerId: 'c1',
    placedAt: '2026-01-01T00:00:00Z',
    cents: 1,
  });
  loop('pipeline.ts', IN_MAP);
  await using run = millrace(['run', '--poll-delay', '50'], { directory, env: stage.env });
  await run.until(OF_MAP);
  run.kill('SIGTERM');
  expect((await run.ended).signal).toBe('SIGTERM');
});

const APART = ['--pid', '--fork', '--mount-proc', '--kill-child'];
it.skipIf(spawnSync('unshare', [...APART, 'true']).status !== 0)(
  'the first process of a container ends at a signal although its code never returns',
  async () => {
    loop('pipeline.ts', IN_MAP);
    const bin = join(inject('built'), 'bin/millrace.mjs');
    // It passes the terminal's signal on to the whole group, as `docker run -it` does.
    const first = spawn('unshare', [...APART, process.execPath, bin, 'dev'], { cwd: directory, detached: true });
    const ended = once(first, 'close');
    for await (const chunk of first.stderr) if (OF_MAP.test(String(chunk))) break;
    process.kill(-Number(first.pid), 'SIGINT');
    await ended;
    expect(first.exitCode ?? first.signalCode).not.toBeNull();
  },
);
