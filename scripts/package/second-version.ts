// docs/how-to/rebuild.md, its commands word for word, in a project of `init` with its own projection's name: a second
// version is written, filled, compared, made current, taken back and dropped, while `millrace dev` runs.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const PAGE = join(import.meta.dirname, '../../docs/how-to/rebuild.md');
const WITHIN_MS = 120_000;

/** Resolves to what it did. @throws Error if a command of the page fails, with what it printed */
export async function secondVersion(app: string, env: NodeJS.ProcessEnv): Promise<string> {
  const cli = join('node_modules', 'millrace', 'bin', 'millrace.mjs');
  const dev = spawn('node', [cli, 'dev'], { cwd: app, env });
  const ended = once(dev, 'exit');
  let said = '';
  for (const stream of [dev.stdout, dev.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const until = async (word: string): Promise<void> => {
    for (const last = Date.now() + WITHIN_MS; !said.includes(word); await delay(100))
      if (dev.exitCode !== null || Date.now() > last) throw new Error(`millrace dev never said "${word}"\n${said}`);
  };
  const commands = [...readFileSync(PAGE, 'utf8').matchAll(/^\$ (millrace .*)$/gm)].map(([, line = '']) => line);
  try {
    await until('All right: ');
    const settings = [...said.matchAll(/^export (\w+)='(.*)'$/gm)].map(([, name = '', value = '']) => [name, value]);
    const run = (line: string, code = 0, saying = ''): void => {
      const args = line.replaceAll('summaries', 'order-lists').split(' ').slice(1);
      const { status, stdout, stderr } = spawnSync('node', [cli, ...args], {
        cwd: app,
        env: { ...env, ...(Object.fromEntries(settings) as NodeJS.ProcessEnv) },
        encoding: 'utf8',
      });
      if (status !== code || !`${stdout}${stderr}`.includes(saying))
        throw new Error(`${line} ended with ${status}\n${stdout}\n${stderr}\ndev said:\n${said}`);
    };
    declare(join(app, 'pipeline'), run);
    run('millrace model apply');
    // Dropped before it is promoted, as the page has it; afterwards readers and hosts have it for a time.
    const drop = 'millrace projections drop summaries@2 --yes';
    for (const line of [...commands.slice(0, 3), drop, ...commands]) run(line);
    run(drop, 2, 'it can be dropped from ');
  } finally {
    dev.kill('SIGINT');
    await ended;
  }
  return `a second version of a projection goes the way of docs/how-to/rebuild.md: ${commands.length} commands, and drop`;
}

/** Version 2 in the document, in model.ts and in the code: the same list, in a container of its own. */
function declare(folder: string, run: (line: string) => void): void {
  const inDocument = (text: string): string => {
    const [section = ''] = /### OrderLists Container[\s\S]*?(?=### )/.exec(text) ?? [];
    const [row = ''] = /^\| order-lists \|.*\n/m.exec(text) ?? [];
    return text
      .replace(section, section + section.replaceAll('OrderLists', 'OrderListsTwo'))
      .replace(row, row + row.replace('order-lists', 'order-lists@2').replace('OrderLists', 'OrderListsTwo'));
  };
  const inCode = (text: string): string => {
    const [copy = ''] = / {4}copy\('order-lists'[\s\S]*?\n {4}\}\),\n/.exec(text) ?? [];
    const second = copy.replace("'order-lists', {", "'order-lists', {\n      version: 2,");
    return text.replace(copy, copy + second.replace('m.OrderLists.', 'm.OrderListsTwo.'));
  };
  change(join(folder, 'cosmosdb_data_model.md'), inDocument);
  run('millrace model types');
  change(join(folder, 'pipeline.ts'), inCode);
}

function change(file: string, by: (text: string) => string): void {
  const text = readFileSync(file, 'utf8');
  const changed = by(text);
  if (changed === text) throw new Error(`nothing to change was found in ${file}`);
  writeFileSync(file, changed);
}
