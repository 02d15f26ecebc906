// Runs on each supported Node what depends on it: the unit tests, and the deployed app in a language worker. `npm test`
// has done it on the checkout's own. Usage: node scripts/test-nodes.ts
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SUPPORTED, nodeOf } from '../test/support/nodes.ts';

const vitest = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));

const runs = [
  ...SUPPORTED.filter((version) => version !== process.versions.node).map((version) => ({
    what: `unit tests on Node ${version}`,
    node: nodeOf(version),
    wanted: ['--project', 'unit'],
  })),
  {
    what: 'the deployed app on each',
    node: process.execPath,
    wanted: ['test/functions/worker.e2e.test.ts'],
  },
];
for (const { what, node, wanted } of runs) {
  console.log(`\n${what}`);
  const { status } = spawnSync(node, [vitest, 'run', '--reporter=dot', ...wanted], {
    stdio: 'inherit',
    env: { ...process.env, MILLRACE_NODES: 'all' },
  });
  if (status !== 0) process.exitCode = 1;
}
