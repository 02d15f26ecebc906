import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { outputSchemas } from '../../scripts/reference/schemas.ts';
import { everyOperation } from '../../src/cli/registry.ts';
import { operationName } from '../../src/verbs/operation.ts';
import { SHOP, openStage } from '../support/stage.ts';
import { cli } from './cli.ts';
import { misprinted } from './printed.ts';

const folder = join(import.meta.dirname, '../../docs/schemas');
const schemas = outputSchemas();

/** They are in no commit. */
function write(): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of schemas) writeFileSync(join(folder, name), text);
}
beforeAll(write);

it('there is a schema of each verb, and of nothing else', () => {
  const names = everyOperation.all().map((of) => `${operationName(of).replaceAll(' ', '-')}.json`);
  expect([...schemas.keys()].toSorted()).toEqual(names.toSorted());
});

describe('schema', () => {
  it('`schema` prints the schema of a verb, the same with --json', async () => {
    const { code, stdout } = await cli(['schema', 'leases', 'list']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ title: 'millrace leases list --json' });
    expect((await cli(['schema', 'leases', 'list', '--json'])).stdout).toBe(stdout);
  });

  it('`schema` names the verb that was meant', async () => {
    expect(await cli(['schema', 'leases', 'lst'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no verb leases lst.*leases-list/),
    });
  });
});

it('a checkout that has none names the command that writes them', async () => {
  rmSync(folder, { recursive: true });
  try {
    expect(await cli(['schema', 'status'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('npm run reference'),
    });
  } finally {
    write();
  }
});

// With MILLRACE_SCHEMAS=1 every other test that runs a verb by `cli` with --json holds it to its schema too.
it('the check of schemas holds what verbs print on a running account to their schemas', async () => {
  await using stage = await openStage();
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  try {
    for (const verb of [
      'run --once',
      'status',
      'projections list',
      'projections show days',
      'projections verify',
      'leases list',
      'leases list --check',
      'dead-letters list',
      'checkpoints list',
      'checkpoints save before',
      'audit',
      'plan',
      'plan --against deployed',
      'doctor',
      'tenants list',
      'trace Orders s1 none',
      'model check',
      'model cost',
      'model check --explain B11',
      'model types --check',
    ]) {
      const args = [...verb.split(' '), '--pipeline', SHOP, '--json'];
      const { stdout, stderr } = await cli(args);
      expect(misprinted(args, stdout)).toBeUndefined();
      // An error would be held to no schema.
      expect(`${verb}: ${stdout.includes('"error": {"code"') || stdout.startsWith('{"error"') ? stderr : ''}`).toBe(
        `${verb}: `,
      );
    }
  } finally {
    vi.unstubAllEnvs();
  }
});

it('the check of schemas finds what is not in a schema', () => {
  const args = ['leases', 'list', '--json'];
  expect(misprinted(args, '[]')).toBeUndefined();
  expect(misprinted(args, '{"error": {"code": "x", "message": "y"}}')).toBeUndefined();
  expect(misprinted(args, '[{}]')).toContain('not in its schema');
  expect(misprinted(args, '{"leases": []}')).toContain('not in its schema');
});
