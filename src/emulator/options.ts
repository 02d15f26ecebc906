import { UsageError } from '../base/errors.ts';
import type { Faults } from './cosmos/physics/faults.ts';
import { checkPrincipals } from './entra/access.ts';
import type { Principals } from './entra/access.ts';
import { faultsOf } from './fault-input.ts';

export interface EmulatorOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Default 127.0.0.1: nobody but this machine. Any other name needs `allowRemote`. */
  readonly host?: string;
  /** What else clients call this server, in a container's network for instance: other names are refused (421). */
  readonly names?: readonly string[];
  /** Lets other machines in, who then need nothing but the key, and without `tls` see everything unencrypted. */
  readonly allowRemote?: boolean;
  /** A folder to keep everything in; without it, everything is gone at the end. */
  readonly data?: string;
  /** Base64; default the published emulator key. */
  readonly key?: string;
  /** Makes faults and the order inside an lsn repeatable. */
  readonly seed?: number;
  /** `'adverse'` is a bad day as a whole: see `ADVERSE`. */
  readonly faults?: Faults | 'adverse';
  /** Whether the all-versions feed brings what a document was before. */
  readonly previousImages?: boolean;
  /** HTTPS, with a certificate of its own that clients have to be told to trust: `Emulator.certificate`. */
  readonly tls?: boolean;
  /**
   * Who gets tokens of the test issuer, and what each may do; needs `tls`, as the client sends no token without. Default:
   * `reader` and `contributor`, each with the role of that name for the whole account.
   */
  readonly principals?: Principals;
}

/** Throws UsageError for what can be told before anything is started. */
export function checkOptions({ host = '127.0.0.1', key, faults, principals, ...options }: EmulatorOptions): void {
  const { allowRemote = false, tls = false } = options;
  if (key !== undefined) checkKey(key);
  if (faults !== undefined) faultsOf(faults);
  if (principals !== undefined) {
    checkPrincipals(principals);
    if (!tls) {
      throw new UsageError('emulator-principals-need-tls', 'The client sends tokens over TLS only.', {
        mend: 'Set `tls` too, or leave the principals out.',
      });
    }
  }
  checkHost(host, allowRemote, tls);
}

function checkHost(host: string, allowRemote: boolean, tls: boolean): void {
  if (/^(?:127\.|::1$|localhost$)/.test(host)) return;
  if (!allowRemote) {
    throw new UsageError('emulator-host-not-local', `The host ${host} lets other machines in.`, {
      mend: 'Leave the host out, or set `allowRemote` if they shall have every document here.',
    });
  }
  process.emitWarning(
    `The embedded Cosmos DB server listens on ${host}: other machines can reach it${tls ? '' : ', unencrypted'}.`,
  );
}

function checkKey(key: string): void {
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(key) && key.length % 4 === 0) return;
  throw new UsageError('emulator-key-invalid', 'The emulator key is not Base64.', {
    mend: 'Leave the key out to use the published emulator key.',
  });
}

/** What it means for the caller that a port can't be listened on. */
export function listenRefusal(error: unknown, port: number, host: string): UsageError {
  const code = (error as { code?: string }).code;
  if (code === 'EADDRINUSE') {
    return new UsageError('emulator-port-in-use', `Port ${port} on ${host} is already in use.`, {
      cause: error,
      mend: 'Stop what is listening there, name another port, or name port 0 for any free one.',
    });
  }
  return new UsageError(
    'emulator-cannot-listen',
    `The emulator can't listen on ${host}:${port} (${code ?? 'unknown reason'}).`,
    { cause: error, mend: 'Name another host or port.' },
  );
}
