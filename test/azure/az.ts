// The command line of Azure: the account it is signed in to is the user's, and so is everything it does.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Az {
  /** Runs a command and answers with what it printed, as JSON; null where it printed nothing. */
  (...args: readonly string[]): Promise<unknown>;
}

export class AzFailed extends Error {}

/** @param signal ends a command that runs */
export const az =
  (signal?: AbortSignal): Az =>
  async (...args) => {
    try {
      const options = { maxBuffer: 2 ** 26, ...(signal && { signal }), shell: process.platform === 'win32' };
      const { stdout } = await run('az', [...args, '--only-show-errors', '--output', 'json'], options);
      return stdout.trim() === '' ? null : (JSON.parse(stdout) as unknown);
    } catch (error) {
      const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
      if (code === 'ENOENT')
        throw new AzFailed('There is no `az` on this machine. Install Azure CLI, then run `az login`.', {
          cause: error,
        });
      throw new AzFailed(`az ${args.slice(0, 3).join(' ')} … failed: ${stderr.trim() || String(error)}`, {
        cause: error,
      });
    }
  };
