/** A name as part of a JSON pointer (RFC 6901). Most have nothing to escape, and it runs for each field that is stored. */
export const pointerPart = (name: string): string =>
  /[~/]/.test(name) ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name;
