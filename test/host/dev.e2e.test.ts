import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { millrace } from '../support/process.ts';
import { SHOP } from '../support/stage.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-dev-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('bad input is one message with its remedy, exit code 2 and no stack', () => {
  async function refused(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    await using process = millrace(args, { directory, env });
    expect(await process.ended).toMatchObject({ code: 2 });
    // The model is compared, and the dashboard opens, before the rest.
    expect(process.stdout).toMatch(/^(Model: .+\n( {2}.+\n)*)?(Dashboard: .+\n)?$/);
    expect(process.stderr).not.toMatch(/^ {4}at /m);
    expect(process.stderr).toMatch(/^error: .+\n {2}\S.+\n$/);
    return process.stderr;
  }

  /** The shop as a project of its own that has installed this package, with a part of its pipeline in other words. */
  function project(part: string, instead: string): void {
    cpSync(SHOP, join(directory, 'pipeline'), { recursive: true });
    const file = join(directory, 'pipeline/pipeline.ts');
    const text = readFileSync(file, 'utf8');
    expect(text).toContain(part);
    writeFileSync(file, text.replace(part, instead));
    mkdirSync(join(directory, 'node_modules'));
    symlinkSync(inject('built'), join(directory, 'node_modules/millrace'), 'dir');
  }

  it('a model that is not there', async () => {
    project("'./model.ts'", "'./models.ts'");
    expect(await refused(['dev'])).toMatch(/pipeline\.ts can't be loaded: Cannot find module \S*models\.ts/);
  });

  it('a projection whose container is not in the model', async () => {
    project('into: m.Days.day', "into: { container: 'Weeks', type: 'day' } as typeof m.Days.day");
    expect(await refused(['dev'])).toMatch(/container Weeks/);
  });

  it('a data folder that another server has open', async () => {
    await using server = millrace(['emulator', 'start', '--port', '0', '--data', 'data'], { directory });
    await server.until(/listens at/);
    expect(await refused(['dev', '--pipeline', SHOP, '--data', 'data'])).toMatch(
      /Another process \(\d+\) has the data folder data open/,
    );
  });

  it('an account that is not there', async () => {
    const env = { COSMOS: 'AccountEndpoint=http://127.0.0.1:9/;AccountKey=QQ==', COSMOS_DATABASE: 'x' };
    expect(await refused(['dev', '--pipeline', SHOP, '--account'], env)).toContain("can't be reached");
  });
});
