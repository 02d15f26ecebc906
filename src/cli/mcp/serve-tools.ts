import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { type RunCall, toolServer } from './tool-server.ts';
import type { Tool } from './tools.ts';

export interface ServeOptions {
  readonly tools: readonly Tool[];
  readonly version: string;
  readonly run: RunCall;
  readonly input: Readable;
  /** The protocol's alone. */
  readonly output: Writable;
  readonly log: Writable;
  readonly signal: AbortSignal;
}

/** Serves the tools until the client closes `input`, or `signal` is aborted. Calls that still run are then aborted. */
export async function serveTools({ tools, version, run, input, output, log, signal }: ServeOptions): Promise<void> {
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const served = serveStdio(
    () => toolServer(tools, version, (call, cancelled) => run(call, AbortSignal.any([either, cancelled]))),
    {
      transport: new StdioServerTransport(input, output),
      onerror: ({ message }) => log.write(`${message}\n`),
    },
  );
  input.once('end', () => ended.abort()).once('close', () => ended.abort());
  if (!either.aborted) await once(either, 'abort');
  await served.close();
}
