// The stacks are Node's own, of a pipeline that is broken in each of these ways.
import { expect, it } from 'vitest';
import { placeIn } from '../../src/runtime/pipeline/load-pipeline.ts';

const INSIDE = '    at parseTypeScript (node:internal/modules/typescript:72:36)';

it.each([
  [
    'a syntax error',
    `/app/pipeline/pipeline.ts:48\noops(\n\nSyntaxError: Expression expected\n${INSIDE}`,
    ['pipeline.ts', 48],
  ],
  [
    'that of an ES module',
    `file:///app/pipeline/pipeline.ts:3\noops(\n\nSyntaxError: …\n${INSIDE}`,
    ['pipeline.ts', 3],
  ],
  [
    'an error of a file that was loaded again',
    'ReferenceError: foo is not defined\n    at file:///app/pipeline/helper.ts?millrace-import=2:2:18',
    ['helper.ts', 2],
  ],
  [
    'an error that a package throws',
    'Error: no\n    at Object.of (/app/node_modules/x/index.js:9:1)\n    at at (file:///app/pipeline/pipeline.ts:7:3)',
    ['pipeline.ts', 7],
  ],
  [
    'a module that is not there',
    `Error: Cannot find module '/app/pipeline/nowhere.ts' imported from /app/pipeline/pipeline.ts\n${INSIDE}`,
    undefined,
  ],
] as const)('the stack of an error names the place of %s', (_, stack, place) => {
  const error = Object.assign(new Error('…'), { stack });
  expect(placeIn('/app/pipeline', error)).toEqual(place && { file: `/app/pipeline/${place[0]}`, line: place[1] });
});
