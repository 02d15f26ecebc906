import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import { SHOP } from '../support/stage.ts';
import { cli } from './cli.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-dev-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

describe('bad input is one clear message with its remedy, exit code 2 and no stack', () => {
  async function refused(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const { code, stderr } = await cli(args, { directory });
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(stderr).toMatch(/^error: .+\n {2}\S/);
    expect(code).toBe(2);
    return stderr;
  }

  it('a port in use', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await refused(['dev', '--pipeline', SHOP, '--port', String(port)])).toContain(`Port ${port}`);
    server.close();
  });

  it('a folder that can’t be written', async () => {
    writeFileSync(join(directory, 'file'), '');
    expect(await refused(['dev', '--pipeline', SHOP, '--data', join(directory, 'file/folder')])).toContain(
      'file/folder',
    );
  });

  it('an account that can’t be reached, and one with another key', async () => {
    const args = ['run', '--pipeline', SHOP];
    expect(
      await refused(args, { COSMOS: 'AccountEndpoint=http://127.0.0.1:9/;AccountKey=QQ==', COSMOS_DATABASE: 'x' }),
    ).toContain("can't be reached");
    const server = await startEmulator();
    await using _ = { [Symbol.asyncDispose]: () => server.close() };
    expect(
      await refused(args, { COSMOS: `AccountEndpoint=${server.endpoint};AccountKey=QQ==`, COSMOS_DATABASE: 'x' }),
    ).toContain('refused access');
    expect(await refused(args, { COSMOS: '', COSMOS_DATABASE: 'x' })).toContain('COSMOS');
  });

  it.each([
    [['--input', 'absent.jsonl', '--into', 'Orders/order'], 'There is no file absent.jsonl'],
    [['--input', 'absent.jsonl'], '--input needs --into'],
    [['--input', 'absent.jsonl', '--into', 'Orders'], 'Container/type'],
    [['--input', 'absent.jsonl', '--into', 'Order/order'], 'did you mean Orders?'],
    [['--input', 'absent.jsonl', '--into', 'nosuch/order'], 'Name one of its containers: Orders, Customers,'],
    [['--input', 'absent.jsonl', '--into', 'Orders/ordr'], 'did you mean order?'],
    [
      ['--input', 'a', '--input', 'b', '--input', 'c', '--into', 'Orders/order', '--into', 'Orders/order'],
      '--input is given 3 times, and --into 2 times\n  Give one --into for all, or one for each',
    ],
    [['--input', 'a', '--into', 'Orders/order', '--input', 'b', '--into', 'Order/order'], 'did you mean Orders?'],
    [['--into', 'Orders/order'], 'without --input'],
    [['--example', 'flihgts'], 'did you mean flights?'],
  ])('%j', async (args, message) => {
    expect(await refused(['dev', '--pipeline', SHOP, ...args])).toContain(message);
  });
});
