import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { TerminalScreen } from '../../src/cli/terminal.ts';

interface Tried {
  readonly screen: TerminalScreen;
  readonly stream: PassThrough & { columns?: number };
  readonly written: () => string;
  /** Lets time pass. */
  readonly pass: (ms: number) => void;
}

function screen(terminal: { isTTY?: boolean; columns?: number; rows?: number }): Tried {
  const stream = Object.assign(new PassThrough(), terminal);
  let now = 0;
  return {
    screen: new TerminalScreen(stream, () => now),
    stream,
    written: () => drained(stream),
    pass: (ms) => void (now += ms),
  };
}

/** All of it: from Node 26 on, a read gives one chunk. */
function drained(stream: PassThrough): string {
  const chunk = stream.read() as Buffer | null;
  return chunk === null ? '' : `${chunk.toString()}${drained(stream)}`;
}

it('the screen redraws in place on a terminal, cut to its width, and lets lines stay above', () => {
  const { screen: live, written } = screen({ isTTY: true, columns: 10 });
  live.draw(['one', 'a line that is too long']);
  expect(written()).toBe('one\na line t…\n');
  live.draw(['two']);
  expect(written()).toBe('\u001B[2A\u001B[Jtwo\n');
  live.line('stays');
  live.draw(['three']);
  expect(written()).toBe('\u001B[1A\u001B[Jstays\nthree\n');
});

it('the screen cuts by the columns that characters take, drops the colours of what it cuts, and keeps a block within the height', () => {
  const { screen: live, written } = screen({ isTTY: true, columns: 10, rows: 3 });
  live.draw(['日本語日本語', '\u001B[31mred\u001B[39m', 'is cut off']);
  expect(written()).toBe('日本語日…\n\u001B[31mred\u001B[39m\n');
  live.draw(['\u001B[31mtoo long by far\u001B[39m']);
  expect(written()).toBe('\u001B[2A\u001B[Jtoo long…\n');
});

it('the screen erases what a terminal has wrapped that became narrower', () => {
  const { screen: live, stream, written } = screen({ isTTY: true, columns: 20 });
  live.draw(['twelve chars', 'short']);
  stream.columns = 5;
  written();
  live.draw(['x']);
  expect(written()).toBe('\u001B[4A\u001B[Jx\n');
});

it('the screen says rate and time left of a count, once they are known, and begins again with another count', () => {
  const { screen: live, written, pass } = screen({ isTTY: true, columns: 100 });
  const last = (): string | undefined => written().split('\u001B[J').at(-1);
  live.progress('copied', 0, 1_000);
  expect(last()).toBe(`${'░'.repeat(20)} copied: 0 of 1,000 (0 %)\n`);
  pass(1_000);
  live.progress('copied', 50, 1_000);
  expect(last()).toBe(`█${'░'.repeat(19)} copied: 50 of 1,000 (5 %), 50/s, 19 s left\n`);
  // The rate is that of the last ten seconds.
  for (let n = 0; n < 20; n++) {
    pass(1_000);
    live.progress('copied', 50 + 5 * n, 1_000);
  }
  expect(last()).toBe(`██${'░'.repeat(18)} copied: 145 of 1,000 (14 %), 5/s, 2 min left\n`);
  pass(1_000);
  live.progress('removed', 7);
  expect(last()).toBe('removed: 7\n');
  pass(60_000);
  live.progress('removed', 7);
  expect(last()).toBe('removed: 7, 0/s\n');
});

it('the screen writes plain lines elsewhere, not with every drawing, and nothing twice', () => {
  const { screen: log, written, pass } = screen({});
  log.draw(['one']);
  log.draw(['two']);
  log.progress('read', 3, 4);
  log.line('said at once');
  expect(written()).toBe('one\nsaid at once\n');
  pass(5_000);
  log.draw(['one']);
  log.draw(['two']);
  log.draw(['three']);
  expect(written()).toBe('two\n');
});
