import { describe, expect, it, vi } from 'vitest';
import { registry } from '../../../src/host/registry.ts';
import { cli } from '../../cli/cli.ts';
import { type Served, served } from '../../support/served.ts';
import { useStage } from '../../support/each-stage.ts';
import { SHOP } from '../../support/stage.ts';

useStage({});

const dashboard = (...args: string[]): Promise<Served> =>
  served(/Dashboard: (http:\S+)/, [...args, '--pipeline', SHOP]);

const session = async (url: string): Promise<unknown> => (await fetch(new URL('/api/session', url))).json();

describe.each([[['status', '--serve']], [['run', '--dashboard', '0', '--host', 'here']]])('%j', (args) => {
  it('`run` serves the dashboard until Ctrl-C, and ends', async () => {
    const { url, stop } = await dashboard(...args);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    expect(await session(url)).toMatchObject({ role: 'operator', signedIn: false });
    await stop();
    await expect(session(url)).rejects.toThrow('fetch failed');
  });
});

it('with a token it asks for it; without one it does not leave this machine', async () => {
  vi.stubEnv('MILLRACE_DASHBOARD_ADDRESS', '0.0.0.0');
  const open = await cli(['status', '--serve', '--pipeline', SHOP]);
  expect(open.code).toBe(2);
  expect(open.stderr).toContain('would listen at 0.0.0.0 without a token');
  vi.stubEnv('MILLRACE_DASHBOARD_TOKEN', 'operator-0123456789');
  const { url, stop } = await dashboard('status', '--serve');
  expect(await session(url.replace('localhost', '127.0.0.1'))).toMatchObject({ error: { code: 'sign-in-missing' } });
  await stop();
});

it('a wrong port is wrong usage', async () => {
  for (const args of [
    ['status', '--serve', '70000'],
    ['status', '--serve', 'here'],
    ['run', '--dashboard', 'here'],
  ]) {
    const { code, stderr } = await cli([...args, '--pipeline', SHOP]);
    expect({ args, code }).toEqual({ args, code: 2 });
    expect(stderr).toContain('must be a port, 0 to 65535');
  }
});

it('over HTTP `status` serves nothing', async () => {
  const status = registry.get('status')!;
  const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
  const context = { workspace: {} as never, actor: 'a', signal: new AbortController().signal, screen };
  await expect(status.run({ serve: true }, context)).rejects.toMatchObject({ code: 'input-invalid' });
});
