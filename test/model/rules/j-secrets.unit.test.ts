import { describe, expect, test } from 'vitest';
import { STORED_SECRETS } from '../../../src/model/rules/j-secrets.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, STORED_SECRETS);
const holding = (type: string, ...fields: object[]): object => ({ kind: 'type', type, container: 'users', fields });

describe('J50', () => {
  test('secrets that are stored as they are', () => {
    const user = holding('User', { path: 'password', secret: 'plain' }, { path: 'apiKey', secret: 'plain' });
    const [finding, second] = annotated([], [user], STORED_SECRETS);
    expect(finding?.message).toContain('User.password and User.apiKey are stored as they are');
    expect(finding?.hint).toContain('salted hash of User.password');
    expect(second).toBeUndefined();
    for (const secret of ['hash', 'encrypted', 'unsaid'])
      expect(found(holding('User', { path: 'password', secret }))).toEqual([]);
  });

  test('a code of few digits and no number of attempts', () => {
    const hash = { path: 'code_hash', secret: 'hash', format: '6 digits' };
    expect(found(holding('OtpRequest', hash))).toEqual([
      expect.stringMatching(/a code of 6 digits, and OtpRequest has no number of attempts.*1,000,000.*has no salt/),
    ]);
    expect(found(holding('OtpRequest', { ...hash, format: '32 digits' }))).toEqual([]);
    expect(found(holding('OtpRequest', hash, { path: 'attempts' }))).toEqual([]);
    expect(found(holding('OtpRequest', hash), { kind: 'quota', what: 'failed attempts', max: 5 })).toEqual([]);
    expect(found({ ...holding('OtpRequest', hash), existing: true })).toEqual([]);
    // A zip has digits too.
    expect(found(holding('Address', { path: 'zip', secret: 'unsaid', format: '5 digits' }))).toEqual([]);
  });

  test('the digits stand in a sentence, and the hash is salted', () => {
    const otp = holding('OtpRequest', { path: 'otp_hash', secret: 'hash' });
    const form = { kind: 'fact', of: 'OTP code', property: 'form', value: '6 digits' };
    expect(found(otp, form)).toEqual([expect.stringContaining('a code of 6 digits')]);
    const [salted] = annotated(['hashed with a salt'], [otp, form], STORED_SECRETS);
    expect(salted?.message).not.toContain('no salt');
    expect(found(otp)).toEqual([]);
  });
});
