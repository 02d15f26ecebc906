import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { AskedOperation } from '../../src/dashboard/allowed.ts';
import { Runs } from '../../src/dashboard/runs.ts';
import type { Context } from '../../src/procedures/context.ts';
import { defineOperation } from '../../src/verbs/operation.ts';

function stage() {
  const waiting: ((error?: Error) => void)[] = [];
  const operation = defineOperation({
    name: 'things change',
    summary: 'Change things',
    examples: [],
    effect: 'changes',
    input: z.object({ name: z.string() }),
    run: async ({ name }, { screen }) => {
      screen.progress('changed', 1, 2);
      await new Promise<void>((resolve, reject) => waiting.push((error) => (error ? reject(error) : resolve())));
      return name;
    },
    format: (name) => `changed ${name} with Password=hunter2;`,
  });
  const runs = new Runs(() => undefined);
  const asked = (name: string, once: string): AskedOperation => ({
    name: 'things change',
    operation,
    effect: operation.effect,
    input: { name },
    dryRun: false,
    yes: false,
    once,
  });
  const context = { actor: 'tester', signal: new AbortController().signal, workspace: {} } as Omit<Context, 'screen'>;
  const begun = (count: number): Promise<boolean> => vi.waitUntil(() => waiting.length === count, 10_000);
  return { runs, waiting, begun, start: (name: string, once: string) => runs.start(asked(name, once), context) };
}

it('the same press runs once, also after its end', async () => {
  const { runs, waiting, begun, start } = stage();
  const [first, second] = [start('a', 'press-one'), start('a', 'press-one')];
  await begun(1);
  waiting[0]!();
  expect(await second).toBe(await first);
  expect(await start('a', 'press-one')).toBe(await first);
  expect(waiting).toHaveLength(1);
  expect(runs.rows).toHaveLength(1);
});

it('another press of the same thing is refused while the first runs, and runs afterwards', async () => {
  const { waiting, begun, start } = stage();
  const first = start('a', 'press-one');
  expect(() => start('a', 'press-two')).toThrow(/runs already/);
  const other = start('b', 'press-two');
  await begun(2);
  waiting[0]!();
  await first;
  const again = start('a', 'press-three');
  await begun(3);
  waiting[1]!();
  waiting[2]!();
  await Promise.all([other, again]);
});

it('the list of runs shows progress, end, result and failure, without secrets, and forgets the oldest that ended', async () => {
  const { runs, waiting, begun, start } = stage();
  const first = start('a', 'press-one');
  await begun(1);
  expect(runs.rows[0]).toMatchObject({
    state: 'running',
    input: 'name=a',
    progress: { what: 'changed', done: 1, of: 2 },
  });
  waiting[0]!();
  await first;
  expect(runs.rows[0]).toMatchObject({ state: 'done', text: 'changed a with Password=***;' });
  const second = start('b', 'press-two');
  await begun(2);
  waiting[1]!(new Error('no more room'));
  await expect(second).rejects.toThrow('no more room');
  expect(runs.rows[0]).toMatchObject({ state: 'failed', text: 'no more room' });
  for (let at = 2; at < 40; at++) {
    const one = start(`n${at}`, `press-${at}-more`);
    await begun(at + 1);
    waiting[at]!();
    await one;
  }
  expect(runs.rows).toHaveLength(20);
  await runs.idle();
});
