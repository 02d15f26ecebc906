// Two processes on one document, each stopped before each of its requests while the other goes on. RES-U5, RES-U10.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Unique, uniqueAcross } from '../../src/patterns/index.ts';
import { type World, openWorld } from './world.ts';

/** No call makes more requests than this. */
const MOST = 12;

let world: World;
beforeAll(async () => {
  world = await openWorld(1);
});
afterAll(() => world[Symbol.asyncDispose]());

const place = { id: '1', tenant: 't' };

/** Whose request number `at` waits until it is let go. */
function paused(at: number, open: (client: ReturnType<World['client']>) => Unique) {
  const reached = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  let requests = 0;
  const unique = open(
    world.client(async () => {
      if (requests++ !== at) return;
      reached.resolve();
      await free.promise;
    }),
  );
  return { unique, reached: reached.promise, go: free.resolve };
}

it.each([
  ['a change', (unique: Unique) => unique.change('1', 't', 'b'), true],
  ['a creation', (unique: Unique) => unique.create({ ...place, email: 'b' }), false],
] as const)('a deletion beside %s leaves no settled document without its value', async (name, work, isThere) => {
  for (let first = 0; first < MOST; first++)
    for (let second = 0; second < MOST; second++) {
      const at = `${name.replace(' ', '-')}-${first}-${second}`;
      await world.create(`users-${at}`, ['/tenant']);
      await world.create(`held-${at}`, ['/id'], { defaultTtl: -1 });
      const open = (client: ReturnType<World['client']>) =>
        uniqueAcross({
          name: 'email',
          path: '/email',
          container: client(`users-${at}`),
          reservations: client(`held-${at}`),
        });
      if (isThere) await open(world.client()).create({ ...place, email: 'a' });
      const worker = paused(first, open);
      const remover = paused(second, open);
      const working = work(worker.unique).catch(() => undefined);
      await Promise.race([worker.reached, working]);
      const removing = remover.unique.delete('1', 't').then(
        () => true,
        () => false,
      );
      await Promise.race([remover.reached, removing]);
      worker.go();
      await working;
      remover.go();
      await removing;
      const survivor = open(world.client());
      await survivor.settleAll();
      const users = world.client()(`users-${at}`);
      const { resources } = await users.items.query<{ email: string }>('SELECT c.email FROM c').fetchAll();
      for (const value of ['a', 'b']) {
        const owner = resources.find(({ email }) => email === value) && '1';
        expect((await survivor.ownerOf(value))?.id, `${at}: owner of ${value}`).toBe(owner);
      }
    }
});
