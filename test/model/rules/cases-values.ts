// Cases of what a document states twice: totals with their parts, values, marks, paths and vectors (A26, A27, C40, D11, E9, E14).
import type { Case } from './base.ts';
import { document } from './short.ts';

export const VALUE_CASES: readonly Case[] = [
  {
    rule: 'D11',
    of: document([
      ['teams', '/teamId', '"teamId": "t1"; "identityUserId": "x1"; "email": "ada@work.org"'],
      ['identity', '/userId', '"type": "identity-user"; "userId": "x1"; "email": "ada@home.org"'],
    ]),
    wrong: [['ada@work.org', 'ada@home.org']],
    at: '"email"',
    severity: 'warning',
    says: 'teams: email is copied',
  },
];
