import { existsSync } from 'node:fs';

/** Debian's browser (`apt-get install chromium`), or the one that CHROMIUM names; undefined: this machine has none. */
export const CHROMIUM = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
);
