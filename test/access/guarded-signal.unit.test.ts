import { expect, it } from 'vitest';
import { guarded } from '../../src/access/guarded-signal.ts';

it('a guarded signal keeps what a listener throws from the process, and calls the others', () => {
  const ending = new AbortController();
  const signal = guarded(ending.signal);
  const called: string[] = [];
  signal.addEventListener('abort', () => {
    called.push('first');
    throw new TypeError("Cannot read properties of undefined (reading 'address')");
  });
  signal.addEventListener('abort', () => called.push('second'));
  expect(signal.aborted).toBe(false);
  ending.abort();
  expect(signal.aborted).toBe(true);
  // Node.js reports what a listener throws on the next tick, which vitest counts as a failure of the run.
  expect(called).toEqual(['first', 'second']);
});

it('a guarded signal calls no listener that was removed', () => {
  const ending = new AbortController();
  const signal = guarded(ending.signal);
  const called: string[] = [];
  const listener = (): number => called.push('removed');
  signal.addEventListener('abort', listener);
  signal.removeEventListener('abort', listener);
  ending.abort();
  expect(called).toEqual([]);
});
