// What the local host says of a function whose account isn't the one of the settings COSMOS.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { millrace } from '../../support/process.ts';
import { openStage } from '../../support/stage.ts';

const ROOT = join(import.meta.dirname, '../../..');
const FUNCTION = { connection: 'MAIN', databaseName: 'shop', containerName: 'Orders' };

it.each([
  [
    { databaseName: 'shopp' },
    'Function orders: the account of MAIN has no database shopp: did you mean shop?',
    'Correct `databaseName` of the function, or the setting that it names.',
  ],
  [
    { containerName: 'Order' },
    'Function orders: There is no container Order in database shop (account of MAIN)',
    'Correct `containerName` of the function, or create the container.',
  ],
  [
    { leaseContainerName: 'lease' },
    /Function orders: .*\blease\b.* \(account of MAIN\)/,
    'Correct `leaseContainerName` of the function, create the container with the key /id, or set `createLeaseContainerIfNotExists`.',
  ],
])('`functions start` names what its function names: %j', async (wrong, message, hint) => {
  const app = mkdtempSync(join(tmpdir(), 'millrace-app-'));
  onTestFinished(() => rmSync(app, { recursive: true }));
  symlinkSync(join(ROOT, 'node_modules'), join(app, 'node_modules'), 'dir');
  writeFileSync(join(app, 'host.json'), '{ "version": "2.0" }');
  writeFileSync(join(app, 'package.json'), JSON.stringify({ type: 'module', main: 'index.js' }));
  const options = JSON.stringify({ ...FUNCTION, ...wrong });
  writeFileSync(
    join(app, 'index.js'),
    `import { app } from '@azure/functions'; app.cosmosDB('orders', { ...${options}, handler: () => {} });`,
  );
  await using stage = await openStage();
  // No pipeline, and no setting of one.
  const env = { MAIN: stage.emulator.connectionString, COSMOS: '', COSMOS_DATABASE: '' };
  await using host = millrace(['functions', 'start', '--port', '0'], { directory: app, env });
  expect((await host.ended).code).toBe(2);
  expect(host.stderr).toMatch(message);
  expect(host.stderr).toContain(`\n  ${hint}\n`);
});
