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
    // The dashboard opens before the rest.
    expect(process.stdout).toMatch(/^(Dashboard: .+\n)?$/);
    expect(process.stderr).not.toMatch(/^ {4}at /m);
    expect(process.stderr).toMatch(/^error: .+\n {2}\S.+\n$/);
    return process.stderr;
  }

  /** The shop as a project of its own that has installed this package, with another document. */
  function project(document: string): string {
    cpSync(SHOP, join(directory, 'pipeline'), { recursive: true });
    writeFileSync(join(directory, 'pipeline/cosmosdb_data_model.md'), document);
    mkdirSync(join(directory, 'node_modules'));
    symlinkSync(inject('built'), join(directory, 'node_modules/millrace'), 'dir');
    return directory;
  }

  it('a model document without containers', async () => {
    project('# Shop\n\n## Container Designs\n\nTo be written.\n');
    expect(await refused(['dev'])).toMatch(
      /No container was found in \S*cosmosdb_data_model\.md, so nothing was checked\n {2}Write each with its name /,
    );
  });

  it('a projection whose container is not in the model', async () => {
    const document = readFileSync(join(SHOP, 'cosmosdb_data_model.md'), 'utf8');
    project(document.replace('### Days Container', '### Weeks Container'));
    expect(await refused(['dev'])).toMatch(/container Days/);
  });

  it('a data folder that another server has open', async () => {
    await using server = millrace(['emulator', 'start', '--port', '0', '--data', 'data'], { directory });
    await server.until(/listens at/);
    expect(await refused(['dev', '--pipeline', SHOP, '--data', 'data'])).toContain('no other embedded server has open');
  });

  it('an account that is not there', async () => {
    const env = { COSMOS: 'AccountEndpoint=http://127.0.0.1:9/;AccountKey=QQ==', COSMOS_DATABASE: 'x' };
    expect(await refused(['dev', '--pipeline', SHOP, '--account'], env)).toContain("can't be reached");
  });
});
