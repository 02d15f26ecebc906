// Builds dist/: what the package and the function app run. Node doesn't strip types under node_modules.
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

rmSync(dist, { recursive: true, force: true });
const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
// The examples' documents belong beside their pipelines.
for (const file of globSync('examples/*/*.md', { cwd: root })) cpSync(join(root, file), join(dist, file));
