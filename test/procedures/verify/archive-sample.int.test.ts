// A sample of the archive, by hand and by the schedule. docs/SPEC-archive.md, ARC-H42 and ARC-H43.
import type { ContainerClient } from '@azure/storage-blob';
import { expect, it } from 'vitest';
import type { DoctorFinding } from '../../../src/procedures/doctor/finding.ts';
import type { Settings } from '../../../src/base/settings.ts';
import { doctor } from '../../../src/verbs/doctor.operation.ts';
import { sayDue } from '../../../src/procedures/verify/verify-due.ts';
import { verifyDue } from '../../../src/procedures/verify/verify-due.ts';
import { status } from '../../../src/verbs/status.operation.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { cli } from '../../cli/cli.ts';
import { useArchiveStage } from '../../support/each-stage.ts';
import { COLD, type Stage } from '../../support/stage.ts';
import { SteppingClock } from '../../verbs/leases/lease-world.ts';
import { derive } from '../recover/recovery.ts';

let stage: Stage;
let blobs: ContainerClient;

/** Six months of two tenants: twelve blobs. */
useArchiveStage(COLD, async (opened) => {
  ({ stage, blobs } = opened);
  for (let n = 0; n < 12; n++)
    await stage.container('Orders').items.create({
      id: `o${n}`,
      type: 'order',
      storeId: `s${n % 2}`,
      customerId: 'c1',
      placedAt: `2025-0${1 + Math.floor(n / 2)}-01T10:00:00.000Z`,
      cents: n,
    });
  await derive(stage);
  const { code, stderr } = await cli(['archive', 'sweep']);
  if (code !== 0) throw new Error(stderr);
});

const json = async (...args: string[]): Promise<{ code: number; value: unknown }> => {
  const { code, stdout } = await cli([...args, '--json']);
  return { code, value: JSON.parse(stdout) };
};

it('a sample of the archive reads so many blobs and no more, and says when', async () => {
  expect(await json('archive', 'verify', '--sample', '5')).toMatchObject({
    code: 0,
    value: [{ blobs: 5, documents: 5, superfluous: 0, sampled: { asked: 5, of: 12 }, faults: [] }],
  });
  expect(await json('archive', 'verify', '--sample', '100')).toMatchObject({ value: [{ blobs: 12, archived: 12 }] });
  expect(await json('archive', 'verify', '--sample', '100', '--tenant', 's1')).toMatchObject({
    value: [{ blobs: 6, sampled: { of: 6 } }],
  });
  expect((await cli(['archive', 'verify', '--sample', '3'])).stdout).toContain('Every blob that was read is intact.');
  expect((await cli(['archive', 'verify', '--sample', '0'])).code).toBe(2);
  expect((await cli(['status'])).stdout).toMatch(
    /Archive last verified \d+ \S+ ago: 0 faults in a sample of 3 blobs\./,
  );
  await cli(['archive', 'verify']);
  expect((await cli(['status'])).stdout).toMatch(/Archive last verified \d+ \S+ ago: 0 faults in 12 blobs\./);
});

it('a container that was emptied by hand is found, by a sample too', async () => {
  for await (const { name } of blobs.listBlobsFlat()) await blobs.deleteBlob(name);
  const { code, value } = await json('archive', 'verify', '--sample', '6');
  expect(code).toBe(1);
  const [{ blobs: read, faults }] = value as [{ blobs: number; faults: { code: string }[] }];
  expect(read).toBe(0);
  expect(new Set(faults.map((fault) => fault.code))).toEqual(new Set(['blob-missing', 'line-missing']));
  const listed = await json('archive', 'list');
  expect(listed.code).toBe(1);
  expect(listed.value).toHaveLength(12);
  expect(listed.value).toContainEqual(
    expect.objectContaining({ tenant: 's1', period: '2025-06', archived: 1, blobs: null }),
  );
});

it('a verification of the archive is due each day where there is an archive, and shows a lost account and every fault', async () => {
  const clock = new SteppingClock();
  await clock.sleep(Date.parse('2026-03-02T00:00:00.000Z') - clock.now());
  const contextOf = (services = stage.services, verify: Settings['verify'] = { sample: '30 3 * * *' }) => {
    const workspace = {
      ...openWorkspace({ directory: COLD }),
      settings: () => ({ ...stage.settings, verify }),
      services: () => Promise.resolve(services),
      pipeline: () => Promise.resolve(stage.loaded),
    };
    const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
    return { workspace, actor: 'test', signal: new AbortController().signal, screen, clock };
  };
  const nextDay = () => clock.sleep(24 * 3_600_000);
  const shownBy = async () => (await status.run({}, contextOf())).text;
  expect(await verifyDue(contextOf())).toEqual([]);
  await nextDay();
  expect((await verifyDue(contextOf())).map(sayDue)).toEqual([
    expect.stringMatching(/^Archive last verified \d+ \S+ ago: 0 faults in a sample of 12 blobs\.$/),
    expect.stringContaining('Verified a sample'),
  ]);
  expect(await verifyDue(contextOf())).toEqual([]);
  const off = contextOf(stage.services, {});
  await nextDay();
  expect(await verifyDue(off)).toEqual([]);

  for await (const { name } of blobs.listBlobsFlat()) {
    if (!name.endsWith('.gz')) continue;
    await blobs.deleteBlob(name);
    break;
  }
  await nextDay();
  // Damage ends the verification of projections, so the archive comes first.
  await expect(verifyDue(contextOf())).rejects.toMatchObject({ code: 'archive-damaged' });
  expect(await shownBy()).toContain('2 faults in a sample of 11 blobs');
  const found = (await doctor.run({}, contextOf())).value as DoctorFinding[];
  expect(found.filter(({ check, verdict }) => check === 'archive' && verdict !== 'good')).toMatchObject([
    { verdict: 'bad' },
  ]);

  await blobs.delete();
  await nextDay();
  await expect(verifyDue(contextOf())).rejects.toMatchObject({ code: 'storage-container-missing' });
  expect(await shownBy()).toMatch(/Archive last verified \d+ \S+ ago: it can't be read: The blob container \S+ at/);
});
