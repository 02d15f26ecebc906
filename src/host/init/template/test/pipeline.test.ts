// These tests hold for any pipeline: put your own into pipeline/, and they test it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('bin/millrace.mjs', import.meta.resolve('millrace/package.json')));

/** Runs a command and returns its output. If the exit code isn't 0, fails with it. */
function millrace(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], { encoding: 'utf8' });
  assert.equal(status, 0, `millrace ${args.join(' ')}\n${stdout}\n${stderr}`);
  return stdout;
}

const json = (...args: string[]): unknown => JSON.parse(millrace(...args, '--json'));

interface Run {
  projections: { projection: string; changes: number; parked: number }[];
  verification: { different: number };
}

/** Loads the workload, derives everything, recomputes it with other code, and compares. */
function derive(...faults: string[]): Run {
  return json('dev', '--once', ...faults) as Run;
}

await test('the documents are complete, and the pipeline does what they say', () => {
  millrace('model', 'check');
});

await test('types and infra/ follow from the documents', () => {
  millrace('model', 'types', '--check');
  millrace('model', 'infra', '--check');
});

await test('every projection gets changes, parks none, and is right', () => {
  const { projections, verification } = derive();
  for (const { projection, changes, parked } of projections) {
    assert.ok(changes > 0, `${projection} got no change: give workload.ts some for it`);
    assert.equal(parked, 0, `${projection} parked changes`);
  }
  assert.equal(verification.different, 0);
});

await test('every projection is right when the database lags, throttles and loses answers', () => {
  const { verification } = derive('--replica-lag', '50', '--throttle', '0.02', '--fail-after-effect', '0.02');
  assert.equal(verification.different, 0);
});

await test('the built app registers a trigger for each container it reads', () => {
  const functions = json('functions', 'start', '--list') as { name: string; type: string }[];
  const triggers = functions.filter(({ type }) => type === 'cosmosDBTrigger');
  const projections = json('projections', 'list') as unknown[];
  assert.equal(triggers.length > 0, projections.length > 0, 'run `npm run millrace -- functions start --list`');
  assert.ok(functions.some(({ name }) => name === 'millrace-health'));
});
