// Builds dist/, which is what is deployed: compiled code, and the data-model document beside its pipeline.
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

rmSync('dist', { recursive: true, force: true });
const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
const { status } = spawnSync(process.execPath, [tsc], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
for (const file of globSync('pipeline/*.md')) cpSync(file, `dist/${file}`);
