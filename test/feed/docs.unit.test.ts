import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DEFAULT_TIMINGS } from 'millrace/feed';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/processor.md'), 'utf8');

test('the times it names are the defaults', () => {
  for (const [name, ms] of Object.entries(DEFAULT_TIMINGS))
    expect(text).toContain(`\`${name}\` ${ms.toLocaleString('en')}`);
});

test.each(['v4', 'v3'])('it says what each setting of the Functions trigger is here (%s)', (version) => {
  const types = readFileSync(
    join(root, `node_modules/@azure/functions/types/cosmosDB.${version}.d.ts`),
    'utf8',
  ).replaceAll('\r', '');
  const [, body = ''] =
    new RegExp(`interface CosmosDB${version}TriggerOptions \\{\n([\\s\\S]*?)\n\\}`).exec(types) ?? [];
  const settings = [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name]) => `\`${name}\``);
  expect(settings.length).toBeGreaterThan(14);
  const missing = settings.filter((setting) => !text.includes(setting));
  expect(missing).toEqual([]);
});

// The public methods of the builder at learn.microsoft.com/dotnet/api/microsoft.azure.cosmos.changefeedprocessorbuilder.
test('it says what each method of .NET’s builder is here', () => {
  const methods = [
    'Build',
    'WithErrorNotification',
    'WithInMemoryLeaseContainer',
    'WithInstanceName',
    'WithLeaseAcquireNotification',
    'WithLeaseConfiguration',
    'WithLeaseContainer',
    'WithLeaseReleaseNotification',
    'WithMaxItems',
    'WithPollInterval',
    'WithStartTime',
  ];
  const missing = methods.filter((method) => !text.includes(`\`${method}`));
  expect(missing).toEqual([]);
});

test('the first processor it shows takes twelve lines', () => {
  const [, first = ''] = /```ts\n([\s\S]*?)```/.exec(text) ?? [];
  expect(first).toContain('new ChangeFeedProcessor<');
  expect(first.trimEnd().split('\n').length).toBeLessThanOrEqual(12);
});
