import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ruleSettings } from '../../../src/verbs/model/settings.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-settings-'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

async function read(text: string, flags: { profile?: 'seed' | 'microsoft'; price?: number } = {}) {
  await writeFile(join(folder, 'rules.json'), text);
  return ruleSettings({ ...flags, settings: 'rules.json' }, folder);
}

test('what the file states replaces the defaults, and a flag the file', async () => {
  const text = '{ "profile": "seed", "price": 0.01, "frequent": 25, "outage": "7 d", "headroom": 0.5 }';
  expect(await read(text)).toMatchObject({ profile: 'seed', price: 0.01, frequent: 25, outageMs: 604_800_000 });
  expect(await read(text, { profile: 'microsoft', price: 2 })).toMatchObject({ profile: 'microsoft', price: 2 });
  expect(await ruleSettings({}, folder)).toMatchObject({ profile: 'microsoft', frequent: 10, headroom: 0.7 });
});

test.each([
  ['{ "frequnt": 25 }', 'there is no setting frequnt: did you mean frequent?'],
  ['{ "headroom": 7 }', 'headroom'],
  ['{ "outage": "long" }', 'long is not a duration'],
  ['{ "thresholds": { "single": 20, "multi": 50 } }', 'multi is above single'],
  ['[]', 'expected object'],
  ['{ "price": ', 'JSON'],
])('%s is refused', async (text, why) => {
  await expect(read(text)).rejects.toMatchObject({
    code: 'unreadable',
    message: expect.stringContaining(why),
    hint: expect.stringContaining('The settings are: profile'),
  });
});
