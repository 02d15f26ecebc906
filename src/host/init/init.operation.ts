import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { flag, named, optional } from '../../verbs/flags.ts';
import { operationsError } from '../../procedures/errors.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { UsageError, messageOf } from '../../base/errors.ts';
import { BY_HAND, EXAMPLES_FILE, MODEL_CODE } from '../../model/code/write.ts';
import { defineOperation } from '../../verbs/operation.ts';
import { hostError } from '../errors.ts';
import { DEFAULT_DIRECTORY, ask } from './ask.ts';
import { PARTS } from './files.ts';
import { type FromDocuments, fromDocuments } from './from-documents.ts';
import { dependencyFor, tarballOf, unbuiltCheckoutOf } from './origin.ts';

/** Parts about the documents, and files that explain the model. */
const DOCUMENTED: ReadonlySet<string> = new Set(['AGENTS.md', 'README.md', 'docs', 'test']);
const EXPLAINING = /pipeline[\\/](?:[^\\/]+\.md|model\.examples\.json)$/;
/** Of the template's own pipeline alone. */
const SCENARIO = /scenario\.test\.ts$/;

/** A package name that npm accepts, without a scope. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/;

export const init = defineOperation({
  name: 'init',
  summary: 'Write a new project: pipeline, function app, infrastructure, tests and workflows',
  examples: [
    'millrace init',
    'millrace init my-app --yes',
    'millrace init my-app --from ~/design/cosmosdb_data_model.md',
    'millrace init my-app --bare --yes',
    'millrace init my-app --dry-run',
  ],
  help: `In a terminal it asks for what isn't given: the folder, your documents, and whether to install. Elsewhere, and with
--yes, it asks nothing. It needs no network, except for --install. The project depends on the package that init came
from: the version in the registry, or the tarball.`,
  effect: 'changes',
  argument: 'directory',
  input: z.object({
    directory: named(`folder for the project; its name becomes the project’s name (default: "${DEFAULT_DIRECTORY}")`),
    from: named('begin with the cosmosdb_data_model.md of this folder instead of an example'),
    bare: flag('the model is model.ts alone: no documents of it, no guides, no tests of documents'),
    install: z.boolean().optional().describe('install the project’s packages with npm'),
    yes: flag('ask nothing'),
    package: optional('version of the dependency `millrace` in package.json (default: where this package came from)'),
  }),
  plan: async ({ directory = DEFAULT_DIRECTORY, from, bare }, { workspace }) => {
    const target = placeFor(resolve(workspace.directory, directory));
    const there = relative(workspace.directory, target) || '.';
    const own =
      from === undefined ? [] : (await fromDocuments(resolve(workspace.directory, from), basename(target))).files;
    const files = new Set([...partsOf(bare, from).map(({ to }) => to), ...own.map(({ to }) => to)]);
    return { steps: [...files].map((to) => `write ${join(there, to)}`), ru: 0 };
  },
  run: async (given, context) => {
    const { workspace } = context;
    const asks = !given.yes && process.stdin.isTTY && process.stderr.isTTY;
    const { directory, from, install } = asks
      ? await ask(given, { input: process.stdin, output: process.stderr }, context.signal)
      : { ...given, directory: given.directory ?? DEFAULT_DIRECTORY };
    const target = placeFor(resolve(workspace.directory, directory));
    const name = basename(target);
    const parts = partsOf(given.bare, from);
    const own = from === undefined ? undefined : await fromDocuments(resolve(workspace.directory, from), name);
    const dependency = given.package ?? dependencyFor(target);
    try {
      write(target, name, dependency, { parts, own, bare: given.bare });
    } catch (cause) {
      if (cause instanceof UsageError) throw cause;
      throw sharedError('unwritable', `${target} can't be written: ${messageOf(cause)}`, { cause });
    }
    if (install === true) await installIn(target, context.signal);
    return {
      directory: target,
      path: relative(workspace.directory, target) || '.',
      name,
      dependency,
      installed: install === true,
      toDeclare: own?.toDeclare ?? [],
    };
  },
  format: ({ directory, path, name, dependency, installed, toDeclare }) => {
    const tarball = tarballOf(dependency, directory);
    const checkout = unbuiltCheckoutOf(dependency, directory);
    return [
      `${name} is written. Next:`,
      `  cd ${path}`,
      ...(installed ? [] : ['  npm install']),
      '  npm run dev',
      ...(checkout === undefined ? [] : [`  npm --prefix ${relative(directory, checkout)} run build`]),
      '  npm test',
      ...(tarball === undefined
        ? []
        : [
            `It depends on ${tarball}: keep that file. For other machines and images copy it into the project, and run \`npm install ./${basename(tarball)}\`.`,
          ]),
      ...(toDeclare.length === 0
        ? []
        : [
            `pipeline/pipeline.ts waits for the projections ${toDeclare.join(', ')}. Declare them there; until then \`npm run dev\` and \`npm test\` fail, and \`npm run millrace -- model check\` names them.`,
          ]),
    ].join('\n');
  },
});

/** @throws UsageError `exists`, `input-invalid` */
function placeFor(target: string): string {
  const name = basename(target);
  if (!NAME.test(name)) {
    throw operationsError('input-invalid', `${JSON.stringify(name)} can't be the name of a project`, {
      hint: 'Use a-z, 0-9, dashes, dots and underscores, and begin with a letter or a digit.',
    });
  }
  if (!existsSync(target)) return target;
  // The folder may hold a new repository. Other files would be mixed with the project's.
  const occupied = !statSync(target).isDirectory() || readdirSync(target).some((file) => file !== '.git');
  if (!occupied) return target;
  throw sharedError('exists', `${target} exists and is not an empty folder`, {
    hint: 'Name an empty folder, or one that does not exist.',
  });
}

/** @throws UsageError `option-invalid` */
function partsOf(bare: boolean, from: string | undefined): typeof PARTS {
  if (bare && from !== undefined)
    throw sharedError('option-invalid', '--bare is given with --from, which begins with documents', {
      hint: 'Give one of the two.',
    });
  return bare ? PARTS.filter(({ to }) => !DOCUMENTED.has(to)) : PARTS;
}

interface Content {
  readonly parts: typeof PARTS;
  readonly own: FromDocuments | undefined;
  readonly bare: boolean;
}

function write(target: string, name: string, dependency: string, { parts, own, bare }: Content): void {
  for (const { from, to } of parts) {
    const file = join(target, to);
    mkdirSync(dirname(file), { recursive: true });
    cpSync(from, file, {
      recursive: true,
      filter: (each) => !(bare && EXPLAINING.test(each)) && !(own && SCENARIO.test(each)),
    });
  }
  for (const { to, text } of own?.files ?? []) writeFileSync(join(target, to), text);
  const replace = (file: string, pairs: readonly (readonly [string, string])[]): void => {
    const path = join(target, file);
    const before = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      pairs.reduce((text, [from, to]) => text.replaceAll(from, to), before),
    );
  };
  // The database has the pipeline's name.
  const database = own ? name : 'shop';
  replace('package.json', [
    ['"my-app"', JSON.stringify(name)],
    ['"MILLRACE"', JSON.stringify(dependency)],
  ]);
  if (bare) {
    replace('package.json', [['node --test', 'millrace dev --once']]);
    const model = join(target, 'pipeline', MODEL_CODE);
    const text = readFileSync(model, 'utf8').replace(/^.*/, BY_HAND);
    replace('pipeline/pipeline.ts', [['`npx millrace model types` writes model.ts from the document.', WHOSE_MODEL]]);
    writeFileSync(model, text.replace(`  { examples: './${EXAMPLES_FILE}' },\n`, ''));
  } else
    replace('README.md', [
      ['# my-app', `# ${name}`],
      ['COSMOS_DATABASE=shop', `COSMOS_DATABASE=${database}`],
    ]);
  replace('azure.yaml', [
    ['name: millrace\n', `name: ${name}\n`],
    ['  template: millrace\n', '  template: millrace-init\n'],
  ]);
  // The new pipeline names no event hub; those of this package's examples are not its own.
  const compose = join(target, 'compose.yaml');
  writeFileSync(compose, readFileSync(compose, 'utf8').replace(HUBS_SERVICE, '').replace(HUBS_CONFIG, ''));
  replace('local.settings.example.json', [['"storefront"', JSON.stringify(database)]]);
}

const WHOSE_MODEL = 'model.ts is written by hand, or `npx millrace model import` reads it from an account.';
const HUBS_SERVICE = / {2}# EVENTHUBS=[^]*?\n\n/;
const HUBS_CONFIG = /\n# The hubs that the pipeline names[^]*$/;

/** @throws MillraceError `init-install` */
async function installIn(target: string, signal: AbortSignal): Promise<void> {
  // On Windows npm is a script, which only a shell starts.
  const npm = spawn('npm install --no-audit --no-fund', { cwd: target, shell: true, stdio: ['ignore', 2, 2], signal });
  const [code] = (await once(npm, 'close')) as [number | null];
  if (code !== 0) throw hostError('init-install', `npm install in ${target} ended with code ${code ?? 'unknown'}`);
}
