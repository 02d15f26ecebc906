import { type Probe, holds } from '../probe.ts';

export const sessions: readonly Probe[] = [
  {
    number: 'ASM-E5',
    asks: 'session tokens are range:version#lsn, on refusals too',
    run: async (bench) => {
      const { items } = await bench.container();
      const { headers } = await items.create({ id: '1', pk: 'a' });
      const form = /^[^:#]+:-?\d+#\d+/;
      const token = String(headers['x-ms-session-token']);
      holds(form.test(token), `a create has ${token}`);
      const refused = await items.create({ id: '1', pk: 'a' }).then(
        () => undefined,
        (error: unknown) => error as { readonly headers?: Readonly<Record<string, unknown>> },
      );
      holds(
        form.test(String(refused?.headers?.['x-ms-session-token'])),
        `a 409 has ${JSON.stringify(refused?.headers?.['x-ms-session-token'])}`,
      );
    },
  },
  {
    number: 'ASM-E6',
    asks: 'a session token ahead of the partition is refused with 404',
    run: async (bench) => {
      const container = await bench.container();
      const { headers } = await container.items.create({ id: '1', pk: 'a' });
      const token = String(headers['x-ms-session-token']);
      const ahead = token.replace(/#(\d+)/, (_, lsn: string) => `#${Number(lsn) + 1_000_000}`);
      // The client reads once more without the token; its diagnostics have the refusal, without the substatus.
      const { diagnostics } = await container.item('1', 'a').read({ sessionToken: ahead });
      const { failedAttempts } = diagnostics.clientSideRequestStatistics.retryDiagnostics;
      const refused = failedAttempts.map(({ statusCode }) => statusCode);
      holds(refused.includes(404), `the attempts before the one that succeeded: ${JSON.stringify(refused)}`);
    },
  },
];
