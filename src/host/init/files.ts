import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../base/package.ts';

const TEMPLATE = fileURLToPath(new URL('./template/', import.meta.url));
const PACKAGE = fileURLToPath(packageRoot);

/** What a new project consists of: a file or folder of ours, and where it goes. npm takes no dotfiles along. */
export const PARTS: readonly { readonly from: string; readonly to: string }[] = [
  ...['README.md', 'tsconfig.json', 'Dockerfile', 'functions', 'pipeline', 'scripts', 'test'].map((name) => ({
    from: `${TEMPLATE}${name}`,
    to: name,
  })),
  ...['gitignore', 'funcignore', 'dockerignore'].map((name) => ({ from: `${TEMPLATE}_${name}`, to: `.${name}` })),
  // Its name would make it a package within ours.
  { from: `${TEMPLATE}_package.json`, to: 'package.json' },
  { from: `${TEMPLATE}ci.yml`, to: '.github/workflows/ci.yml' },
  // As in the repository of Millrace itself, which is an app too.
  ...['infra', 'host.json', 'azure.yaml', 'compose.yaml', 'local.settings.example.json'].map((name) => ({
    from: `${PACKAGE}${name}`,
    to: name,
  })),
  // What `model infra` writes of the template's pipeline, over what it wrote of ours.
  { from: `${TEMPLATE}infra`, to: 'infra' },
  ...['deploy', 'plan'].map((name) => `.github/workflows/${name}.yml`).map((to) => ({ from: `${PACKAGE}${to}`, to })),
];
