import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type Emulator, startEmulator } from '../../../src/emulator/index.ts';
import { type CliResult, cli } from '../../cli/cli.ts';
import { clientInside } from '../../emulator/emulate.ts';

/** An embedded server with the databases `west` and `east`, and the command line on it. */
export class VerbStage implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly directory = mkdtempSync(join(tmpdir(), 'shards-'));

  private constructor(emulator: Emulator) {
    this.emulator = emulator;
  }

  static async open(): Promise<VerbStage> {
    const stage = new VerbStage(await startEmulator({ seed: 3 }));
    for (const [name, value] of [
      ['COSMOS', stage.emulator.connectionString],
      ['COSMOS_DATABASE', 'shop'],
      ['SHARD_MAPS_DATABASE', 'maps'],
    ] as const)
      vi.stubEnv(name, value);
    const client = clientInside(stage.emulator);
    for (const id of ['west', 'east']) {
      const { database } = await client.databases.create({ id });
      for (const [name, partitionKey] of [
        ['Orders', '/tenantId'],
        ['Currencies', '/code'],
      ] as const)
        await database.containers.create({ id: name, partitionKey });
    }
    client.dispose();
    return stage;
  }

  /** `shards` and these words, as on the command line. */
  run(line: string, more: readonly string[] = []): Promise<CliResult> {
    return cli(['shards', ...line.split(' '), ...more], { directory: this.directory });
  }

  /** The one JSON value that a command prints. */
  async json(line: string, more: readonly string[] = []): Promise<{ readonly code: number; readonly value: unknown }> {
    const { code, stdout } = await this.run(line, [...more, '--json']);
    return { code, value: JSON.parse(stdout) as unknown };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    vi.unstubAllEnvs();
    rmSync(this.directory, { recursive: true });
    await this.emulator.close();
  }
}
