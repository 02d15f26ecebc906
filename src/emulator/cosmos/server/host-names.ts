import { isIP } from 'node:net';

const ANY_ADDRESS = new Set(['0.0.0.0', '::']);

/**
 * Checks by the Host header whether a request is meant for this server. The name of another site can resolve to this
 * machine (DNS rebinding), and a page of that site could then read this server's answers. So the server accepts only
 * names of this machine, the name on which it listens, and the configured names. If it listens on all addresses, it
 * accepts every address, because a site has a name and not an address.
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
