import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callInThread } from '../../../src/cli/mcp/call-in-thread.ts';
import { serveTools } from '../../../src/cli/mcp/serve-tools.ts';
import { toolsOf } from '../../../src/cli/mcp/tools.ts';
import { everyOperation } from '../../../src/cli/registry.ts';
import { cli } from '../cli.ts';

const FLIGHTS = join(import.meta.dirname, '../../../examples/flights');

const TOOLS = [
  'archive_list',
  'dead_letters_list',
  'dead_letters_show',
  'doctor',
  'leases_list',
  'model_check',
  'model_cost',
  'model_prove',
  'model_review',
  'plan',
  'projections_list',
  'projections_show',
  'shards_list',
  'shards_moves',
  'shards_show',
  'status',
  'tenants_list',
  'trace',
];

let folder: string;
/** The pipeline folder of the server. */
let startedFor: string;
let client: Client;
let wire: { readonly toServer: PassThrough; readonly fromServer: PassThrough; readonly log: PassThrough };
let served: Promise<void>;

/** A folder with the documents of the flights and this as its pipeline. */
const pipeline = (code: string): void => writeFileSync(join(folder, 'pipeline.ts'), code);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-mcp-'));
  startedFor = '.';
  for (const name of ['cosmosdb_requirements.md', 'cosmosdb_data_model.md'])
    cpSync(join(FLIGHTS, name), join(folder, name));
  wire = { toServer: new PassThrough(), fromServer: new PassThrough(), log: new PassThrough() };
  served = serveTools({
    tools: toolsOf(everyOperation),
    version: '1.2.3-test',
    run: (call, signal) =>
      callInThread({ ...call, workspace: { directory: folder, pipeline: startedFor } }, signal, wire.log),
    input: wire.toServer,
    output: wire.fromServer,
    log: wire.log,
    signal: new AbortController().signal,
  });
});

/** Connects, by the protocol that most clients speak, or by the newest. */
async function connect(mode: 'legacy' | 'auto' = 'legacy'): Promise<void> {
  client = new Client({ name: 'test', version: '0.0.0' }, { versionNegotiation: { mode } });
  // The framing of both ends is the same.
  await client.connect(new StdioServerTransport(wire.fromServer, wire.toServer));
}

afterEach(async () => {
  wire.toServer.end();
  await served;
  rmSync(folder, { recursive: true });
});

const call = async (name: string, input: Record<string, unknown> = {}) => {
  const result = await client.callTool({ name, arguments: input });
  const [first] = result.content;
  return {
    isError: result.isError ?? false,
    said: first?.type === 'text' ? first.text : '',
    structured: result.structuredContent as { ok?: boolean; result?: unknown; error?: { code: string } },
  };
};

describe('the tools', () => {
  it.each([
    ['legacy', '2025-11-25'],
    ['auto', '2026-07-28'],
  ] as const)('the tools are there for a client that is %s, by protocol %s', async (mode, version) => {
    await connect(mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const { structured } = await call('model_check', { explain: 'B11' });
    expect(structured).toMatchObject({ ok: true, result: { rule: 'B11' } });
  });

  it('the tools are verbs that only read, each with its fields', async () => {
    await connect();
    expect(client.getServerVersion()).toMatchObject({ name: 'millrace', version: '1.2.3-test' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(TOOLS);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    const changing = everyOperation.all().filter(({ effect }) => effect !== 'reads');
    expect(changing.length).toBeGreaterThan(20);
    const behind = new Set(toolsOf(everyOperation).map(({ operation }) => operation));
    expect(changing.filter((operation) => behind.has(operation))).toEqual([]);
    // With this field it would end a move.
    expect(tools.find(({ name }) => name === 'shards_moves')?.inputSchema.properties).not.toHaveProperty('cancel');
    const check = tools.find(({ name }) => name === 'model_check');
    expect(Object.keys(check?.inputSchema.properties ?? {})).toEqual(['failOn', 'explain']);
  });

  it('the tools leave out a verb that changes something, even if the list names it', () => {
    const changes = everyOperation.all().map((operation) => ({ ...operation, effect: 'changes' as const }));
    const registry = Object.assign(Object.create(everyOperation) as typeof everyOperation, { all: () => changes });
    expect(toolsOf(registry)).toEqual([]);
  });

  it('the tools answer with the result of the verb, as text and as JSON', async () => {
    await connect();
    startedFor = FLIGHTS;
    const { isError, said, structured } = await call('model_check', { failOn: 'error' });
    const byCli = await cli(['model', 'check', FLIGHTS, '--fail-on', 'error', '--json'], { directory: folder });
    expect(isError).toBe(false);
    expect(structured).toEqual({ ok: true, result: JSON.parse(byCli.stdout) as unknown });
    expect(said).toContain('no findings; ');
  });

  it('the tools see what was edited since the last call, and keep what a pipeline prints out of the protocol', async () => {
    await connect();
    pipeline("console.log('printed by the pipeline'); throw new Error('the first version');");
    const first = await call('model_check');
    pipeline("throw new Error('the second version');");
    const second = await call('model_check');
    expect([first.isError, first.structured.ok, second.structured.ok]).toEqual([false, false, false]);
    expect(first.said).toContain('the first version');
    expect(second.said).toContain('the second version');
    wire.log.end();
    expect(await text(wire.log)).toContain('printed by the pipeline');
  });
});

it('the tools run the code of the folder that the server was started for, and of no other', async () => {
  await connect();
  const { tools } = await client.listTools();
  const fields = tools.flatMap(({ inputSchema }) => Object.values(inputSchema.properties ?? {}));
  expect(
    fields.filter((field) => /\b(file|folder|path)\b/i.test(String((field as { description?: string }).description))),
  ).toEqual([]);
  const other = mkdtempSync(join(tmpdir(), 'millrace-other-'));
  const mark = join(other, 'ran');
  cpSync(folder, other, { recursive: true });
  writeFileSync(
    join(other, 'pipeline.ts'),
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(mark)}, '');`,
  );
  for (const name of ['model_check', 'model_cost', 'model_review', 'model_prove'])
    expect((await call(name, { directory: other })).structured.error?.code).toBe('input-invalid');
  expect(existsSync(mark)).toBe(false);
  rmSync(other, { recursive: true });
});

it('a call that hangs ends when it is cancelled', async () => {
  pipeline("console.log('it hangs'); await new Promise((resolve) => setTimeout(resolve, 2 ** 30));");
  const cancel = new AbortController();
  const workspace = { directory: folder, pipeline: '.' };
  const hanging = callInThread({ operation: 'plan', input: {}, workspace }, cancel.signal, wire.log);
  wire.log.once('data', () => cancel.abort(new Error('cancelled by the test')));
  await expect(hanging).rejects.toThrow('cancelled by the test');
});

describe('an error of a tool names cause and remedy', () => {
  it.each([
    ['model_chek', {}, 'not-found', /did you mean model_check\?\nUse one of: .*model_check/],
    ['projections_rebuild', {}, 'not-found', /There is no tool projections_rebuild/],
    ['model_check', { fix: true }, 'input-invalid', /model_check has no field fix\nUse one of: failOn/],
    ['model_check', { failOn: 'never' }, 'input-invalid', /fail-on: .*"error"\|"warning"/],
    ['model_check', { explain: 'unheard' }, 'not-found', /There is no rule unheard/],
    ['plan', {}, 'pipeline-missing', /There is no pipeline/],
  ])('%s %j: %s', async (name, input, code, message) => {
    await connect();
    const { isError, said, structured } = await call(name, input);
    expect(isError).toBe(true);
    expect(structured.error?.code).toBe(code);
    expect(said).toMatch(message);
  });

  it('a pipeline that ends its process ends only its call', async () => {
    await connect();
    pipeline('process.exit(3);');
    const { isError, structured, said } = await call('plan');
    expect([isError, structured.error?.code]).toEqual([true, 'process-ended']);
    expect(said).toContain('exit code 3');
    expect((await call('model_check', { explain: 'B11' })).isError).toBe(false);
  });
});
