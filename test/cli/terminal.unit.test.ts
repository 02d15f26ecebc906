import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { TerminalScreen } from '../../src/cli/terminal.ts';

function screen(terminal: { isTTY?: boolean; columns?: number }): { screen: TerminalScreen; written: () => string } {
  const stream = Object.assign(new PassThrough(), terminal);
  return { screen: new TerminalScreen(stream), written: () => drained(stream) };
}

/** All of it: from Node 26 on, a read gives one chunk. */
function drained(stream: PassThrough): string {
  const chunk = stream.read() as Buffer | null;
  return chunk === null ? '' : `${chunk.toString()}${drained(stream)}`;
}

it('redraws in place on a terminal, cut to its width, and lets lines stay above', () => {
  const { screen: live, written } = screen({ isTTY: true, columns: 10 });
  live.draw(['one', 'a line that is too long']);
  expect(written()).toBe('one\na line th\n');
  live.draw(['two']);
  expect(written()).toBe('\u001B[2A\u001B[Jtwo\n');
  live.line('stays');
  live.draw(['three']);
  expect(written()).toBe('\u001B[1A\u001B[Jstays\nthree\n');
});

it('writes plain lines elsewhere, and not with every drawing', () => {
  const { screen: log, written } = screen({});
  log.draw(['one']);
  log.draw(['two']);
  log.progress('read', 3, 4);
  log.line('said at once');
  expect(written()).toBe('one\nsaid at once\n');
});
