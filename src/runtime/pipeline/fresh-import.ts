import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Imports a file. */
export type Importer = (file: string) => Promise<unknown>;

/** Imports through Node's cache: a file is loaded once in a process. */
export const importOnce: Importer = (file) => import(pathToFileURL(file).href);

/** Part of an address, so that Node takes the same file for another module. */
const MARK = 'millrace-import';

/** Millrace's own modules stay as they are: a second copy of them would be other classes. */
const OWN = new URL('../../', import.meta.url).href;

let generation = 0;
let hooked = false;

/**
 * An importer that loads files as they are now, with all files of the user's that they import; packages stay loaded.
 * `loaded` gets the path of each file. Node frees no module, so an importer costs memory until the process ends.
 */
export function freshImporter(loaded: (file: string) => void = () => undefined): Importer {
  const mark = `${MARK}=${++generation}`;
  listeners.set(mark, loaded);
  hook();
  return (file) => {
    loaded(file);
    return import(marked(pathToFileURL(file).href, mark));
  };
}

const listeners = new Map<string, (file: string) => void>();

const marked = (url: string, mark: string): string => `${url}?${mark}`;

/** What a marked module imports is marked too. */
function hook(): void {
  if (hooked) return;
  hooked = true;
  registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context);
      const mark = /[?&](millrace-import=\d+)/.exec(context.parentURL ?? '')?.[1];
      if (mark === undefined || !isUsers(found.url)) return found;
      listeners.get(mark)?.(fileURLToPath(found.url));
      return { ...found, url: marked(found.url, mark) };
    },
  });
}

const isUsers = (url: string): boolean =>
  url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(OWN) && !url.includes(MARK);
