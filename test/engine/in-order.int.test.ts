import { expect, it } from 'vitest';
import { MillraceError } from '../../src/base/errors.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { applyOrdered } from '../../src/engine/in-order.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { untilStopped } from '../../src/feed/tenure/fences.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import { clientOf, emulate } from '../emulator/emulate.ts';

const P = 'out@1';
const change = (id: string, lsn: number): Change => ({
  container: 'Orders',
  type: 'order',
  key: ['t1'],
  id,
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at: 0,
  op: 'upsert',
  doc: { id },
});

it('a change that waited doesn’t come after a newer version, although the host died before it could resolve it', async () => {
  const { emulator } = await emulate();
  const database = clientOf(emulator).database('d');
  const letters = (): DeadLetters => new DeadLetters(database.container('c'));
  const access = new CosmosAccess(database, untilStopped(new AbortController().signal), new Meter());
  const whole = (deadLetters: DeadLetters) => ({ deadLetters, erased: () => undefined });
  const error = new MillraceError('refused', 'Refused');
  await letters().park(P, [{ change: change('b', 1), error }], new Date(0));
  await letters().parkWaiting(P, [change('a', 2)], new Date(0));

  const ran: string[] = [];
  const runner = (diesAfter: number): Runner => ({
    id: P,
    order: 'partitionKey',
    sources: [{ container: 'Orders', type: 'order' }],
    apply: async (changes) => {
      for (const { id, version } of changes) {
        if (ran.length === diesAfter) throw new MillraceError('died', 'The host died', { retryable: true });
        ran.push(`${id} ${version.lsn}`);
      }
    },
  });
  await expect(applyOrdered(runner(1), [change('a', 3), change('b', 4)], access, whole(letters()))).rejects.toThrow(
    'died',
  );
  // By now the feed has a later version of a, beyond this page.
  for (const page of [[change('b', 4)], [change('a', 5)]]) {
    const own = letters();
    const { applied } = await applyOrdered(runner(Infinity), page, access, whole(own));
    await own.resolve(P, applied);
  }
  expect(ran).toEqual(['a 3', 'b 4', 'a 5']);
});
