import { generate } from 'selfsigned';

/** Key and certificate of a TLS listener, in PEM form. Its clients must trust `cert`. */
export interface TlsCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A self-signed certificate for this machine and the given names, valid for a year. */
export async function newCertificate(called: readonly string[]): Promise<TlsCertificate> {
  const names = new Set(['localhost', '127.0.0.1', '::1', ...called]);
  const made = await generate([{ name: 'commonName', value: 'millrace-emulator' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notAfterDate: new Date(Date.now() + 365 * 24 * 3600 * 1000),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [...names].map((name) =>
          /^[\d.]+$|:/.test(name) ? { type: 7 as const, ip: name } : { type: 2 as const, value: name },
        ),
      },
    ],
  });
  return { key: made.private, cert: made.cert };
}
