// ECHO-R10 after a crash: by all versions, the next host meets the older version of what the dead one had begun.
import { expect, it } from 'vitest';
import { copyRunner } from '../../src/kinds/copy/copy-runner.ts';
import { leavingOutUnchanged } from '../../src/kinds/unchanged.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { bound } from '../support/access.ts';
import { COPY, ORDERS, source } from './exactness.ts';
import { Crash, UNFENCED } from './history.ts';
import { openTwoHosts } from './two-hosts.ts';

it('a version is written whose equal predecessor came too late to be applied', async () => {
  await using hosts = await openTwoHosts({ Orders: '/tenant', Copies: '/place' });
  const orders = source(ORDERS);
  const sink = { name: 'Copies', keyPaths: [['place']] };
  const runner = copyRunner(COPY, sink, {
    stateContainer: 'millrace',
    sources: new Map([['Orders', orders]]),
    readLagMs: 0,
  });
  const order = { id: 'd0', tenant: 't1', type: 'order', state: 'open', cents: 5, lines: [] };
  const first = await hosts.write(orders, order);
  const enriched = await hosts.write(orders, { ...order, v: 1 });

  // It dies when it has stored where the copy will be.
  const dying = hosts.access(0);
  const commit: DocumentAccess['commit'] = async (container, ...of) => {
    if (container === 'Copies') throw new Crash();
    return dying.commit(container, ...of);
  };
  const dead = { ...bound(dying), commit };
  await expect(runner.apply([enriched], dead)).rejects.toBeInstanceOf(Crash);

  const next: DocumentAccess = { ...bound(hosts.access(1)), fence: { ...UNFENCED, kind: 'lease', tenure: {} } };
  const leaving = leavingOutUnchanged(
    runner,
    () => ['/v'],
    () => '',
  );
  await leaving.apply([first], next);
  await leaving.apply([enriched], next);
  expect(await hosts.read('Copies', 't1|d0', 't1-open')).toMatchObject({ cents: 5 });
});
