// Builds dist/ for the deployment: compiled code, and the examples beside the pipeline.
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

rmSync('dist', { recursive: true, force: true });
run('typescript', 'bin/tsc');
for (const file of globSync('pipeline/*.json')) cpSync(file, `dist/${file}`);

function run(name, bin, ...args) {
  const file = fileURLToPath(new URL(bin, import.meta.resolve(`${name}/package.json`)));
  const { status } = spawnSync(process.execPath, [file, ...args], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
