// docs/errors.md: every code with its meaning and hint, from the catalogues of the rooms.
import { join } from 'node:path';
import { type Code, codesOf } from './catalogues.ts';
import { code, table, written } from './text.ts';

export async function errorsPage(): Promise<string> {
  const codes = await codesOf(join(import.meta.dirname, '../..'));
  const rooms = [...Map.groupBy(codes, ({ room }) => room)].toSorted(([a], [b]) => a.localeCompare(b));
  return `${written('the catalogues of errors, src/*/errors.ts')}# Errors

Every error of Millrace has a \`code\`, a message, and a \`hint\` that says what to do. This page lists the codes by room, the folder of \`src/\` that owns them.

- **Exit code** of the command line: 2 for *usage* (bad input: one message without a stack), 1 for the others.
- **Retryable**: the same call may succeed later with the same code and documents: the cause ends, or someone removes it outside of the program.
- In JSON an error is \`{"code", "message", "hint"}\`. A code keeps its meaning; messages and hints may change.
${rooms.map(([room, of]) => `\n## ${room}\n\n${table(['code', 'meaning', 'hint', 'kind'], rows(of))}`).join('')}`;
}

const rows = (codes: readonly Code[]): string[][] =>
  codes
    .toSorted((a, b) => a.code.localeCompare(b.code))
    .map((of) => {
      const kind = [of.usage && 'usage', of.retryable && 'retryable'].filter(Boolean).join(', ');
      return [code(of.code), of.meaning, of.hint, kind];
    });
