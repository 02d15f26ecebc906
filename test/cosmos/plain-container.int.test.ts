// Containers of Always Encrypted: each way to work with one is refused.
import { EncryptionAlgorithm, EncryptionType } from '@azure/cosmos';
import { ChangeFeedProcessor, readChanges } from 'millrace/feed';
import { expect, it } from 'vitest';
import { planModel } from '../../src/procedures/apply/apply.ts';
import { assertPositions } from '../../src/runtime/lease-positions.ts';
import { emulate } from '../emulator/emulate.ts';
import { openStage } from '../support/stage.ts';

const path = {
  path: '/cents',
  clientEncryptionKeyId: 'key',
  encryptionType: EncryptionType.RANDOMIZED,
  encryptionAlgorithm: EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256,
};
const clientEncryptionPolicy = { policyFormatVersion: 2, includedPaths: [path] };
const REFUSED = { code: 'container-unfit', message: expect.stringMatching(/^Container \w+ is Always Encrypted/) };

it('a processor and a reader refuse a container that its clients encrypt', async () => {
  const { database, container: source } = await emulate({ clientEncryptionPolicy });
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const processor = new ChangeFeedProcessor({ source, leases, name: 'P', instance: 'a', handler: () => undefined });
  await expect(processor.start()).rejects.toMatchObject(REFUSED);
  await expect(readChanges(source)[Symbol.asyncIterator]().next()).rejects.toMatchObject(REFUSED);
});

it.each(['Orders', 'Days'])('a pipeline whose clients encrypt %s is neither applied nor run', async (name) => {
  await using stage = await openStage();
  const { loaded, services, settings } = stage;
  const { resource } = await stage.container(name).read();
  await stage.container(name).delete();
  await services.place.database.containers.create({ ...resource, clientEncryptionPolicy });
  await expect(planModel(loaded, services)).rejects.toMatchObject(REFUSED);
  await expect(assertPositions(loaded.pipeline, services, settings)).rejects.toMatchObject(REFUSED);
});
