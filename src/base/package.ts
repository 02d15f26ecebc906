import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The folder of Millrace's own package.json, as a URL with a final slash. It is right from src/ and from dist/src/. */
export const packageRoot: URL = pathToFileURL(`${up(dirname(fileURLToPath(import.meta.url)))}/`);

/** Millrace's own version. */
export const packageVersion = (): string =>
  (JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')) as { version: string }).version;

function up(directory: string): string {
  const parent = dirname(directory);
  return existsSync(join(directory, 'package.json')) || parent === directory ? directory : up(parent);
}
