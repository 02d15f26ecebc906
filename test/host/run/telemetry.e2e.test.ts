import { expect, it } from 'vitest';
import type { DevSummary } from '../../../src/host/dev/play.ts';
import { millrace } from '../../support/process.ts';

const READINGS = 36 * 288;

it('devices to hub to readings to hours to hub: all of it is there, on a server that misbehaves', async () => {
  const rough = ['--replica-lag', '30', '--fail-after-effect', '0.01', '--throttle', '0.01'];
  await using run = millrace(['dev', '--example', 'telemetry', '--once', '--json', ...rough]);
  const { code } = await run.ended;
  expect([code, run.stderr], 'nonsense is parked, and needs a person').toEqual([1, expect.anything()]);
  const { projections, archive, verification, published } = JSON.parse(run.stdout) as DevSummary;
  const nonsense = projections.find(({ projection }) => projection === 'readings-in@1')?.parked ?? 0;
  expect(nonsense).toBeGreaterThan(0);
  expect(verification).toMatchObject({ different: 0, documents: { sources: READINGS - nonsense } });
  expect(archive?.[0]?.removed).toBeGreaterThan(5_000);
  expect(published).toMatchObject([{ hub: 'device-hours', documents: 36 * 48, missing: 0, disordered: 0 }]);
});
