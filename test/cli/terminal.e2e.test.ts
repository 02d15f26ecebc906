// In a real terminal: a pseudo-terminal of util-linux's `script`. Skipped by name where there is none.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { widthOf } from '../../src/cli/fit.ts';
import { SHOP } from '../support/stage.ts';

const BIN = join(import.meta.dirname, '../../bin/millrace.mjs');
const COLUMNS = 50;
const absent = !/util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});

interface Run {
  readonly child: ChildProcess;
  readonly written: () => string;
  until(pattern: RegExp): Promise<RegExpExecArray>;
}

function inTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}): Run {
  const command = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols ${COLUMNS} rows 12; ${command}`, '/dev/null'], {
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (data: string) => (text += data));
  return {
    child,
    written: () => text,
    until: async (pattern) => {
      for (;;) {
        const found = pattern.exec(text);
        if (found) return found;
        await once(child.stdout, 'data');
      }
    },
  };
}

it.skipIf(absent)(
  'dev redraws one line within the width, status --watch is drawn beside it, and Ctrl-C ends both',
  async () => {
    const dev = inTerminal(['dev', '--pipeline', SHOP, '--rate', '50']);
    const [, cosmos = ''] = await dev.until(/COSMOS='(.+)'\r\n/);
    const [, database = ''] = await dev.until(/COSMOS_DATABASE='(.+)'\r\n/);
    // A run that is named after its pipeline, and not after the folder that it lies in.
    expect(database).toBe('millrace');
    await dev.until(/105 documents loaded; [1-9]/);

    const status = inTerminal(['status', '--watch', '--pipeline', SHOP], { COSMOS: cosmos, COSMOS_DATABASE: database });
    await status.until(/summaries@1/);
    status.child.stdin?.write('\u0003');
    expect((await once(status.child, 'close'))[1]).toBeNull();

    dev.child.stdin?.write('\u0003');
    expect(await once(dev.child, 'close')).toEqual([130, null]);
    // The verdict is written once, in whatever width, and no drawing comes over it.
    const drawings = dev
      .written()
      .split('\u001B[1A\u001B[J')
      .slice(1)
      .filter((text) => !text.startsWith('All right'));
    expect(drawings.length).toBeGreaterThan(2);
    for (const drawing of drawings) expect(widthOf(drawing.split('\r\n')[0] ?? '')).toBeLessThan(COLUMNS);
  },
);
