// docs/SPEC-tenants.md, TEN-T8: every verb has decided whether it takes a tenant.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { everyOperation } from '../../../src/cli/registry.ts';
import { operationName } from '../../../src/verbs/operation.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/tenants.md'), 'utf8');

/** The rows of the table, by verb: whether it takes a tenant, with what it means or why not. */
const rows = new Map(
  [...text.matchAll(/^\| (`.+`) \| (yes|no): (.+) \|$/gm)].flatMap(([, verbs = '', answer, why]) =>
    [...verbs.matchAll(/`([^`]+)`/g)].map(([, verb = '']) => [verb, { takes: answer === 'yes', why }] as const),
  ),
);
const verbs = everyOperation.all();

test('the table of docs/tenants.md has every verb, and no other', () => {
  expect([...rows.keys()].toSorted()).toEqual(verbs.map(operationName).toSorted());
});

test('a verb takes a tenant if the table says so', () => {
  const taking = verbs.filter(({ input }) => 'tenant' in input.shape).map(operationName);
  expect(taking.toSorted()).toEqual([...rows].flatMap(([verb, { takes }]) => (takes ? [verb] : [])).toSorted());
});
