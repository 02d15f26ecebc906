import { describe, expect, it } from 'vitest';
import { abortReason, messageOf, MillraceError, UsageError } from '../../src/base/errors.ts';

describe('an error of ours', () => {
  it('an error of ours has a code, and says whether trying again helps and what would correct it', () => {
    const cause = new Error('why');
    const error = new MillraceError('lease-lost', 'It is gone', { cause, retryable: true, hint: 'Wait.' });
    expect(error).toMatchObject({ code: 'lease-lost', message: 'It is gone', cause, retryable: true, hint: 'Wait.' });
    expect(error.name).toBe('MillraceError');
  });

  it('an error of ours isn’t retryable unless it says so, and has no cause unless given one', () => {
    const error = new MillraceError('x', 'y');
    expect(error.retryable).toBe(false);
    expect(error.hint).toBeUndefined();
    expect('cause' in error).toBe(false);
  });

  it('about a person’s input is told from the others', () => {
    const error = new UsageError('flag-unknown', 'No such flag');
    expect(error).toBeInstanceOf(MillraceError);
    expect(error.name).toBe('UsageError');
  });
});

it('anything thrown has a message', () => {
  expect([new Error('x'), 'x', 7, null, undefined].map(messageOf)).toEqual(['x', 'x', '7', 'null', 'undefined']);
  // Node's AggregateError of a connection has no words.
  const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
  expect([refused, new TypeError('')].map(messageOf)).toEqual(['ECONNREFUSED', 'TypeError']);
});

it('an aborted signal’s reason is an error, whatever it was aborted with', () => {
  const reason = new Error('stopped');
  expect(abortReason(AbortSignal.abort(reason))).toBe(reason);
  expect(abortReason(AbortSignal.abort('enough'))).toMatchObject({ code: 'aborted' });
  expect(abortReason(AbortSignal.abort()).name).toBe('AbortError');
});

it.each([
  ['http://me:S3CRET@host:1/x can’t be reached', 'http://***@host:1/x can’t be reached'],
  ['connect redis://:S3C@RET@host failed', 'connect redis://***@host failed'],
  [
    'https://a.blob.core.windows.net/c?sv=2024&sig=S3CRET%3D&se=1',
    'https://a.blob.core.windows.net/c?sv=2024&sig=***&se=1',
  ],
  ['AccountEndpoint=https://a/;AccountKey=S3CRET==;', 'AccountEndpoint=https://a/;AccountKey=***;'],
  ['SharedAccessKeyName=root;SharedAccessKey=S3CRET', 'SharedAccessKeyName=root;SharedAccessKey=***'],
  ['https://host/a@b, me@host and design=1 stay', 'https://host/a@b, me@host and design=1 stay'],
])('what signs somebody in is in no error’s message: %s', (told, shown) => {
  expect(new MillraceError('x', told).message).toBe(shown);
  expect(messageOf(new Error(told))).toBe(shown);
});
