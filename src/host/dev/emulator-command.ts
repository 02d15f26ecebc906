import { z } from 'zod';
import { MillraceError, UsageError, messageOf } from '../../base/errors.ts';

/** Which running embedded server a verb speaks to: shared by the verbs that command one. */
export const serverInput = {
  endpoint: z.url().default('http://127.0.0.1:8081/').describe('of the running server'),
  key: z.string().optional().describe('its key; absent: the published emulator key'),
};

/**
 * Sends one command to a running embedded server.
 * @throws UsageError where nothing listens, the key is another, or the server refuses the command
 */
export async function command(
  name: string,
  { endpoint, key }: { readonly endpoint: string; readonly key?: string | undefined },
  body: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { EMULATOR_KEY } = await import('../../emulator/index.ts');
  const response = await fetch(new URL(`_millrace/${name}`, endpoint), {
    method: 'POST',
    headers: { authorization: `Bearer ${key ?? EMULATOR_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  }).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    throw new UsageError('emulator-unreachable', `No embedded server answers at ${endpoint}: ${messageOf(cause)}`, {
      cause,
      mend: 'Start one with `millrace emulator start`, or name its --endpoint.',
    });
  });
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.ok) return answer;
  const message = typeof answer['message'] === 'string' ? answer['message'] : `It answered ${response.status}.`;
  if (response.status >= 500) throw new MillraceError('emulator-failed', message);
  throw new UsageError('emulator-command-refused', message, { mend: `See \`millrace emulator ${name} --help\`.` });
}
