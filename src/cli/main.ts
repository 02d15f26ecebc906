import { packageVersion } from '../base/package.ts';
import { startWatchdog } from '../host/watchdog.ts';
import { helpText } from './help.ts';

/** A signal sent to the whole process group can arrive twice; only a later one ends the process immediately. */
const SECOND_SIGNAL_AFTER_MS = 500;
/** Less than the 30 s that an orchestrator gives a process. */
const END_MS = 27_000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

let controller: AbortController | undefined;
let interrupted: { readonly code: number; readonly at: number } | undefined;
function cleanStop(): AbortController {
  const stop = new AbortController();
  const hear = (_: NodeJS.Signals, number: number): void => {
    const code = 128 + number;
    // The first signal starts a clean stop, a later one ends the process immediately.
    if (interrupted) {
      if (performance.now() - interrupted.at > SECOND_SIGNAL_AFTER_MS) process.exit(code);
      return;
    }
    interrupted = { code, at: performance.now() };
    setTimeout(() => {
      process.stderr.write(
        `Not everything ended within ${END_MS / 1_000} s, so this process ends now. What it could not give back is free by itself: leases when they have expired, locks after 210 s.\n`,
      );
      process.exit(code);
    }, END_MS).unref();
    stop.abort(new DOMException('Interrupted', 'AbortError'));
  };
  const on = (): void => SIGNALS.forEach((name) => process.on(name, hear));
  on();
  startWatchdog({ on, off: () => SIGNALS.forEach((name) => process.off(name, hear)) });
  return stop;
}
// `millrace … | head` closes our output: that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const code = await main(process.argv.slice(2));
process.exitCode = interrupted?.code ?? code;
// A socket that a library keeps open must not keep the process alive.
setTimeout(() => process.exit(), 2_000).unref();

async function main(argv: readonly string[]): Promise<number> {
  if (argv.length === 1 && /^(?:--help|-h|help)$/.test(argv[0] ?? '')) {
    process.stdout.write(helpText(process.cwd()));
    return 0;
  }
  const [{ everyOperation }, { runCli }] = await Promise.all([import('./registry.ts'), import('./run.ts')]);
  return runCli(everyOperation, packageVersion(), argv, {
    stdout: process.stdout,
    stderr: process.stderr,
    directory: process.cwd(),
    get signal() {
      return (controller ??= cleanStop()).signal;
    },
  });
}
