// The rooms' catalogues of errors: src/ROOM/errors.ts and src/base/shared-errors.ts.
import { globSync } from 'node:fs';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ErrorCatalogue, ErrorEntry } from '../../src/base/error-catalogue.ts';

export interface Code extends ErrorEntry {
  readonly code: string;
  readonly room: string;
}

export const isCatalogue = (file: string): boolean =>
  /^src\/(?!base\/)[^/]+\/errors\.ts$|^src\/base\/shared-errors\.ts$/.test(file);

export async function codesOf(root: string): Promise<Code[]> {
  const files = globSync('src/**/*errors.ts', { cwd: root }).map((file) => file.split(sep).join('/'));
  const modules = files.filter(isCatalogue).map(async (file) => ({
    room: file.split('/')[1]!,
    module: (await import(pathToFileURL(join(root, file)).href)) as Record<string, unknown>,
  }));
  return (await Promise.all(modules)).flatMap(({ room, module }) =>
    Object.entries(module)
      .filter(([name]) => name.endsWith('_ERRORS'))
      .flatMap(([, catalogue]) => Object.entries(catalogue as ErrorCatalogue))
      .map(([code, entry]) => ({ ...entry, code, room })),
  );
}
