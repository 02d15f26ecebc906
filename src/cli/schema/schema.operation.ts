import { readFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { packageRoot } from '../../base/package.ts';
import { suggestion } from '../../base/near.ts';
import { defineOperation } from '../../verbs/operation.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** `npm run reference` writes them from the types of the results. */
const SCHEMAS = new URL('docs/schemas/', packageRoot);

/** Only the command line has it: the schemas are of what it prints. */
export const schema = defineOperation({
  name: 'schema',
  summary: 'Print the JSON Schema of what a verb prints with --json',
  examples: ['millrace schema status', 'millrace schema projections list > projections-list.schema.json'],
  help: `A verb may print more fields in a later version. What every verb can print instead is in no schema:
  {"error": {"code", "message", "hint"?}}        it failed
  {"steps", "ru", "seconds"?}                    with --dry-run
  {"places": [{"place", "global", "ok", "value"}]}  of several places of a pipeline over shards
Verbs with --watch print one value a line; exports print one document a line.`,
  shards: 'itself',
  effect: 'reads',
  argument: 'verb',
  input: z.object({ verb: z.array(z.string()).min(1).describe('the verb, with its noun if it has one') }),
  run: async ({ verb }) => {
    const files = await readdir(SCHEMAS).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw sharedError('missing', `There is no folder ${fileURLToPath(SCHEMAS)}`, {
        hint: 'Run `npm run reference`, which writes them. An installed package has them.',
      });
    });
    const file = `${verb.join('-')}.json`;
    if (!files.includes(file)) {
      const known = files.map((name) => name.replace(/\.json$/, ''));
      throw sharedError('not-found', `There is no verb ${verb.join(' ')}${suggestion(verb.join('-'), known)}`, {
        hint: 'Write the verb as on the command line, for example `projections list`. The help of Millrace lists all.',
      });
    }
    return JSON.parse(await readFile(new URL(file, SCHEMAS), 'utf8')) as Readonly<Record<string, unknown>>;
  },
  format: (found) => JSON.stringify(found, undefined, 2),
});
