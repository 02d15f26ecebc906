import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startAzurite } from '../../src/host/dev/storage.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-storage-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('Azurite beside a development run', () => {
  it('Azurite beside a development run saves and ends when its parent is killed, and the next run finds what was kept', async () => {
    const parent = fork(join(import.meta.dirname, 'azurite-process.ts'), [folder], { execArgv: [] });
    await once(parent, 'message');
    const pid = Number(readFileSync(join(folder, 'azurite.pid'), 'utf8'));
    expect(isRunning(pid)).toBe(true);
    parent.kill('SIGKILL');
    await once(parent, 'exit');

    const next = await startAzurite({ folder });
    expect(isRunning(pid)).toBe(false);
    const container = BlobServiceClient.fromConnectionString(next.connectionString).getContainerClient('kept');
    expect((await container.getBlobClient('blob').downloadToBuffer()).toString()).toBe('as it was');
    await next.close();
    expect(next.ended.aborted).toBe(false);
  });

  it('Azurite beside a development run says that it is gone when somebody else ends it', async () => {
    const azurite = await startAzurite({ folder });
    process.kill(Number(readFileSync(join(folder, 'azurite.pid'), 'utf8')), 'SIGKILL');
    await vi.waitFor(() => expect(azurite.ended.aborted).toBe(true), 10_000);
    expect(azurite.ended.reason).toMatchObject({ code: 'process-ended' });
  });

  it('Azurite beside a development run refuses a folder that it can’t make', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(startAzurite({ folder: join(file, 'blob') })).rejects.toMatchObject({ code: 'unwritable' });
  });
});
