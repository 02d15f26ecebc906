import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../base/package.ts';

const TEMPLATE = fileURLToPath(new URL('./template/', import.meta.url));
const PACKAGE = fileURLToPath(packageRoot);

/** The parts of a new project: a file or folder of this package, and its path there. npm does not pack dotfiles. */
export const PARTS: readonly { readonly from: string; readonly to: string }[] = [
  ...['AGENTS.md', 'README.md', 'tsconfig.json', 'Dockerfile', 'docs', 'functions', 'pipeline', 'scripts', 'test'].map(
    (name) => ({
      from: `${TEMPLATE}${name}`,
      to: name,
    }),
  ),
  ...['gitignore', 'funcignore', 'dockerignore'].map((name) => ({ from: `${TEMPLATE}_${name}`, to: `.${name}` })),
  // Under its own name it would make the template a package inside this package.
  { from: `${TEMPLATE}_package.json`, to: 'package.json' },
  { from: `${TEMPLATE}ci.yml`, to: '.github/workflows/ci.yml' },
  // The files of Millrace's own repository, which is an app too.
  ...['infra', 'host.json', 'azure.yaml', 'compose.yaml', 'local.settings.example.json'].map((name) => ({
    from: `${PACKAGE}${name}`,
    to: name,
  })),
  // The output of `model infra` for the template's pipeline; it replaces the output for this repository's pipeline.
  { from: `${TEMPLATE}infra`, to: 'infra' },
  ...['deploy', 'plan'].map((name) => `.github/workflows/${name}.yml`).map((to) => ({ from: `${PACKAGE}${to}`, to })),
];
