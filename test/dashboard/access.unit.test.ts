import { describe, expect, it } from 'vitest';
import { DashboardAccess, assertClosed, assertOwn, isLoopback } from '../../src/dashboard/access.ts';

const OPERATOR = 'operator-0123456789';
const READER = 'reader-0123456789';

describe('where the dashboard may listen', () => {
  it.each(['127.0.0.1', '127.8.8.8', 'localhost', '::1'])('%s needs no token', (address) => {
    expect(isLoopback(address)).toBe(true);
    expect(() => assertClosed(address, {})).not.toThrow();
  });

  it.each(['0.0.0.0', '::', '10.0.0.4', 'millrace.example', '127.0.0.1.evil.example'])('%s needs one', (address) => {
    expect(() => assertClosed(address, {})).toThrow(/without a token/);
    expect(() => assertClosed(address, { reader: READER })).not.toThrow();
  });

  it('the dashboard refuses a token that could be guessed, and one token for both roles', () => {
    expect(() => assertClosed('0.0.0.0', { operator: 'short' })).toThrow(/fewer than 16/);
    expect(() => assertClosed('127.0.0.1', { operator: OPERATOR, reader: OPERATOR })).toThrow(/are the same/);
  });
});

describe('sessions', () => {
  it('sessions have the role of their token, and end after twelve hours or at the sign-out', () => {
    let now = 0;
    const access = new DashboardAccess({ operator: OPERATOR, reader: READER }, () => now);
    expect(access.open).toBe(false);
    expect(access.signIn('reader-012345678')).toBeUndefined();
    const reader = access.signIn(READER);
    const operator = access.signIn(OPERATOR);
    expect([reader?.role, operator?.role]).toEqual(['reader', 'operator']);
    expect(access.roleOf(reader?.session)).toBe('reader');
    expect(access.roleOf(undefined)).toBeUndefined();
    expect(access.roleOf(READER)).toBeUndefined();
    access.signOut(reader?.session);
    expect(access.roleOf(reader?.session)).toBeUndefined();
    now = 12 * 3_600_000;
    expect(access.roleOf(operator?.session)).toBeUndefined();
  });

  it('sessions are bounded: the oldest goes', () => {
    const access = new DashboardAccess({ operator: OPERATOR });
    const sessions = Array.from({ length: 201 }, () => access.signIn(OPERATOR)?.session);
    expect(access.roleOf(sessions[0])).toBeUndefined();
    expect(access.roleOf(sessions[1])).toBe('operator');
    expect(access.roleOf(sessions[200])).toBe('operator');
  });
});

describe('requests of other sites', () => {
  const headers = (of: Record<string, string>): Headers =>
    new Headers({ host: '127.0.0.1:1', 'x-millrace': '1', ...of });

  it.each([
    ['a name that resolves to the loopback address', { host: 'evil.example:1' }, 'GET', true],
    ['a fetch of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }, 'GET', true],
    [
      'a fetch of another port of this machine',
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' },
      'POST',
      true,
    ],
    ['a form of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 'POST', false],
    ['another origin', { origin: 'http://evil.example' }, 'POST', false],
    ['an opaque origin', { origin: 'null' }, 'POST', false],
  ])('%s is refused', (_, of, method, open) => {
    expect(() => assertOwn(headers(of), method, open)).toThrow(/The request/);
  });

  it('a POST without the header is refused, which a page of another site could send', () => {
    expect(() => assertOwn(new Headers({ host: 'localhost:1' }), 'POST', true)).toThrow(/no header x-millrace/);
  });

  it.each([
    [
      'the page itself',
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', origin: 'http://127.0.0.1:1' },
      'POST',
    ],
    ['an address that is typed', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, 'GET'],
    ['a link of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 'GET'],
    ['a program on the machine', {}, 'POST'],
    ['localhost', { host: 'localhost:1' }, 'GET'],
    ['IPv6', { host: '[::1]:1' }, 'GET'],
  ])('%s is served', (_, of, method) => {
    expect(() => assertOwn(headers(of), method, true)).not.toThrow();
  });
});
