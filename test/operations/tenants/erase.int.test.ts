// docs/SPEC-erase.md, ERASE-R1 to ERASE-C3.
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { erase } from '../../../src/operations/tenants/erase.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { ERASE, GONE, STAYS, eraseOptions, everything, fill, naming } from './leaving.ts';

let azurite: Azurite;
let stage: Stage;
let blobs: ContainerClient;
let used = 0;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});
beforeEach(async () => {
  const { connectionString } = azurite;
  const container = `erase-${(used += 1)}`;
  stage = await openStage({}, ERASE, { connectionString, container });
  blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(container);
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: ERASE })) vi.stubEnv(name, value);
  await fill(stage);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

/** What is stored of the store that stays, and of none. */
const others = (all: ReadonlyMap<string, string>): [string, string][] =>
  [...all].filter(
    ([place, text]) =>
      !place.includes(GONE) && !text.includes(GONE) && naming(new Map([[place, text]]), STAYS).length > 0,
  );

it('removes everything of the tenant, and leaves another’s byte for byte', async () => {
  const before = await everything(stage, blobs);
  console.log(
    Object.entries(Object.groupBy(naming(before, GONE), (p) => p.split('/')[0]!)).map(([k, v]) => [k, v!.length]),
  );
  const certificate = await erase(await eraseOptions(stage));
  const after = await everything(stage, blobs);
  expect(naming(after, GONE)).toEqual([]);
  console.log(certificate);
  for (const [place, text] of others(before)) expect([place, after.get(place)]).toEqual([place, text]);
});
