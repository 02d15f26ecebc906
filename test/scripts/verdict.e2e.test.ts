import { expect, test } from 'vitest';
import { judged } from '../../scripts/clients/verdict.ts';

const judge = (script: string) => ({ command: process.execPath, args: ['-e', script] });
const OK = `console.log('{"check":"a","counts":{"writes":2},"wrong":[]}');`;

test('a judge’s lines are verdicts, and what it asks for is answered before it goes on', async () => {
  const script = `
    ${OK}
    console.log('{"turn":"split","container":"c"}');
    process.stdin.once('data', (line) => {
      console.log(JSON.stringify({ check: process.env.NAME, counts: JSON.parse(line), wrong: ['x'] }));
      process.exit();
    });`;
  const asked: unknown[] = [];
  const found = await judged(judge(script), { NAME: 'b' }, async (request) => {
    asked.push(request);
    return { ranges: 2 };
  });
  expect(asked).toEqual([{ turn: 'split', container: 'c' }]);
  expect(found).toEqual({
    verdicts: [
      { check: 'a', counts: { writes: 2 }, wrong: [] },
      { check: 'b', counts: { ranges: 2 }, wrong: ['x'] },
    ],
  });
});

test.each([
  ['fails', `${OK} console.error('why'); process.exitCode = 3;`, 1, /ended with 3: why/],
  ['is killed', `${OK} process.kill(process.pid, 'SIGKILL');`, 1, /ended with SIGKILL/],
  ['says nothing', '', 0, /ended with 0/],
  ['says something else', `${OK} console.log('{"counts":{}}');`, 1, /can't be understood: .*check/s],
])('a judge that %s broke, and what it said before counts', async (_what, script, before, why) => {
  const found = await judged(judge(script), {}, () => Promise.resolve({}));
  expect(found.broke).toMatch(why);
  expect(found.verdicts).toHaveLength(before);
});

test('a judge that is no program broke', async () => {
  const found = await judged({ command: '/none', args: [] }, {}, () => Promise.resolve({}));
  expect(found).toEqual({ verdicts: [], broke: expect.stringContaining('ENOENT') });
});

test('what a judge asks for and our commands refuse is a difference', async () => {
  const script = `console.log('{"turn":"adopt"}'); process.stdin.resume();`;
  const found = await judged(judge(script), {}, () => Promise.reject(new Error('no such lease')));
  expect(found).toEqual({ verdicts: [{ check: 'our turn: adopt', counts: {}, wrong: ['no such lease'] }] });
});
