import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';

/** A reader asks, an operator changes. */
export type Role = 'reader' | 'operator';

/** Values of the app roles that the Entra application declares. */
const APP_ROLES = { reader: ['Millrace.Reader', 'Millrace.Operator'], operator: ['Millrace.Operator'] } as const;
const HEADER = 'x-ms-client-principal';

/** Who asks, or why that isn't enough. */
export type Admission =
  | { readonly actor: string }
  | { readonly status: 401 | 403 | 503; readonly code: string; readonly message: string; readonly mend: string };

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
 * Whether a request may do what `role` may. The host has asked for the key already: the functions for reading and for
 * operating have keys of their own. With MILLRACE_AUTH=entra the caller must be signed in too, by App Service
 * authentication, which puts the header there and takes it off what comes from outside; without it the header could be
 * anybody's, so it isn't believed.
 * @throws UsageError `setting-invalid`
 */
export function admit(
  headers: { get(name: string): string | null },
  role: Role,
  { MILLRACE_AUTH: auth = '', WEBSITE_AUTH_ENABLED: enabled = '' }: Environment = process.env,
): Admission {
  if (auth === '' || auth === 'key') return { actor: `key:${role}` };
  if (auth !== 'entra') {
    throw new UsageError(
      'setting-invalid',
      `The setting MILLRACE_AUTH: ${JSON.stringify(auth)} is neither key nor entra`,
      {
        mend: 'Set MILLRACE_AUTH to `entra` to ask for a role beside the key, or leave it out.',
      },
    );
  }
  if (enabled.toLowerCase() !== 'true') {
    return {
      status: 503,
      code: 'authentication-off',
      message: 'MILLRACE_AUTH asks for a signed-in caller, and App Service authentication is off',
      mend: 'Deploy infra/ with the parameter entraClientId, which switches it on.',
    };
  }
  const caller = read(headers.get(HEADER));
  if (!caller) {
    return {
      status: 401,
      code: 'unauthenticated',
      message: 'Nobody is signed in',
      mend: 'Send a bearer token for this application beside the key.',
    };
  }
  if (APP_ROLES[role].some((wanted) => caller.roles.includes(wanted))) return { actor: caller.name };
  return {
    status: 403,
    code: 'role-missing',
    message: `${caller.name} lacks the app role ${APP_ROLES[role].join(' or ')}`,
    mend: 'Assign it in Microsoft Entra ID: Enterprise applications → this application → Users and groups.',
  };
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
