import { describe, expect, test } from 'vitest';
import { LASTING } from '../../../src/model/rules/j-lasting.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, LASTING);
const logs = { kind: 'container', container: 'logs', key: ['/tenantId'] };
const log = { kind: 'type', type: 'Log', container: 'logs', purpose: 'log' };
const job = { kind: 'type', type: 'Job', container: 'jobs', purpose: 'job' };

describe('J21', () => {
  test('all types that accumulate are one finding', () => {
    const findings = annotated([], [logs, log, job], LASTING);
    expect(findings).toMatchObject([{ rule: 'J21', at: { line: 2 }, related: [{ line: 3 }] }]);
    expect(findings[0]?.message).toContain('Log (log) and Job (job)');
    expect(findings[0]?.message).toContain(
      'a logical partition of logs by tenantId takes no more writes when it has 20 GB',
    );
  });

  test.each([
    { kind: 'retention', type: 'Log', forever: true },
    { kind: 'retention', container: 'logs', seconds: 86_400 },
    { kind: 'retention', by: 'archive', type: 'Log' },
    { kind: 'retention', seconds: 86_400 },
    { kind: 'container', container: 'logs', ttl: 86_400 },
    { kind: 'container', container: 'logs', ttl: 'item' },
    { kind: 'derived', what: 'old logs', form: 'archive', of: 'Log' },
  ])('an end that any place states: %o', (end) => {
    expect(found(logs, log, end)).toEqual([]);
  });

  test('what isn’t designed here, what there is once, and a limit that is stated', () => {
    expect(found(logs, { ...log, existing: true })).toEqual([]);
    expect(found(logs, log, { kind: 'id', type: 'Log', constant: true })).toEqual([]);
    expect(found(logs, log, { kind: 'scale', type: 'Log', bounded: true, documents: 50 })).toEqual([]);
    const limit = { kind: 'scale', container: 'logs', bounded: true, documents: 500, line: 3 };
    const with500 = (sentence: string): number =>
      annotated(['logs', 'a log', sentence], [logs, log, limit], LASTING).length;
    expect(with500('bounded by MAX_LOGS = 500')).toBe(0);
    expect(with500('there are 500 now')).toBe(1);
  });

  test('no TTL of a container where others stay', () => {
    const setting = { kind: 'type', type: 'Setting', container: 'logs', purpose: 'state' };
    expect(annotated([], [logs, log], LASTING)[0]?.hint).toContain('Give logs a TTL');
    const [mixed] = annotated([], [logs, log, setting], LASTING);
    expect(mixed?.hint).toContain('Set the default TTL of logs to -1 and write a `ttl` into each Log');
    expect(mixed?.hint).not.toContain('Give logs');
  });

  test('an archive of no type and after no time is no end', () => {
    const [finding] = annotated([], [logs, log, { kind: 'retention', by: 'archive' }], LASTING);
    expect(finding).toMatchObject({ at: { line: 2 }, related: [{ line: 3 }] });
  });

  test('a counter of each day', () => {
    const counter = { kind: 'type', type: 'Limit', container: 'limits', purpose: 'counter' };
    expect(found(counter, { kind: 'id', type: 'Limit', from: ['userId', 'date'] })).toEqual([
      expect.stringContaining('Limit (counter of a time)'),
    ]);
    expect(found(counter, { kind: 'id', type: 'Limit', from: ['userId'] })).toEqual([]);
  });

  test('TTL that is off is no end of a cache, state has none, and elements aren’t documents', () => {
    expect(found({ ...logs, ttl: 'off' }, { ...log, purpose: 'cache' })).toEqual([
      expect.stringContaining('the TTL of logs is off'),
    ]);
    expect(found({ ...logs, ttl: 'off' }, log)).toEqual([]);
    expect(found({ ...log, purpose: 'state' })).toEqual([]);
    expect(
      found(
        { kind: 'type', type: 'Chat', container: 'chats', fields: [{ path: 'messages', type: 'array' }] },
        { kind: 'type', type: 'ChatMessage', purpose: 'message' },
      ),
    ).toEqual([]);
  });
});

describe('J21, what is known or small', () => {
  const planned = { kind: 'retention', type: 'Log', planned: true };
  const beside = (text: string, one: object): number =>
    annotated(
      [text],
      [
        { ...one, line: 1 },
        { ...log, line: 2 },
      ],
      LASTING,
    ).length;

  test('a retention that is to be decided, and a few a year', () => {
    expect(beside('the time is TBD', planned)).toBe(0);
    expect(beside('90 days from phase 2', planned)).toBe(1);
    const scale = { kind: 'scale', type: 'Log', documents: 37_500 };
    expect(beside('37,500 docs/year', scale)).toBe(0);
    expect(beside('37,500 docs/day', scale)).toBe(1);
    expect(beside('900,000 docs/year', { ...scale, documents: 900_000 })).toBe(1);
  });

  test('snapshots that the text calls history and keeps', () => {
    const of = (sentence: string, type: string): number =>
      annotated([sentence], [{ ...log, type, purpose: 'result' }], LASTING).length;
    const history = 'Immutable once written (a historical snapshot)';
    expect(of(history, 'StandingsSnapshot')).toBe(0);
    expect(of(history, 'Measurement')).toBe(1);
    expect(of('A snapshot of the standings', 'StandingsSnapshot')).toBe(1);
  });
});
