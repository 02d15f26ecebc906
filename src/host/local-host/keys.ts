import { randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';

const stored = z.object({ master: z.string(), functions: z.record(z.string(), z.string()) });

/** The keys of an app on this machine: one for each function that requires a key, and the master key. */
export interface Keys {
  readonly master: string;
  of(name: string): string;
}

/** Reads the keys from the file, and creates and stores those that are missing. */
export function openKeys(file: string, functions: readonly string[]): Keys {
  const known = readStored(file);
  const keys = { master: known?.master ?? make(), functions: { ...known?.functions } };
  for (const name of functions) keys.functions[name] ??= make();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(keys, undefined, 2), { mode: 0o600 });
  return { master: keys.master, of: (name) => keys.functions[name] ?? keys.master };
}

export const sameKey = (given: string, key: string): boolean => {
  const [a, b] = [Buffer.from(given), Buffer.from(key)];
  return a.length === b.length && timingSafeEqual(a, b);
};

function readStored(file: string): z.output<typeof stored> | undefined {
  try {
    return stored.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // The file doesn't exist or is damaged: the caller creates new keys.
    return undefined;
  }
}

const make = (): string => randomBytes(24).toString('base64url');
