import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { indexApp, readAppFiles } from '../../../src/host/local-host/app-files.ts';
import { FunctionsCore } from '../../../src/host/local-host/core.ts';
import { openKeys, sameKey } from '../../../src/host/local-host/keys.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-app-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});
const write = (file: string, text: string): void => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
};

describe('the files of an app', () => {
  it('`host.json` takes comments, and the host’s defaults', () => {
    write('host.json', '{ "version": "2.0" // as always\n}');
    const eventHubs = { maxEventBatchSize: 100, start: { offset: '-1' } };
    expect(readAppFiles(root)).toEqual({ routePrefix: 'api', values: {}, port: undefined, eventHubs });
    write('host.json', '{ "extensions": { "http": { "routePrefix": "" } } }');
    write('local.settings.json', '{ "Values": { "A": "1" }, "Host": { "LocalHttpPort": 7 } }');
    expect(readAppFiles(root)).toEqual({ routePrefix: '', values: { A: '1' }, port: 7, eventHubs });
  });

  it.each([
    ['{ "maxEventBatchSize": 7 }', { maxEventBatchSize: 7, start: { offset: '-1' } }],
    ['{ "initialOffsetOptions": { "type": "fromEnd" } }', { maxEventBatchSize: 100, start: { offset: '@latest' } }],
    [
      '{ "initialOffsetOptions": { "type": "fromEnqueuedTime", "enqueuedTimeUtc": "2026-11-01T00:00:00Z" } }',
      { maxEventBatchSize: 100, start: { enqueuedOn: new Date('2026-11-01T00:00:00Z') } },
    ],
  ])('the reader of app files says how events come: %s', (eventHubs, wanted) => {
    write('host.json', `{ "extensions": { "eventHubs": ${eventHubs} } }`);
    expect(readAppFiles(root).eventHubs).toEqual(wanted);
  });

  it.each([
    ['no host.json', {}, 'not the folder of a function app'],
    ['a host.json that is not JSON', { 'host.json': '{' }, 'host.json can’t be read'],
    [
      'a time that isn’t valid',
      { 'host.json': '{"extensions":{"eventHubs":{"initialOffsetOptions":{"type":"fromEnqueuedTime"}}}}' },
      'enqueuedTimeUtc is not a time',
    ],
    ['values that are no texts', { 'host.json': '{}', 'local.settings.json': '{"Values":{"A":1}}' }, 'Values.A'],
    ['encrypted values', { 'host.json': '{}', 'local.settings.json': '{"IsEncrypted":true}' }, 'is encrypted'],
  ])('the reader of app files refuses %s', (_, files, message) => {
    for (const [file, text] of Object.entries(files)) write(file, text);
    expect(() => readAppFiles(root)).toThrow(message.replace('’', "'"));
  });
});

describe('indexing', () => {
  it.each([
    ['no main', { 'package.json': '{}' }, 'app-invalid'],
    ['a main that matches nothing', { 'package.json': '{"main":"dist/*.js"}' }, 'app-invalid'],
    ['a file that throws', { 'package.json': '{"main":"a.mjs"}', 'a.mjs': 'throw new Error("no")' }, 'app-invalid'],
    ['a file that registers nothing', { 'package.json': '{"main":"a.mjs"}', 'a.mjs': '' }, 'app-invalid'],
  ])('the index of functions says what the host would keep to itself: %s', async (_, files, code) => {
    for (const [file, text] of Object.entries(files)) write(file, text);
    await expect(indexApp(new FunctionsCore(), root)).rejects.toMatchObject({ code, hint: expect.any(String) });
  });
});

it('an app keeps keys from start to start, and makes those that are missing', () => {
  const file = join(root, '.millrace/keys.json');
  const first = openKeys(file, ['a']);
  const second = openKeys(file, ['a', 'b']);
  expect([second.master, second.of('a')]).toEqual([first.master, first.of('a')]);
  expect(new Set([second.master, second.of('a'), second.of('b')]).size).toBe(3);
  write('.millrace/keys.json', 'torn');
  expect(openKeys(file, ['a']).of('a')).not.toBe(first.of('a'));
  expect([sameKey('', second.master), sameKey('x', second.master), sameKey(second.master, second.master)]).toEqual([
    false,
    false,
    true,
  ]);
});
