import { isIP } from 'node:net';

const ANY_ADDRESS = new Set(['0.0.0.0', '::']);

/**
 * Tells by the Host header whether a request was meant for this server. A page of another site can have its own name
 * resolve to this machine, and then read what a server here answers: such a name is refused, whatever the address.
 * Names of this machine are taken, the one that was listened on, and those that were configured; addresses of any kind
 * where any is listened on, as no site can be called so.
 */
export function hostNames(listening: string, configured: readonly string[]): (header: string | undefined) => boolean {
  const known = new Set([listening, ...configured].map((name) => name.toLowerCase()));
  const anyAddress = ANY_ADDRESS.has(listening);
  return (header) => {
    const [, six, plain = ''] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(header?.toLowerCase() ?? '') ?? [];
    const name = six ?? plain;
    if (name === '') return false;
    return isLocal(name) || known.has(name) || (anyAddress && isIP(name) !== 0);
  };
}

const isLocal = (name: string): boolean =>
  name === 'localhost' ||
  name.endsWith('.localhost') ||
  name === '::1' ||
  (isIP(name) === 4 && name.startsWith('127.'));
