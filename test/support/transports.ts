import type { CosmosClientOptions } from '@azure/cosmos';
import type { Emulator } from '../../src/emulator/index.ts';

type HttpClient = Required<CosmosClientOptions>['httpClient'];

const servers = new Map<string, HttpClient>();
const originOf = (url: string): string => new URL(url).origin;

/** Verbs that `cli` runs reach this server without sockets, which would be a third of their processor time. */
export function reachInProcess({ endpoint, clientOptions }: Emulator): () => void {
  const origin = originOf(endpoint);
  servers.set(origin, clientOptions.httpClient);
  return () => void servers.delete(origin);
}

/** For the account of a connection string; empty: no server of this process is known to have it. */
export function transportOf(connectionString: string | undefined): Pick<CosmosClientOptions, 'httpClient'> {
  const endpoint = /AccountEndpoint=([^;]+)/.exec(connectionString ?? '')?.[1];
  return endpoint !== undefined && servers.has(originOf(endpoint)) ? { httpClient: toKnown } : {};
}

/** A workspace gives its transport to all accounts of its shards. */
const toKnown: HttpClient = {
  sendRequest: (request) => {
    const server = servers.get(originOf(request.url));
    if (!server) throw new Error(`No server of this process is known at ${originOf(request.url)}`);
    return server.sendRequest(request);
  },
};
