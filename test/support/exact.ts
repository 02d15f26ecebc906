// Numbers that a double can't hold, as clients in other languages write them, and the text that the server has of them.
import type { CosmosClientOptions } from '@azure/cosmos';
import { CosmosClient } from '@azure/cosmos';
import type { Emulator } from '../../src/emulator/index.ts';

/** For a document: it is written with these digits. */
export const digits = (text: string): number => (JSON as unknown as { rawJSON(of: string): number }).rawJSON(text);

/** A whole number that JavaScript rounds, to 9007199254740992. */
export const LARGE = '9007199254740993';

/** The texts of all documents of a container, as the server sends them. */
export async function textsOf(emulator: Emulator, database: string, container: string): Promise<string> {
  const { httpClient, ...options } = emulator.clientOptions;
  const texts: string[] = [];
  const reading: NonNullable<CosmosClientOptions['httpClient']> = {
    sendRequest: async (request) => {
      const answer = await httpClient.sendRequest(request);
      if (request.url.endsWith('/docs')) texts.push(answer.bodyAsText ?? '');
      return answer;
    },
  };
  const client = new CosmosClient({ ...options, httpClient: reading });
  await client.database(database).container(container).items.query('SELECT * FROM c').fetchAll();
  client.dispose();
  return texts.join('\n');
}
