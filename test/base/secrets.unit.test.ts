// What is taken out of texts, and that no text holds a host up.
import { describe, expect, it } from 'vitest';
import { withoutSecrets } from '../../src/base/secrets.ts';

const TOKEN = `eyJ${'a'.repeat(20)}.${'b'.repeat(20)}.${'c'.repeat(20)}`;

describe('tokens are taken out', () => {
  it.each([
    ['alone', TOKEN, '***'],
    ['in a sentence', `It has ${TOKEN}, which`, 'It has ***, which'],
    ['behind a dash', `x-${TOKEN}`, 'x-***'],
    ['behind several', `eyJ-eyJ-${TOKEN}`, '***'],
    ['two of them', `${TOKEN} ${TOKEN}`, '*** ***'],
    ['not where a word goes on', `x${TOKEN}`, `x${TOKEN}`],
    ['not a name with dots', 'eyJson.parser.of', 'eyJson.parser.of'],
  ])('%s', (_, text, expected) => {
    expect(withoutSecrets(text)).toBe(expected);
  });
});

describe('a text of a megabyte', () => {
  it.each([
    'eyJ-',
    'eyJ.',
    'eyJaaaaaaaaaaaa.',
    '-eyJaaaaaaaaaaa.eyJ',
    'a://',
    'a://a@',
    'a.',
    'Password ',
    'AccountKey=',
    'sig=',
    '?code',
    'Bearer ',
    '"password" ',
    '"secret":"',
    'a+',
    'A',
    ' ',
  ])('of %j returns', (piece) => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
    expect(withoutSecrets(text).length).toBeLessThanOrEqual(400_000);
  });

  it('is cut before, at a space, so that no half of a secret is left', () => {
    const key = `${'k'.repeat(86)}==`;
    expect(withoutSecrets(`${'word '.repeat(39_999)}${key} ${key}`)).toMatch(/word…$/);
    expect(withoutSecrets(`${'word '.repeat(100)}${key}`)).toMatch(/word \*\*\*$/);
  });
});
