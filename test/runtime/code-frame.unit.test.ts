// The stacks are Node's own, of a pipeline that is broken in each of these ways.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { codeFrame, placeIn } from '../../src/runtime/pipeline/code-frame.ts';

const INSIDE = '    at parseTypeScript (node:internal/modules/typescript:72:36)';

it.each([
  [
    'a syntax error',
    `/app/pipeline/pipeline.ts:48\noops(\n\nSyntaxError: Expression expected\n${INSIDE}`,
    ['pipeline.ts', 48],
  ],
  [
    'a syntax error that is marked',
    `file:///app/pipeline/pipeline.ts:20\n  id: 1,\n  cents: + ,\n           ^\n\nSyntaxError: Expression expected\n${INSIDE}`,
    ['pipeline.ts', 20, 12],
  ],
  [
    'that of an ES module',
    `file:///app/pipeline/pipeline.ts:3\noops(\n\nSyntaxError: …\n${INSIDE}`,
    ['pipeline.ts', 3],
  ],
  [
    'an error of a file that was loaded again',
    'ReferenceError: foo is not defined\n    at file:///app/pipeline/helper.ts?millrace-import=2:2:18',
    ['helper.ts', 2, 18],
  ],
  [
    'an error that a package throws',
    'Error: no\n    at Object.of (/app/node_modules/x/index.js:9:1)\n    at at (file:///app/pipeline/pipeline.ts:7:3)',
    ['pipeline.ts', 7, 3],
  ],
  [
    'a module that is not there',
    `Error: Cannot find module '/app/pipeline/nowhere.ts' imported from /app/pipeline/pipeline.ts\n${INSIDE}`,
    undefined,
  ],
] as const)('the stack of an error names the place of %s', (_, stack, place) => {
  const error = Object.assign(new Error('…'), { stack });
  expect(placeIn('/app/pipeline', error)).toEqual(
    place && { file: `/app/pipeline/${place[0]}`, line: place[1], ...(place[2] && { column: place[2] }) },
  );
});

it('the line that an error comes from is shown with the one before and a mark; of an error from elsewhere nothing is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-frame-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'pipeline.ts');
  writeFileSync(file, 'const a = 1;\r\nconst b = a.of.it;\n');
  const cause = Object.assign(new Error('no'), {
    stack: `TypeError: no\n    at file://${file}?millrace-import=1:2:16`,
  });
  expect(codeFrame(folder, new UsageError('unloadable', 'no', { cause }))).toEqual([
    '  1 │ const a = 1;',
    '  2 │ const b = a.of.it;',
    '    │                ^',
  ]);
  expect(codeFrame(join(folder, 'other'), cause)).toEqual([]);
  rmSync(file);
  expect(codeFrame(folder, cause)).toEqual([]);
});
