import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { packageVersion } from '../../base/package.ts';
import { UsageError, messageOf } from '../../base/errors.ts';
import { defineOperation } from '../../operations/operation.ts';
import { PARTS } from './files.ts';
import { hostError } from '../errors.ts';

/** A package name that npm accepts, without a scope. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/;

export const init = defineOperation({
  verb: 'init',
  summary: 'Write a new project: pipeline, function app, infrastructure, tests and workflows',
  examples: ['millrace init my-app', 'millrace init my-app --dry-run'],
  effect: 'changes',
  argument: 'directory',
  input: z.object({
    directory: z.string().min(1).describe('folder for the project; its name becomes the project’s name'),
    package: z
      .string()
      .optional()
      .describe('version of the dependency `millrace` in package.json (default: this version)'),
  }),
  plan: async ({ directory }, { workspace }) => {
    const target = placeFor(resolve(workspace.directory, directory));
    return { steps: PARTS.map(({ to }) => `write ${join(relative('.', target) || '.', to)}`), ru: 0 };
  },
  run: async ({ directory, package: spec }, { workspace }) => {
    const target = placeFor(resolve(workspace.directory, directory));
    const name = basename(target);
    try {
      for (const { from, to } of PARTS) {
        const file = join(target, to);
        mkdirSync(dirname(file), { recursive: true });
        cpSync(from, file, { recursive: true });
      }
      rename(target, name, spec ?? `^${packageVersion()}`);
    } catch (cause) {
      if (cause instanceof UsageError) throw cause;
      throw hostError('init-unwritable', `${target} can't be written: ${messageOf(cause)}`, {
        cause,
      });
    }
    return { directory: target, name };
  },
  format: ({ directory, name }) => {
    const there = relative('.', directory) || '.';
    return `${name} is written. Next:\n  cd ${there}\n  npm install\n  npm run dev\n  npm test`;
  },
});

/** @throws UsageError `init-occupied`, `init-name` */
function placeFor(target: string): string {
  const name = basename(target);
  if (!NAME.test(name)) {
    throw hostError('init-name', `${JSON.stringify(name)} can't be the name of a project`);
  }
  if (!existsSync(target)) return target;
  // The folder may hold a new repository. Other files would be mixed with the project's.
  const occupied = !statSync(target).isDirectory() || readdirSync(target).some((file) => file !== '.git');
  if (!occupied) return target;
  throw hostError('init-occupied', `${target} exists and is not an empty folder`);
}

function rename(target: string, name: string, spec: string): void {
  const replace = (file: string, pairs: readonly (readonly [string, string])[]): void => {
    const path = join(target, file);
    const before = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      pairs.reduce((text, [from, to]) => text.replaceAll(from, to), before),
    );
  };
  replace('package.json', [
    ['"my-app"', JSON.stringify(name)],
    ['"MILLRACE"', JSON.stringify(spec)],
  ]);
  replace('README.md', [['# my-app', `# ${name}`]]);
  replace('azure.yaml', [
    ['name: millrace\n', `name: ${name}\n`],
    ['  template: millrace\n', '  template: millrace-init\n'],
  ]);
  // The database has the pipeline's name.
  replace('local.settings.example.json', [['"storefront"', '"shop"']]);
}
