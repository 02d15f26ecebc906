import { stripTypeScriptTypes } from 'node:module';

/** The code without its types: each character has the place that it has in the file. */
export function withoutTypes(text: string): string {
  const own = Object.getOwnPropertyDescriptor(process, 'emitWarning') ?? {};
  // Node warns that the function is experimental. A user can't change that.
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(text, { mode: 'strip' });
  } finally {
    Object.defineProperty(process, 'emitWarning', own);
  }
}
