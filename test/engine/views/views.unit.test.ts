import { describe, expect, it } from 'vitest';
import { viewHeldBy } from '../../../src/engine/views/held.ts';
import { NO_VIEW, type View, type ViewVersion } from '../../../src/engine/views/views.ts';

const order = { container: 'Orders', type: 'order' };
const version = (number: number, reads = [order]): ViewVersion => ({
  version: number,
  container: 'Sink',
  type: 'row',
  reads,
});
const view = (more: Partial<View>): View => ({ ...NO_VIEW, current: version(1), ...more });
const known = new Set(['a@1']);
const NOW = Date.parse('2026-01-01T00:00:00Z');
const code = (views: Record<string, View>, of = order) => viewHeldBy(views, of, known, NOW)?.message;

describe('a page waits', () => {
  it('a page waits for nothing while all is known and nothing is under way', () => {
    expect(code({ a: view({}) })).toBeUndefined();
    expect(code({})).toBeUndefined();
    expect(code({ a: view({ current: null }) })).toBeUndefined();
  });

  it('a page waits while what reads its type is paused, and no other type', () => {
    const paused = { since: 'then', by: 'me', reason: 'throttled' };
    expect(code({ a: view({ paused }) })).toBe('a is paused since then by me: throttled');
    expect(code({ a: view({ paused }) }, { container: 'Orders', type: 'note' })).toBeUndefined();
  });

  it('a page waits while a version that reads its type is being promoted, until the freeze is over', () => {
    const staged = (frozenUntil: string) => ({ ...version(2), phase: 'frozen' as const, since: 'then', frozenUntil });
    expect(code({ a: view({ staged: staged('2026-01-01T00:00:01Z') }) })).toBe('a@2 is being promoted');
    expect(code({ a: view({ staged: staged('2025-12-31T23:59:59Z') }) })).toBeUndefined();
    const only = { ...staged('2026-01-01T00:00:01Z'), reads: [{ container: 'Customers', type: 'customer' }] };
    expect(code({ a: view({ staged: only }) }, { container: 'Customers', type: 'customer' })).toBe(
      'a@2 is being promoted',
    );
  });

  it('a page waits while the version before becomes current again, until that freeze is over', () => {
    const previous = (frozenUntil: string) => ({
      ...version(2),
      replacedAt: 'then',
      readableUntil: 'later',
      keptUntil: 'later',
      frozenUntil,
    });
    expect(code({ a: view({ previous: previous('2026-01-01T00:00:01Z') }) })).toBe('a@2 is being promoted');
    expect(code({ a: view({ previous: previous('2025-12-31T23:59:59Z') }) })).toBeUndefined();
  });

  it('a page doesn’t wait for a version that is being filled', () => {
    expect(code({ a: view({ staged: { ...version(2), phase: 'filling', since: 'then' } }) })).toBeUndefined();
  });

  it('a page waits where this build does not know the current version', () => {
    expect(code({ a: view({ current: version(2) }) })).toBe('a@2 is current, and this pipeline does not declare it');
    const hint = (views: Record<string, View>) => viewHeldBy(views, order, known, NOW)?.hint;
    const previous = (keptUntil: string) => ({
      ...version(1),
      replacedAt: 'then',
      readableUntil: 'later',
      keptUntil,
    });
    const deploy = 'Deploy the code that declares version 2 of a to this host';
    expect(hint({ a: view({ current: version(2), previous: previous('2026-01-01T01:00:00Z') }) })).toBe(
      `${deploy}, or go back with \`millrace projections promote a --back\`. Nothing is lost meanwhile.`,
    );
    expect(hint({ a: view({ current: version(2), previous: previous('2025-12-31T23:00:00Z') }) })).toBe(
      `${deploy}. Nothing is lost meanwhile.`,
    );
    expect(hint({ b: view({ current: version(2) }) })).toContain('taken out of the pipeline for good');
  });
});
