import { describe, expect, test } from 'vitest';
import { FLOWS } from '../../../src/model/rules/j-flows.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, FLOWS);
const step = (type: string, container: string, operation = 'create'): object => ({ operation, type, container });
const register = { kind: 'flow', name: 'Register', steps: [step('User', 'users'), step('Owner', 'teams')] };

describe('J25', () => {
  test('a sentence beside names what completes the rest', () => {
    const beside = (text: string): string[] => annotated([text], [register], FLOWS).map(({ rule }) => rule);
    expect(beside('both are written, and reconciliation completes them')).toEqual([]);
    expect(beside('there is no reconciliation')).toEqual(['J25']);
    expect(beside('both are written')).toEqual(['J25']);
  });

  test('two containers, and what completes the rest', () => {
    expect(found(register)).toEqual([
      expect.stringContaining('"Register" writes User and Owner together: they are in the containers users and teams'),
    ]);
    for (const by of ['change-feed', 'outbox', 'saga', 'idempotent-retry'])
      expect(found({ ...register, together: by })).toEqual([]);
    expect(found(register, { ...register, together: 'saga' })).toEqual([]);
  });

  test('a batch over two containers is said, and can’t be', () => {
    expect(found({ ...register, together: 'batch' })).toEqual([
      expect.stringContaining('a batch is said to hold them together, but they are in the containers'),
    ]);
  });

  test('one container: by its key, and by the number of documents', () => {
    const steps = [step('Order', 'orders'), step('Line', 'orders')];
    const one = { kind: 'flow', name: 'Order', steps };
    expect(found(one)).toEqual([]);
    expect(found({ ...one, sameKey: true })).toEqual([
      expect.stringContaining('they have one value of the partition key, and no batch holds them together'),
    ]);
    expect(found({ ...one, sameKey: true, together: 'batch' })).toEqual([]);
    expect(found({ ...one, sameKey: false })).toEqual([
      expect.stringContaining('different values of the partition key'),
    ]);
    expect(found(one, { kind: 'container', container: 'orders', key: ['/id'] })).toHaveLength(1);
    expect(found({ ...one, many: true, sameKey: true })).toEqual([expect.stringContaining('at most 100 operations')]);
  });

  test('a sweep of one type, and what a queue delivers again, are completed', () => {
    expect(found({ kind: 'flow', name: 'Expire', many: true, steps: [step('Job', 'jobs', 'patch')] })).toEqual([]);
    const derived = { kind: 'derived', what: 'tags', form: 'view', type: 'Owner', of: 'User', keptBy: 'queue' };
    expect(found(register, derived)).toEqual([]);
  });

  test('what the text says of a stop halfway, also for another use that does more', () => {
    expect(found({ ...register, recovery: 'rejected as a whole' })).toEqual([]);
    expect(found(register, { ...register, line: 1, recovery: 'a job repairs it' })).toEqual([]);
    const more = { ...register, name: 'Invite', steps: [...register.steps, step('Mail', 'mails')] };
    expect(found({ ...register, recovery: 'a job repairs it' }, more)).toEqual([]);
    const other = { ...register, name: 'Leave', steps: register.steps.map((one) => ({ ...one, operation: 'delete' })) };
    expect(found({ ...register, recovery: 'a job repairs it' }, other)).toHaveLength(1);
  });

  test('a line of a log, and what a TTL removes anyhow', () => {
    const flow = {
      kind: 'flow',
      name: 'Log in',
      steps: [step('User', 'users', 'patch'), step('LoginHistory', 'logs')],
    };
    expect(found(flow)).toHaveLength(1);
    expect(found(flow, { kind: 'type', type: 'LoginHistory', container: 'logs', purpose: 'audit' })).toEqual([]);
    const used = { ...flow, steps: [step('User', 'users', 'patch'), step('Code', 'codes', 'delete')] };
    const code = { kind: 'type', type: 'Code', container: 'codes' };
    expect(found(used, code)).toHaveLength(1);
    expect(found(used, code, { kind: 'container', container: 'codes', ttl: 300 })).toEqual([]);
  });

  test('flows over the same documents are one finding', () => {
    expect(found(register, { ...register, name: 'Invite' })).toEqual([
      expect.stringContaining('"Register" and "Invite" write User and Owner'),
    ]);
  });
});

describe('J25, several uses', () => {
  const uses = ['User', 'Order', 'Team'].map((type) => ({
    kind: 'flow',
    name: `Create ${type}`,
    steps: [step(type, `${type}s`), step('Audit', 'audit')],
  }));

  test('uses that are said the same way are one finding', () => {
    expect(found(...uses)).toEqual([
      expect.stringMatching(
        /"Create User" \(User and Audit\); .*"Create Team" \(Team and Audit\): each writes documents/,
      ),
    ]);
    expect(found(...uses.slice(1))).toHaveLength(1);
  });
});

describe('J34', () => {
  const publish = { kind: 'flow', name: 'Publish', steps: [step('Job', 'jobs'), { outside: 'queue' }] };

  test('a message after the write; caches and files are left out', () => {
    expect(found(publish)).toEqual([expect.stringMatching(/^J34 "Publish" writes Job and queue together/)]);
    expect(found({ ...publish, together: 'outbox' })).toEqual([]);
    const removal = { ...publish, steps: [step('File', 'files', 'delete'), { outside: 'blob' }] };
    expect(found(removal)).toEqual([expect.stringContaining('J34 "Publish" writes File and blob together')]);
    for (const outside of ['cache', 'blob', 'mail', 'computation', 'other service'])
      expect(found({ ...publish, steps: [step('Job', 'jobs'), { outside }] })).toEqual([]);
  });

  test('an archive is written before its document goes, and a line of a log may be lost', () => {
    const blob = { outside: 'blob' };
    const archive = { ...publish, name: 'Archive old files', steps: [blob, step('File', 'files', 'delete')] };
    expect(found(archive)).toEqual([]);
    expect(found({ ...archive, steps: archive.steps.toReversed() })).toHaveLength(1);
    expect(found({ ...archive, name: 'Remove a file' })).toHaveLength(1);
    const erase = { ...publish, many: true, steps: [step('File', 'files', 'delete'), step('deletion event', 'logs')] };
    expect(found(erase)).toEqual([]);
    expect(found({ ...erase, steps: [step('File', 'files', 'delete'), step('Event', 'logs')] })).toHaveLength(1);
  });

  test('a message that another finding has with its document', () => {
    const steps = [step('Job', 'jobs'), step('Run', 'runs'), { outside: 'queue' }];
    expect(found({ ...publish, name: 'Start', steps }, publish)).toEqual([
      expect.stringContaining('J25 "Start" writes Job, Run and queue together'),
    ]);
  });

  test('a search index that the request writes', () => {
    const index = { kind: 'derived', what: 'index of products', form: 'search-index', of: 'Product' };
    expect(found({ ...index, keptBy: 'same-request' })).toEqual([expect.stringContaining('J34 index of products is')]);
    expect(found({ ...index, keptBy: 'change-feed' })).toEqual([]);
  });
});

describe('J25 and J34, what completes the rest', () => {
  const rules = (text: string, one: object): string[] =>
    annotated([text], [{ ...one, line: 1 }], FLOWS).map(({ rule }) => rule);

  test('a sentence on all uses', () => {
    const among = (sentence: string): number => annotated(['both are written', sentence], [register], FLOWS).length;
    expect(among('Cross-entity changes run as a saga')).toBe(0);
    expect(among('The saga of this company is long')).toBe(1);
    expect(among('Cross-entity changes run without a saga')).toBe(1);
  });

  test('an engine that goes on after a stop', () => {
    const index = { ...register, steps: [step('User', 'users'), { outside: 'search index' }] };
    expect(rules('the steps of the endpoint', index)).toEqual(['J34']);
    expect(rules('an orchestrator of Durable Functions', index)).toEqual([]);
    const entry = { kind: 'derived', what: 'index', form: 'search-index', of: 'User', keptBy: 'same-request', line: 2 };
    const both = (text: string): number => annotated([text], [{ ...index, line: 1 }, entry], FLOWS).length;
    expect(both('an orchestrator of Durable Functions')).toBe(0);
    expect(both('the steps of the endpoint')).toBe(2);
  });

  test('a session that the next sign-in makes, a heartbeat, and a batch elsewhere', () => {
    const session = { kind: 'type', type: 'Owner', container: 'teams', purpose: 'session' };
    expect(found(register, session)).toHaveLength(1);
    expect(found(register, session, { kind: 'access', name: 'Sign in', operation: 'create', type: 'Owner' })).toEqual(
      [],
    );
    expect(
      found(register, { kind: 'type', type: 'Owner', container: 'teams', fields: [{ path: 'lastHeartbeat' }] }),
    ).toEqual([]);
    const plain = {
      kind: 'flow',
      name: 'Create',
      sameKey: true,
      steps: [step('Task', 'tasks'), step('Reminder', 'tasks')],
    };
    expect(found(plain)).toHaveLength(1);
    expect(found(plain, { ...plain, name: 'Rename', together: 'batch' })).toEqual([]);
  });
});

describe('J34 beside a saga', () => {
  test('the saga covers the documents, and not a message that is sent after one', () => {
    const notify = { kind: 'flow', name: 'Rename', steps: [step('User', 'users'), { outside: 'queue' }] };
    const lines = ['rename and emit', 'Cross-entity changes run as a saga'];
    expect(annotated(lines, [notify], FLOWS).map(({ rule }) => rule)).toEqual(['J34']);
  });
});
