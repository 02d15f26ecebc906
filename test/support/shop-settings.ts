import type { Settings } from '../../src/base/settings.ts';

/** The settings of a pipeline in database `shop` of one embedded server, with what else a stage has. */
export function shopSettings(
  { endpoint, key }: { endpoint: string; key: string },
  more: Partial<Settings> = {},
): Settings {
  const account = { kind: 'key', endpoint, key } as const;
  return {
    cosmos: account,
    database: 'shop',
    leases: { account, database: 'shop', container: 'leases' },
    stateContainer: 'millrace',
    preferredRegions: [],
    ...more,
  };
}
