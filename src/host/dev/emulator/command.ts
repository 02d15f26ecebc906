import { z } from 'zod';
import { MillraceError, UsageError, messageOf } from '../../../base/errors.ts';

/** Which running embedded server a verb speaks to: shared by the verbs that command one. */
export const serverInput = {
  endpoint: z.url().default('http://127.0.0.1:8081/').describe('of the running server'),
  key: z.string().optional().describe('its key; absent: the published emulator key'),
};

/** A running server, as a verb's input names it. */
interface ServerInput {
  readonly endpoint: string;
  readonly key?: string | undefined;
}

/**
 * Sends one command to a running embedded server.
 * @throws UsageError where nothing listens, the key is another, or the server refuses the command
 */
export async function command(
  name: string,
  server: ServerInput,
  body: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  return (await (await send(name, server, body, signal)).json()) as Record<string, unknown>;
}

/** The same, for an answer of another form. */
export async function send(
  name: string,
  { endpoint, key }: ServerInput,
  body: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Response> {
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
  if (response.ok) return response;
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const message = typeof answer['message'] === 'string' ? answer['message'] : `It answered ${response.status}.`;
  if (response.status >= 500) throw new MillraceError('emulator-failed', message);
  throw new UsageError('emulator-command-refused', message, { mend: `See \`millrace emulator ${name} --help\`.` });
}

function unreachable(endpoint: string, cause: unknown): UsageError {
  const { code } = ((cause as { cause?: unknown }).cause ?? {}) as { code?: unknown };
  const untrusted = code === 'DEPTH_ZERO_SELF_SIGNED_CERT' || code === 'SELF_SIGNED_CERT_IN_CHAIN';
  const why = typeof code === 'string' ? code : messageOf(cause);
  return new UsageError('emulator-unreachable', `No embedded server answers at ${endpoint}: ${why}`, {
    cause,
    mend: untrusted
      ? 'Set NODE_EXTRA_CA_CERTS to the file that `millrace emulator start --tls FILE` wrote.'
      : 'Start one with `millrace emulator start`, or name its --endpoint.',
  });
}
