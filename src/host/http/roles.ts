import { z } from 'zod';
import { sharedError } from '../../base/shared-errors.ts';
import { HOST_ERRORS, type HostErrorCode } from '../errors.ts';

/** A reader may only read, an operator may also change. */
export type Role = 'reader' | 'operator';

/** Values of the app roles that the Entra application declares. */
const APP_ROLES = { reader: ['Millrace.Reader', 'Millrace.Operator'], operator: ['Millrace.Operator'] } as const;
const HEADER = 'x-ms-client-principal';

/** The caller, or why the caller may not do this. */
export type Admission = { readonly actor: string } | Denial;

interface Denial {
  readonly status: 401 | 403 | 503;
  readonly code: HostErrorCode;
  readonly message: string;
  readonly hint: string;
}

const denial = (status: Denial['status'], code: HostErrorCode, message: string): Denial => ({
  status,
  code,
  message,
  hint: HOST_ERRORS[code].hint,
});

const principal = z.object({
  role_typ: z.string().default('roles'),
  name_typ: z.string().default('name'),
  claims: z.array(z.object({ typ: z.string(), val: z.string() })),
});

interface Environment {
  readonly MILLRACE_AUTH?: string | undefined;
  readonly WEBSITE_AUTH_ENABLED?: string | undefined;
}

/**
 * Whether a request may do what `role` may. The Functions host has checked the key: the functions for reading and for
 * operating have different keys. With MILLRACE_AUTH=entra the caller must also be signed in by App Service
 * authentication, which sets the header and removes it from outside requests. Without it any caller could set the header,
 * so it isn't trusted.
 * @throws UsageError `setting-invalid`
 */
export function admit(
  headers: { get(name: string): string | null },
  role: Role,
  { MILLRACE_AUTH: auth = '', WEBSITE_AUTH_ENABLED: enabled = '' }: Environment = process.env,
): Admission {
  if (auth === '' || auth === 'key') return { actor: `key:${role}` };
  if (auth !== 'entra') {
    throw sharedError(
      'setting-invalid',
      `The setting MILLRACE_AUTH: ${JSON.stringify(auth)} is neither key nor entra`,
      {
        hint: 'Set MILLRACE_AUTH to `entra` to require a role beside the key, or leave it out.',
      },
    );
  }
  if (enabled.toLowerCase() !== 'true') {
    const message = 'MILLRACE_AUTH requires a signed-in caller, and App Service authentication is off';
    return denial(503, 'authentication-off', message);
  }
  const caller = read(headers.get(HEADER));
  if (!caller) return denial(401, 'unauthenticated', 'The caller is not signed in');
  if (APP_ROLES[role].some((wanted) => caller.roles.includes(wanted))) return { actor: caller.name };
  return denial(403, 'role-missing', `${caller.name} lacks the app role ${APP_ROLES[role].join(' or ')}`);
}

function read(header: string | null): { name: string; roles: string[] } | undefined {
  if (header === null) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
  } catch {
    return undefined;
  }
  const parsed = principal.safeParse(value);
  if (!parsed.success) return undefined;
  const { claims, role_typ, name_typ } = parsed.data;
  const all = (typ: string): string[] => claims.filter((claim) => claim.typ === typ).map(({ val }) => val);
  const [name = 'somebody'] = [...all(name_typ), ...all('preferred_username'), ...all('appid')];
  return { name, roles: [...all(role_typ), ...all('roles')] };
}
