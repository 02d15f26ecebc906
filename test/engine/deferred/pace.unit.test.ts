// How fast a queue gets shorter. docs/SPEC-tenants.md, TEN-F20.
import { expect, test } from 'vitest';
import type { Head } from '../../../src/engine/deferred/documents.ts';
import { marked, paceOf } from '../../../src/engine/deferred/pace.ts';

const MINUTE = 60_000;

test('a head remembers where it was a minute ago or two, and no longer', () => {
  let head: Omit<Head, 'id'> = marked({ first: 0, next: 10 }, 0);
  expect(paceOf(head, 1_000)).toBeUndefined();
  for (let at = 1_000; at <= 5 * MINUTE; at += 1_000)
    head = marked({ ...head, first: at / 1_000, next: 10 + at / 500 }, at);
  expect(head.marks).toHaveLength(2);
  expect(paceOf(head, 5 * MINUTE + 30_000)).toEqual({ ms: 90_000, drained: 60, added: 120 });
});

test('of a queue that was not drained lately nothing is known', () => {
  const head = { ...marked({ first: 0, next: 10 }, 0), first: 3 };
  expect(paceOf(head, MINUTE)).toEqual({ ms: MINUTE, drained: 3, added: 0 });
  expect(paceOf(head, 6 * MINUTE)).toBeUndefined();
  expect(paceOf({ first: 3, next: 10 }, MINUTE)).toBeUndefined();
});
