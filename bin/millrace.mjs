#!/usr/bin/env node
// Starts Millrace: from its sources in a checkout, from dist/ where it is installed. Plain JavaScript, so that an old
// Node can at least say what is wrong.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const path = (name) => fileURLToPath(new URL(name, root));
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) rerunWithNewerNode();
else await start();

async function start() {
  // What was compiled once is read from the machine's folder for temporary files: half of the time of a short verb.
  const { enableCompileCache, registerHooks } = await import('node:module');
  enableCompileCache();
  const source = path('src/cli/main.ts');
  const inCheckout = !/[\\/]node_modules[\\/]/.test(source) && existsSync(source);
  if (inCheckout) {
    // A pipeline's `import … from 'millrace'` means these sources, not what was built of them last time.
    registerHooks({
      resolve: (specifier, context, next) =>
        next(specifier, { ...context, conditions: [...context.conditions, 'millrace-source'] }),
    });
  }
  await import(new URL(inCheckout ? 'src/cli/main.ts' : 'dist/src/cli/main.js', root).href);
}

/** The checkout brings its own Node (devDependency `node`). */
function rerunWithNewerNode() {
  const newer = path(process.platform === 'win32' ? 'node_modules/node/bin/node.exe' : 'node_modules/node/bin/node');
  if (!existsSync(newer)) {
    console.error(
      `error: Millrace needs Node.js 22.18 or newer; this is ${process.version}.\n  Install Node.js 24 LTS, or run \`npm install\` in a checkout, which brings its own.`,
    );
    process.exit(2);
  }
  const child = spawn(newer, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  // The terminal signals the whole group; a lone signal to this process is passed on.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
}
