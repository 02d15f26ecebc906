import { z } from 'zod';
import { optional } from '../../../verbs/flags.ts';
import { type UsageError, messageOf } from '../../../base/errors.ts';
import { hostError } from '../../errors.ts';
import { sharedError } from '../../../base/shared-errors.ts';

/** Flags that name a running embedded server, shared by the commands that control one. */
export const serverInput = {
  endpoint: z.url().default('http://127.0.0.1:8081/').describe('address of the running server'),
  key: optional('key of the server (default: the published emulator key)'),
};

/** The running server that a command's input names. */
interface ServerInput {
  readonly endpoint: string;
  readonly key?: string | undefined;
}

/**
 * Sends one command to a running embedded server.
 * @throws UsageError if nothing listens there, the key is wrong, or the server refuses the command
 */
export async function command(
  name: string,
  { endpoint, key }: ServerInput,
  body: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { EMULATOR_KEY } = await import('../../../emulator/index.ts');
  const response = await fetch(new URL(`_millrace/${name}`, endpoint), {
    method: 'POST',
    headers: { authorization: `Bearer ${key ?? EMULATOR_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  }).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    throw unreachable(endpoint, cause);
  });
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.ok) return answer;
  const message = typeof answer['message'] === 'string' ? answer['message'] : `The server answered ${response.status}.`;
  if (response.status >= 500) throw hostError('process-ended', message);
  throw sharedError('emulator-command-refused', message, { hint: `See \`millrace emulator ${name} --help\`.` });
}

function unreachable(endpoint: string, cause: unknown): UsageError {
  const { code } = ((cause as { cause?: unknown }).cause ?? {}) as { code?: unknown };
  const untrusted = code === 'DEPTH_ZERO_SELF_SIGNED_CERT' || code === 'SELF_SIGNED_CERT_IN_CHAIN';
  const why = typeof code === 'string' ? code : messageOf(cause);
  return sharedError('unreachable', `No embedded server answers at ${endpoint}: ${why}`, {
    cause,
    ...(untrusted && {
      hint: 'Set NODE_EXTRA_CA_CERTS to the file that `millrace emulator start --tls FILE` wrote.',
    }),
  });
}
