import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { top } from '../../../src/cli/top/top.operation.ts';
import type { Context } from '../../../src/operations/operation.ts';
import { type Stage, SHOP, openStage } from '../../support/stage.ts';
import { cli } from '../cli.ts';

/** A terminal that keeps what it gets. */
class FakeTerminal {
  readonly written: string[] = [];
  readonly raw: boolean[] = [];
  readonly input = Object.assign(new EventEmitter(), {
    setRawMode: (on: boolean) => void this.raw.push(on),
    resume: () => undefined,
    pause: () => undefined,
  });
  readonly output = Object.assign(new EventEmitter(), {
    columns: 60,
    rows: 10,
    write: (text: string) => {
      this.written.push(text);
      this.#drawn?.();
      return true;
    },
  });
  #drawn: (() => void) | undefined;

  /** Resolves with the last drawing once there are so many: the first thing that is written is none. */
  async drawing(count: number): Promise<string> {
    while (this.written.length < count + 1) await new Promise<void>((resolve) => (this.#drawn = resolve));
    return this.written.at(-1) ?? '';
  }
  press(key: string): void {
    this.input.emit('data', Buffer.from(key));
  }
}

const context = (stage: Stage, signal = new AbortController().signal): Context =>
  ({
    signal,
    actor: 'test',
    screen: { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined },
    workspace: {
      directory: SHOP,
      folder: SHOP,
      settings: () => stage.settings,
      pipeline: async () => stage.loaded,
      services: async () => stage.services,
    },
  }) as unknown as Context;

const CLEARED = '\u001B[?25h\u001B[?1049l';

it.each(['q', '\u0003'])(
  'draws, draws again when the terminal changes its size, and gives it back after %j',
  async (key) => {
    await using stage = await openStage();
    const terminal = new FakeTerminal();
    const running = top(() => terminal as never).run({ every: '3600s' }, context(stage));
    const drawn = await terminal.drawing(1);
    expect(terminal.written[0]).toBe('\u001B[?1049h\u001B[?25l');
    expect(drawn.startsWith('\u001B[Hmillrace in shop, ')).toBe(true);
    expect(drawn.split('\r\n').length).toBeLessThanOrEqual(10);
    terminal.output.rows = 4;
    terminal.output.emit('resize');
    expect((await terminal.drawing(2)).split('\r\n')).toHaveLength(4);
    terminal.press('j');
    await terminal.drawing(3);
    terminal.press(key);
    expect(await running).toMatchObject({ ok: true, text: '', value: { database: 'shop' } });
    expect(terminal.written.at(-1)).toBe(CLEARED);
    expect(terminal.raw).toEqual([true, false]);
    expect(terminal.input.listenerCount('data') + terminal.output.listenerCount('resize')).toBe(0);
  },
);

it('gives the terminal back when it is stopped from outside, and fails before it takes it', async () => {
  await using stage = await openStage();
  const terminal = new FakeTerminal();
  const stop = new AbortController();
  const running = top(() => terminal as never).run({}, context(stage, stop.signal));
  await terminal.drawing(1);
  stop.abort();
  await running;
  expect(terminal.written.at(-1)).toBe(CLEARED);
  const untouched = new FakeTerminal();
  const unreachable = context(stage);
  Object.assign(unreachable.workspace, { services: async () => Promise.reject(new Error('no account')) });
  await expect(top(() => untouched as never).run({}, unreachable)).rejects.toThrow('no account');
  expect(untouched.written).toEqual([]);
});

it('needs a terminal', async () => {
  expect(await cli(['top', '--pipeline', SHOP])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('`millrace top` needs a terminal\n  Use `millrace status --watch`'),
  });
});
