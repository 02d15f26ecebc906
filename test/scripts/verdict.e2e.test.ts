import { expect, test } from 'vitest';
import { verdicts } from '../../scripts/clients/verdict.ts';

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
  const found = await verdicts(judge(script), { NAME: 'b' }, async (request) => {
    asked.push(request);
    return { ranges: 2 };
  });
  expect(asked).toEqual([{ turn: 'split', container: 'c' }]);
  expect(found).toEqual([
    { check: 'a', counts: { writes: 2 }, wrong: [] },
    { check: 'b', counts: { ranges: 2 }, wrong: ['x'] },
  ]);
});

test.each([
  ['fails', `${OK} console.error('why'); process.exitCode = 3;`, /ended with 3 after 1 checks: why/],
  ['is ended', `${OK} process.kill(process.pid, 'SIGKILL');`, /ended with SIGKILL/],
  ['says nothing', '', /ended with 0 after 0 checks/],
  ['says something else', `${OK} console.log('{"counts":{}}');`, /check/],
  ['asks for what fails', `console.log('{"turn":"no"}'); process.stdin.resume();`, /nobody knows/],
])('that a judge %s is a difference', async (_what, script, why) => {
  const found = await verdicts(judge(script), {}, async ({ turn }) => {
    if (turn === 'no') throw new Error('nobody knows');
    return {};
  });
  expect(found.flatMap(({ wrong }) => wrong).join('\n')).toMatch(why);
});
