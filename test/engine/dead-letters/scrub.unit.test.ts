import { expect, it } from 'vitest';
import { scrub } from '../../../src/engine/dead-letters/scrub.ts';

const KEY = `${'aB3+/'.repeat(17)}x==`;

it.each([
  [
    `AccountEndpoint=https://a.documents.azure.com:443/;AccountKey=${KEY};`,
    'AccountEndpoint=https://a.documents.azure.com:443/;AccountKey=***;',
  ],
  [
    'Endpoint=sb://x;SharedAccessKeyName=k;SharedAccessKey=abc=;EntityPath=e',
    'Endpoint=sb://x;SharedAccessKeyName=k;SharedAccessKey=***;EntityPath=e',
  ],
  ['connect to postgres://me:p4ss@db.example:5432/x failed', 'connect to postgres://***@db.example:5432/x failed'],
  ['GET https://b.example/c?sv=1&sig=a%2Fb&se=2 gave 403', 'GET https://b.example/c?sv=1&sig=***&se=2 gave 403'],
  ['authorization: Bearer abcdefgh.ijkl', 'authorization: *** ***'],
  ['sent {"password":"hunter2","user":"me"}', 'sent {"password":"***","user":"me"}'],
  ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc was refused', 'token *** was refused'],
  [`the key ${KEY} is wrong`, 'the key *** is wrong'],
  ["Cannot read properties of undefined (reading 'slice')", "Cannot read properties of undefined (reading 'slice')"],
  ['password must not be empty', 'password must not be empty'],
])('a letter hides what looks like a secret: %s', (message, wanted) => {
  expect(scrub(message)).toBe(wanted);
});

it('a letter hides a secret that the cut would go through', () => {
  const before = 'x'.repeat(3_970);
  for (const secret of ['postgres://me:p4ss-of-many-letters@db.example', `the key ${KEY}`])
    expect(scrub(`${before} ${secret}`)).not.toMatch(/p4ss|aB3/);
});

it('a letter’s text is cut off where it is too long', () => {
  expect(scrub('x'.repeat(100_000)).length).toBeLessThan(5_000);
});
