import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it.each(['package-lock.json', 'site/package-lock.json'])(
  '%s has a hash of each package, and the host of no registry',
  (file) => {
    const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../..', file), 'utf8')) as {
      packages: Record<string, { integrity?: string; link?: boolean; inBundle?: boolean; resolved?: string }>;
    };
    const entries = Object.entries(packages).filter(([name, { link, inBundle }]) => name !== '' && !link && !inBundle);
    expect(entries.length).toBeGreaterThan(100);
    expect(entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([name]) => name)).toEqual([]);
    expect(entries.filter(([, { resolved }]) => resolved !== undefined).map(([name]) => name)).toEqual([]);
  },
);
