#!/usr/bin/env node
// Starts Millrace: from dist/ where it is installed, from its sources in a checkout. Plain JavaScript, so that an old
// Node can at least say what is wrong. Which Nodes run which: docs/adr/0016-supported-nodes.md.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const path = (name) => fileURLToPath(new URL(name, root));
const SOURCES = 'src/cli/main.ts';
const BUILT = 'dist/src/cli/main.js';
/** Older ones can't parse `using`, which the sources have; those of 24 before it break the hook below. */
const FOR_SOURCES = [24, 4];
const FOR_BUILT = [22, 18];

const inCheckout = !/[\\/]node_modules[\\/]/.test(path(SOURCES)) && existsSync(path(SOURCES));
// Most of what the sources import is bundled into dist/, and so a development package here: `npm prune --omit=dev` takes it away.
const withDevelopment = existsSync(path('node_modules/commander/package.json'));

// The first process of a container gets no signal that it has no listener for, so it would outlive code that never returns.
if (process.pid === 1) rerun(process.execPath);
else if (inCheckout && (withDevelopment || !existsSync(path(BUILT)))) {
  if (!withDevelopment) refuse('The sources need packages that are not installed', 'Run `npm install`.');
  else if (isAtLeast(FOR_SOURCES)) await startSources();
  else rerunWithOwnNode();
} else if (isAtLeast(FOR_BUILT)) await start(BUILT);
else refuse(`Millrace needs Node.js 22.18 or newer; this is ${process.version}`, 'Install Node.js 24 LTS.');

function isAtLeast([wantedMajor, wantedMinor]) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

async function start(entry) {
  // What was compiled once is read from the machine's folder for temporary files: half of the time of a short verb.
  const { enableCompileCache } = await import('node:module');
  enableCompileCache();
  await import(new URL(entry, root).href);
}

async function startSources() {
  const { registerHooks } = await import('node:module');
  // A pipeline's `import … from 'millrace'` means these sources, not what was built of them last time.
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, { ...context, conditions: [...context.conditions, 'millrace-source'] }),
  });
  await start(SOURCES);
}

/** The checkout brings its own Node (devDependency `node`). */
function rerunWithOwnNode() {
  const own = path(process.platform === 'win32' ? 'node_modules/node/bin/node.exe' : 'node_modules/node/bin/node');
  if (!existsSync(own)) {
    refuse(
      `The sources need Node.js ${FOR_SOURCES.join('.')} or newer; this is ${process.version}`,
      'Run `npm install`, which brings one, or install Node.js 24 LTS.',
    );
    return;
  }
  rerun(own);
}

function rerun(node) {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(node, args, { stdio: 'inherit' });
  // The terminal signals the whole group; a lone signal to this process is passed on.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 1)));
}

function refuse(why, remedy) {
  console.error(`error: ${why}.\n  ${remedy}`);
  process.exitCode = 2;
}
