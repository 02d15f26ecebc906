import { sharedError } from '../base/shared-errors.ts';
import type { UsageError } from '../base/errors.ts';
import type { Faults } from './cosmos/time-and-charge/faults.ts';
import { checkPrincipals } from './entra/access.ts';
import type { Principals } from './entra/access.ts';
import { emulatorFaultsOf } from './fault-input.ts';

export interface EmulatorOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Default 127.0.0.1: only this machine can reach the server. Other addresses need `allowRemote`. */
  readonly host?: string;
  /** More names of the server, for example in a container's network. Requests to other names are refused (421). */
  readonly names?: readonly string[];
  /** Allows other machines, which then need only the key. Without `tls` their traffic is unencrypted. */
  readonly allowRemote?: boolean;
  /** A folder for the data; without it, the data is in memory and lost at the end. */
  readonly data?: string;
  /** Called once the data folder can't be written any more: from then on every request fails. */
  readonly onUnwritable?: (failure: UsageError) => void;
  /** Base64; default the published emulator key. */
  readonly key?: string;
  /** Makes faults and the order inside an lsn repeatable. */
  readonly seed?: number;
  /** `'adverse'`: all faults of a bad day, see `ADVERSE`. */
  readonly faults?: Faults | 'adverse';
  /** Whether the all-versions feed contains the previous state of a document. */
  readonly previousImages?: boolean;
  /** HTTPS, with a self-signed certificate that clients must trust: `Emulator.certificate`. */
  readonly tls?: boolean;
  /**
   * Who gets tokens of the test issuer, and what each may do. Needs `tls`, because the client sends tokens only over TLS.
   * Default: `reader` and `contributor`, each with the role of that name for the whole account.
   */
  readonly principals?: Principals;
}

/** Checks the options before anything is started. Throws UsageError. */
export function emulatorCheckOptions({
  host = '127.0.0.1',
  key,
  faults,
  principals,
  ...options
}: EmulatorOptions): void {
  const { allowRemote = false, tls = false } = options;
  if (key !== undefined) checkKey(key);
  if (faults !== undefined) emulatorFaultsOf(faults);
  if (principals !== undefined) {
    checkPrincipals(principals);
    if (!tls) {
      throw sharedError('option-invalid', 'Principals need `tls`: clients send tokens only over TLS.', {
        hint: 'Set `tls` too, or leave the principals out.',
      });
    }
  }
  checkHost(host, allowRemote, tls);
}

function checkHost(host: string, allowRemote: boolean, tls: boolean): void {
  if (/^(?:127\.|::1$|localhost$)/.test(host)) return;
  if (!allowRemote) {
    throw sharedError('option-invalid', `Other machines could reach the server at the host ${host}.`, {
      hint: 'Leave the host out, or set `allowRemote` if other machines may read and write every document.',
    });
  }
  process.emitWarning(
    `The embedded Cosmos DB server listens on ${host}: other machines can reach it${tls ? '' : ', unencrypted'}.`,
  );
}

function checkKey(key: string): void {
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(key) && key.length % 4 === 0) return;
  throw sharedError('option-invalid', 'The emulator key is not Base64.', {
    hint: 'Leave the key out to use the published emulator key.',
  });
}

/** The error for a port on which the server can't listen. */
export function listenRefusal(error: unknown, port: number, host: string): UsageError {
  const code = (error as { code?: string }).code;
  if (code === 'EADDRINUSE') {
    return sharedError('cannot-listen', `Port ${port} on ${host} is already in use.`, { cause: error });
  }
  return sharedError('cannot-listen', `The emulator can't listen on ${host}:${port} (${code ?? 'unknown reason'}).`, {
    cause: error,
  });
}
