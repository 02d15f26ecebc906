import { openServices } from '../../../src/runtime/services.ts';
import type { Stage } from '../../support/stage.ts';

/**
 * Runs some work as a process that stands still before its request number `at` to the documents of a container. The result
 * lets it go on, and resolves with the code of its error. Undefined: it ended before.
 */
export async function stands(
  stage: Stage,
  container: string,
  at: number,
  work: (on: Stage) => Promise<unknown>,
): Promise<(() => Promise<unknown>) | undefined> {
  const [still, going] = [Promise.withResolvers<true>(), Promise.withResolvers<void>()];
  let asked = 0;
  let standing = false;
  const { httpClient } = stage.emulator.clientOptions;
  const sendRequest: typeof httpClient.sendRequest = async (request) => {
    if (request.url.includes(`/colls/${container}/docs`)) standing ||= asked++ === at;
    if (standing) {
      still.resolve(true);
      await going.promise;
    }
    return httpClient.sendRequest(request);
  };
  const services = await openServices(stage.settings, { httpClient: { sendRequest } });
  const done = work({ ...stage, services })
    .then(
      () => undefined,
      (error: unknown) => (error as { readonly code?: unknown }).code,
    )
    .finally(() => services.close());
  if ((await Promise.race([still.promise, done])) !== true) return undefined;
  return () => {
    going.resolve();
    return done;
  };
}
