import { afterEach, expect, it, vi } from 'vitest';
import { status } from '../../src/verbs/status.operation.ts';
import type { Interim } from '../../src/procedures/context.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';
import { cli } from '../cli/cli.ts';
import { SHOP } from '../support/stage.ts';
import { leaseWorld } from './leases/lease-world.ts';

const ARGS = ['status', '--watch', '--pipeline', SHOP];

afterEach(() => {
  vi.unstubAllEnvs();
});

async function world() {
  const { stage } = await leaseWorld(1);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  const ended = new AbortController();
  return { stage, ended };
}

it('`status --watch` shows each look as a line of JSON until Ctrl-C, which is success', async () => {
  const { ended } = await world();
  const wrote = (text: string): void => {
    if (text.split('\n').length > 2) ended.abort();
  };
  const { code, stdout, stderr } = await cli([...ARGS, '--every', '1s', '--json'], { signal: ended.signal, wrote });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThanOrEqual(2);
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ database: 'shop', hosts: [] });
});

it('`status --watch` looks again after each pause, goes on after a look that fails, and prints only changes to a log', async () => {
  const { stage, ended } = await world();
  const shown: Interim[] = [];
  const pauses: number[] = [];
  const workspace = openWorkspace({ directory: process.cwd(), pipeline: SHOP });
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: async (ms: number): Promise<void> => {
      pauses.push(ms);
      if (pauses.length === 2) stage.emulator.faults({ rules: [{ container: 'millrace', status: 403 }] });
      if (pauses.length === 3) stage.emulator.faults({});
      if (pauses.length === 4) ended.abort();
    },
  };
  const screen = { live: false, line: () => {}, draw: () => {}, progress: () => {} };
  const context = { workspace, actor: 'a', signal: ended.signal, screen, clock };
  await status.run({ watch: true, every: '10s' }, { ...context, show: (one) => shown.push(one) });
  expect(pauses).toEqual([10_000, 10_000, 10_000, 10_000]);
  expect(shown).toHaveLength(3);
  expect(shown[0]?.line).toMatch(/^\d leases?, \d free; 0 hosts/);
  expect(new Set(shown.map(({ line }) => line)).size).toBe(1);
  await expect(status.run({ watch: true }, context)).rejects.toMatchObject({ code: 'input-invalid' });
  await workspace.close();
});

it('`status --watch` refuses a pause that isn’t valid', async () => {
  await world();
  const { code, stderr } = await cli([...ARGS, '--every', '0s']);
  expect(code).toBe(2);
  expect(stderr).toContain('must be a number of seconds');
});
