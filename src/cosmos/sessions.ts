// Sessions of containers that are deleted and created again under their names. The SDK keeps the tokens of the old
// container for ever, and the new one refuses them until it has had as many writes (ASM-E6).
import type { CosmosClient, Next, Plugin, PluginConfig } from '@azure/cosmos';
import { failureOf } from './failure.ts';

type Request = Parameters<Plugin<unknown>>[0];
type Response = Awaited<ReturnType<Next<unknown>>>;

const TOKEN = 'x-ms-session-token';
const CONTAINER = /^\/?(dbs\/[^/]+\/colls\/[^/]+)\/docs/;
/** The substatus of a 404: the partition has not come as far as the token. */
const AHEAD = 1002;

/**
 * For `CosmosClientOptions.plugins`, as the last of them, because it may send a request a second time. When the answer of a
 * name comes from another container than before, the session of that name begins again. A container refuses a token that is
 * ahead of it: then the request goes without one. Its answer counts only if it comes from another container. A replica that
 * is behind in the same container stays refused.
 */
export function sessionPlugin(client: () => CosmosClient): PluginConfig {
  const known = new Map<string, string>();
  /** Notes from which container an answer comes. True: from another one than `sentTo`. */
  const isOther = (link: string, sentTo: string | undefined, { headers }: Response): boolean => {
    const rid: unknown = headers['x-ms-content-path'];
    if (typeof rid !== 'string') return false;
    const before = known.get(link);
    known.set(link, rid);
    if (before !== undefined && before !== rid) clear(client(), link);
    return sentTo !== undefined && sentTo !== rid;
  };
  return {
    on: 'request',
    plugin: async (request: Request, _node, next: Next<unknown>): Promise<Response> => {
      const [, link] = CONTAINER.exec(request.path ?? '') ?? [];
      if (link === undefined) return next(request);
      const sentTo = known.get(link);
      try {
        const answer = await next(request);
        isOther(link, sentTo, answer);
        return answer;
      } catch (error) {
        const { status, substatus } = failureOf(error);
        const { [TOKEN]: token, ...rest } = request.headers ?? {};
        if (status !== 404 || substatus !== AHEAD || token === undefined) throw error;
        request.headers = rest;
        const answer = await next(request);
        if (isOther(link, sentTo, answer)) return answer;
        throw error;
      }
    },
  };
}

/** As the SDK itself does when its client has deleted the container. Its type hides the context. */
function clear(client: CosmosClient, link: string): void {
  const { clientContext } = client as unknown as { clientContext: { clearSessionToken(path: string): void } };
  clientContext.clearSessionToken(`/${link}`);
}
