import { packageVersion } from '../base/package.ts';
import { everyOperation } from './registry.ts';
import { runCli } from './run.ts';

/** A signal sent to the whole process group can arrive twice; only a later one ends the process immediately. */
const SECOND_SIGNAL_AFTER_MS = 500;

let controller: AbortController | undefined;
let interrupted: { readonly code: number; readonly at: number } | undefined;
function cleanStop(): AbortController {
  const stop = new AbortController();
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(name, () => {
      // The first signal starts a clean stop, a later one ends the process immediately.
      if (interrupted) {
        if (performance.now() - interrupted.at > SECOND_SIGNAL_AFTER_MS) process.exit(code);
        return;
      }
      interrupted = { code, at: performance.now() };
      stop.abort(new DOMException('Interrupted', 'AbortError'));
    });
  }
  return stop;
}
// `millrace … | head` closes our output: that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const code = await runCli(everyOperation, packageVersion(), process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  directory: process.cwd(),
  get signal() {
    return (controller ??= cleanStop()).signal;
  },
});
process.exitCode = interrupted?.code ?? code;
// A socket that a library keeps open must not keep the process alive.
setTimeout(() => process.exit(), 2_000).unref();
