import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { everyOperation } from '../../src/cli/registry.ts';
import { operationName } from '../../src/verbs/operation.ts';
import { SHOP } from '../support/stage.ts';
import { cli } from './cli.ts';

describe('grammar', () => {
  it.each(everyOperation.all().map((operation) => [operationName(operation), operation] as const))(
    '%s has help with examples that it accepts',
    async (name, operation) => {
      const { code, stdout } = await cli([...name.split(' '), '--help']);
      expect(code).toBe(0);
      for (const flag of ['--json', '--no-color', '--pipeline', '--env']) expect(stdout).toContain(flag);
      for (const example of operation.examples) {
        expect(example.startsWith(`millrace ${name}`)).toBe(true);
        for (const flag of example.match(/--[a-z-]+/g) ?? []) expect(stdout).toContain(flag);
      }
      expect(stdout).toContain('Exit codes');
    },
  );

  it.each([
    [['projections', 'verfy'], /unknown command 'verfy'[^]*Did you mean verify/],
    [['dve'], /unknown command 'dve'[^]*Did you mean dev/],
    [['projections', 'list', '--jsn'], /unknown option '--jsn'[^]*Did you mean --json/],
    [['model'], /Usage: millrace model/],
    [['dev', '--rate', 'fast'], /--rate: fast is not a number\n {2}Run `millrace dev --help`/],
    [['dev', '--rate', '0'], /--rate: 0 is not more than 0/],
    [['dev', '--fail-after-effect', '2'], /--fail-after-effect: 2 is not at most 1/],
    [['dev', '--dashboard', '1.5'], /--dashboard: 1\.5 is not a whole number/],
    [['dead-letters', 'show'], /missing required argument 'id'\n {2}Run `millrace dead-letters show --help`\.\n$/],
    [['projections', 'list', '--env', 'a', '--env', 'b'], /--env takes one value, and is given twice/],
    [['dev', '--rate=1', '--rate', '2'], /--rate takes one value[^]*Run `millrace dev --help`/],
    [['plan', '--pipeline', 'docs'], /There is no pipeline\.ts in \S+docs\n {2}Name the folder with `--pipeline`/],
    [['leases', 'list', 'surplus'], /too many arguments/],
  ])('%j is wrong usage: exit code 2, said on standard error, without a stack', async (args, message) => {
    const { code, stdout, stderr } = await cli(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(stdout).toBe('');
  });

  it('`help` shows what `--help` shows, of a noun and of a verb too', async () => {
    for (const words of [[], ['projections'], ['projections', 'rebuild'], ['dev']])
      expect(await cli(['help', ...words])).toEqual(await cli([...words, '--help']));
  });

  it('every verb about a model takes its folder as an argument, or a file in it', async () => {
    const verbs = everyOperation.all().filter(({ noun, verb }) => noun === 'model' && verb !== 'explain');
    expect(verbs.filter(({ argument }) => argument !== 'directory').map(operationName)).toEqual([]);
    for (const place of ['examples/storefront', 'examples/storefront/cosmosdb_data_model.md'])
      expect(await cli(['model', 'types', join(import.meta.dirname, '../..', place), '--check'])).toMatchObject({
        code: 0,
      });
    expect(await cli(['model', 'infra', 'nowhere'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no pipeline.ts in'),
    });
  });

  it('a verb gives one JSON value on standard output, for results and for errors', async () => {
    const listed = await cli(['projections', 'list', '--pipeline', SHOP, '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { id: 'summaries@1', kind: 'copy' },
      { id: 'days@1', kind: 'aggregate' },
    ]);
    for (const args of [
      ['projections', 'list', '--jsn', '--json'],
      ['projections', 'verfy', '--json'],
      ['dead-letters', 'show', '--json'],
    ]) {
      const { code, stdout } = await cli(args);
      expect([code, JSON.parse(stdout)]).toMatchObject([2, { error: { code: 'input-invalid' } }]);
    }
    const failed = await cli(['projections', 'list', '--pipeline', '/nowhere', '--json']);
    expect(failed.code).toBe(2);
    expect(JSON.parse(failed.stdout)).toMatchObject({ error: { code: 'pipeline-missing' } });
    expect(failed.stderr).toContain('There is no pipeline.ts in /nowhere');
  });

  it('a verb shows the stack on --debug alone', async () => {
    const plain = await cli(['projections', 'list', '--pipeline', '/nowhere']);
    const debug = await cli(['projections', 'list', '--pipeline', '/nowhere', '--debug']);
    expect(plain.stderr).not.toMatch(/^ {4}at /m);
    expect(debug.stderr).toMatch(/^ {4}at /m);
  });
});
