import { describe, expect, it } from 'vitest';
import { allowedOf, askedOf } from '../../src/dashboard/allowed.ts';
import { shownOnPage } from '../../src/dashboard/shown.ts';
import { registry } from '../../src/host/registry.ts';

const allowed = allowedOf(registry.all());
const ONCE = '0123456789';

describe('what pages may run', () => {
  it('an operation that pages may run is registered, and each of its fields exists', () => {
    const unknown = [...allowed].flatMap(([name, { operation, fields }]) =>
      fields.filter((field) => !(field in operation.input.shape)).map((field) => `${name} ${field}`),
    );
    expect(unknown).toEqual([]);
  });

  it('a page may fill in all that an operation can’t do without', () => {
    const lacking = [...allowed].flatMap(([name, { operation, fields }]) =>
      Object.entries(operation.input.shape)
        .filter(([field, type]) => !type.safeParse(undefined).success && !fields.includes(field))
        .map(([field]) => `${name} ${field}`),
    );
    expect(lacking).toEqual([]);
  });

  it('an operation that pages may run names no file of the machine, and starts nothing that does not end', () => {
    const fields = [...allowed.values()].flatMap((of) => of.fields);
    expect(fields.filter((field) => /file|folder|directory|path|input|watch|serve|env/i.test(field))).toEqual([]);
    for (const name of ['dev', 'run', 'jobs work', 'tenants erase', 'emulator start', 'init'])
      expect(allowed.has(name)).toBe(false);
  });

  it.each([
    ['status', { input: { watch: true } }, /the field watch/],
    ['status', { input: { serve: true } }, /the field serve/],
    ['model check', { input: { directory: '/etc' } }, /the field directory/],
    ['tenants erase', {}, /No page/],
    ['__proto__', {}, /No page/],
    ['status', { surplus: 1 }, /the field surplus/],
    ['status', [], /the field unknown/],
    ['status', { input: [] }, /the field input/],
    ['status', { dryRun: 'yes' }, /another type/],
    ['dead-letters redrive', {}, /no press of a button/],
    ['dead-letters redrive', { once: 'short' }, /another type/],
  ])('%s with %j is refused', (name, body, message) => {
    expect(() => askedOf(allowed, name, body)).toThrow(message);
  });

  it('an operation that pages may run takes what pages send', () => {
    expect(askedOf(allowed, 'status', {})).toMatchObject({ name: 'status', dryRun: false });
    expect(askedOf(allowed, 'dead-letters redrive', { input: { id: 'a' }, once: ONCE })).toMatchObject({ once: ONCE });
    expect(askedOf(allowed, 'dead-letters redrive', { dryRun: true })).toMatchObject({ once: undefined });
  });
});

describe('what pages get', () => {
  it('what pages get has no secret, in texts and in fields that always are secrets', () => {
    const key = `${'A'.repeat(86)}==`;
    const value = { why: `AccountKey=${key};`, deep: [{ password: 'hunter2', accountKey: 'x', name: 'kept' }], n: 3 };
    expect(shownOnPage(value)).toEqual({
      why: 'AccountKey=***;',
      deep: [{ password: '***', accountKey: '***', name: 'kept' }],
      n: 3,
    });
  });

  it('what pages get is bounded in length and depth', () => {
    expect(shownOnPage(Array.from({ length: 5_000 }, () => 1))).toHaveLength(1_000);
    expect((shownOnPage('x'.repeat(100_000)) as string).length).toBe(20_001);
    let deep: unknown = 'end';
    for (let at = 0; at < 100; at++) deep = [deep];
    expect(JSON.stringify(shownOnPage(deep))).toContain('…');
  });
});
