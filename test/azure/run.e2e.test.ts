// `npm run test:azure` from its refusal to its last deletion: `az` is a stand-in that notes what it is asked to do, the
// account that it "makes" an embedded server in this process.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { CosmosClient } from '@azure/cosmos';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import type { Report } from './report.ts';

const AZ = `#!${process.execPath}
const { appendFileSync, readFileSync } = require('node:fs');
const asked = process.argv.slice(2).join(' ');
appendFileSync(process.env.AZ_LOG, asked + '\\n');
const answers = JSON.parse(readFileSync(process.env.AZ_ANSWERS, 'utf8'));
const found = Object.entries(answers).find(([begin]) => asked.startsWith(begin))?.[1];
if (found === 'hangs') setInterval(() => {}, 1e6);
else if (found === 'fails') { console.error('ERROR: refused'); process.exit(1); }
else if (found !== undefined) console.log(JSON.stringify(found));
`;

let place: string;
let emulator: Emulator;
let answers: Record<string, unknown>;
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'millrace-az-'));
  writeFileSync(join(place, 'az'), AZ);
  chmodSync(join(place, 'az'), 0o755);
  const scope = [{ role: 'reader' as const, scope: 'millrace-probes' }];
  emulator = await startEmulator({ tls: true, principals: { me: scope } });
  writeFileSync(join(place, 'ca.pem'), emulator.certificate ?? '');
  const { endpoint, key, httpClient } = emulator.clientOptions;
  const client = new CosmosClient({ endpoint, key, httpClient });
  await client.databases.create({ id: 'millrace-probes' });
  client.dispose();
}, 60_000);
afterAll(async () => {
  await emulator.close();
  rmSync(place, { recursive: true });
});
beforeEach(async () => {
  rmSync(join(place, 'log'), { force: true });
  const issued = await emulator.credential('me').getToken('https://cosmos.azure.com/.default');
  const expiresOn = new Date(issued?.expiresOnTimestamp ?? 0).toISOString();
  answers = {
    'account show': { id: 'subscription-1', user: { name: 'me@example.org', type: 'user' } },
    'account get-access-token': { accessToken: issued?.token, expiresOn, tokenType: 'Bearer' },
    'ad signed-in-user show': { id: 'object-1' },
    'cosmosdb create': { id: '/subscriptions/subscription-1/accounts/a', documentEndpoint: emulator.endpoint },
    'cosmosdb show': { provisioningState: 'Succeeded' },
    'cosmosdb keys list': { primaryMasterKey: emulator.key },
  };
});

const log = (): string[] =>
  existsSync(join(place, 'log')) ? readFileSync(join(place, 'log'), 'utf8').trim().split('\n') : [];
const made = (): string => /group create --name (\S+)/.exec(log().join('\n'))?.[1] ?? '';

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; said: string }>;
}

function start(...args: string[]): Run {
  writeFileSync(join(place, 'answers'), JSON.stringify(answers));
  const env = {
    ...process.env,
    PATH: [place, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    AZ_LOG: join(place, 'log'),
    AZ_ANSWERS: join(place, 'answers'),
    NODE_EXTRA_CA_CERTS: join(place, 'ca.pem'),
  };
  const file = join(import.meta.dirname, 'run.ts');
  const child = spawn(process.execPath, ['--conditions=millrace-source', file, ...args], { env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, said })) };
}

it('the run of the probes makes nothing without being told to', async () => {
  const { code, said } = await start().ended;
  expect([code, said]).toEqual([2, expect.stringContaining('Say --create where that is meant')]);
  expect(log()).toEqual([]);
});

it('the run of the probes says what it would do, and asks nothing', async () => {
  const { code, said } = await start('--dry', '--only', 'ASM-A5', '--location', 'northeurope').ended;
  expect([code, log()]).toEqual([0, []]);
  expect(said).toMatch(/az cosmosdb create .* regionName=northeurope .*EnableServerless/);
  expect(said).toMatch(/1 questions .*\n +ASM-A5 +a batch is applied whole/);
  expect(said).toMatch(/az group delete --name millrace-probes-X+ --yes --no-wait\n.*below a cent/);
});

it('the run of the probes makes an account, asks it, signs in by role, and deletes what it made', async () => {
  const file = join(place, 'report.json');
  const { code, said } = await start('--create', '--only', 'ASM-A5,ASM-E48,ASM-E49,ASM-F14,ASM-F17', '--json', file)
    .ended;
  expect([code, said]).toEqual([0, expect.stringContaining('5 holds, 0 does not hold, 0 not probed')]);
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  expect(report).toMatchObject({ target: 'azure westeurope', counts: { holds: 5 } });
  const asked = log();
  expect(asked.filter((line) => line.startsWith('deployment sub what-if'))).toHaveLength(2);
  expect(asked.find((line) => line.startsWith('cosmosdb create'))).toContain('--capabilities EnableServerless');
  expect(asked.find((line) => line.includes('role assignment create'))).toContain('--scope /dbs/millrace-probes');
  expect(asked.find((line) => line.startsWith('rest --method patch'))).toContain('/accounts/a?api-version=');
  expect(made()).toMatch(/^millrace-probes-/);
  expect(asked.at(-1)).toContain(`group delete --name ${made()} --yes --no-wait`);
});

it('the run of the probes says what does not hold, and ends with 1', async () => {
  answers['deployment sub what-if'] = 'fails';
  const { code, said } = await start('--create', '--only', 'ASM-F17').ended;
  expect([code, said]).toEqual([
    1,
    expect.stringMatching(/ASM-F17 +does not hold development: az deployment .* refused/),
  ]);
  expect(log().at(-1)).toContain('group delete');
});

it.each(['SIGINT', 'SIGTERM'] as const)('the run of the probes deletes what it made on %s too', async (signal) => {
  answers['cosmosdb create'] = 'hangs';
  const { child, ended } = start('--create');
  await vi.waitUntil(() => log().some((line) => line.startsWith('cosmosdb create')), 30_000);
  child.kill(signal);
  const { code, said } = await ended;
  expect([code, said]).toEqual([2, expect.stringContaining('what was made is deleted first')]);
  expect(log().at(-1)).toContain(`group delete --name ${made()}`);
});

it('the run of the probes says by which command to delete what it could not', async () => {
  answers['cosmosdb create'] = 'fails';
  answers['group delete'] = 'fails';
  const { code, said } = await start('--create').ended;
  expect(code).toBe(2);
  expect(said).toContain(`az group delete --subscription subscription-1 --name ${made()} --yes`);
});
