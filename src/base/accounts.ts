// The types of the settings that doors of the package have. They name no library, which a reader of the types would need.

/** How to sign in to an account: by key (connection string), or by identity (Microsoft Entra). */
export type AccountSettings =
  | { readonly kind: 'key'; readonly endpoint: string; readonly key: string }
  | { readonly kind: 'identity'; readonly endpoint: string };

/** The accounts of Cosmos DB, and how to sign in to them. */
export interface Accounts {
  readonly cosmos: AccountSettings;
  /** Other accounts that are signed in to by key. Accounts that are named nowhere are signed in to by identity. */
  readonly accounts?: readonly AccountSettings[];
  /** Azure region names, nearest first. Empty: the account's own order. */
  readonly preferredRegions: readonly string[];
}

export interface SettingsSource {
  /** NAME: reads `millrace.NAME.env` in `directory` (dotenv syntax). Variables of the process win over the file. */
  readonly env?: string | undefined;
  readonly processEnv?: Readonly<Record<string, string | undefined>>;
  /** The folder of `millrace.NAME.env`. Default: the working directory. */
  readonly directory?: string;
}
