// Writes docs/errors.md from the rooms' catalogues of errors (src/ROOM/errors.ts, and src/operations/NOUN/errors.ts), and holds the code to them: a code
// stands in one catalogue and is thrown somewhere, every code that is thrown stands in one, and meaning and hint are
// sentences.
// Usage: node --conditions=millrace-source scripts/error-pages.ts [--check] [ROOT]; exit code 1 with a line for each fault,
// and with --check where the page is stale.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { ErrorCatalogue, ErrorEntry } from '../src/base/error-catalogue.ts';

interface Code extends ErrorEntry {
  readonly code: string;
  readonly room: string;
  /** Files of `src` and `functions` that throw it or pass it on. */
  readonly from: readonly string[];
}

const { values, positionals } = parseArgs({ options: { check: { type: 'boolean' } }, allowPositionals: true });
const root = positionals[0] ?? join(import.meta.dirname, '..');
const sources = globSync('{src,functions}/**/*.ts', { cwd: root }).map((file) => file.split(sep).join('/'));
const isCatalogue = (file: string): boolean =>
  /^src\/(?!base\/)[^/]+\/errors\.ts$|^src\/operations\/[^/]+\/errors\.ts$|^src\/base\/shared-errors\.ts$/.test(file);
const texts = new Map(sources.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

/** The files by the literals that they hold, and by the entries of catalogues that they name. */
const filesOf = new Map<string, Set<string>>();
for (const [file, text] of texts)
  for (const [, quoted, entry] of text.matchAll(/['"`]([a-z][a-z0-9-]*)['"`]|\b\w+_ERRORS\.(\w+)\b/g)) {
    const word = quoted ?? entry ?? '';
    filesOf.set(word, (filesOf.get(word) ?? new Set()).add(file));
  }

const codes = (await Promise.all(sources.filter(isCatalogue).map(codesOf))).flat();
const problems = [...twice(), ...unused(), ...strewn(), ...unfinished()];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else writeOrCheck(page());

async function codesOf(file: string): Promise<Code[]> {
  const module = (await import(pathToFileURL(join(root, file)).href)) as Record<string, unknown>;
  const room = file.split('/')[1]!;
  return Object.entries(module)
    .filter(([name]) => name.endsWith('_ERRORS'))
    .flatMap(([, catalogue]) => Object.entries(catalogue as ErrorCatalogue))
    .map(([code, entry]) => ({ ...entry, code, room, from: thrownFrom(code) }));
}

function thrownFrom(code: string): string[] {
  const found = filesOf.get(code) ?? new Set();
  return sources.filter((file) => !isCatalogue(file) && found.has(file));
}

function twice(): string[] {
  return [...Map.groupBy(codes, ({ code }) => code)]
    .filter(([, all]) => all.length > 1)
    .map(([code, all]) => `${code}: stands in the catalogues of ${all.map(({ room }) => room).join(' and ')}`);
}

function unused(): string[] {
  return codes.filter(({ from }) => from.length === 0).map(({ code, room }) => `${code} (${room}): nothing throws it`);
}

/** A literal code that is given to an error's constructor beside the catalogues; classes of one code name it in `super`. */
function strewn(): string[] {
  const known = new Set(codes.map(({ code }) => code));
  return sources
    .filter((file) => !['src/base/errors.ts', 'src/base/error-catalogue.ts'].includes(file))
    .flatMap((file) => {
      const text = texts.get(file)!;
      const line = (at: number): number => text.slice(0, at).split('\n').length;
      const made = [...text.matchAll(/\bnew (?:UsageError|MillraceError)\(/g)].map(
        ({ index }) => `${file}:${line(index)}: makes an error beside the catalogue of its room`,
      );
      const named = [...text.matchAll(/extends (?:MillraceError|UsageError)<((?:\s*\|?\s*'[a-z-]+')+)>/g)].flatMap(
        ({ index, 1: union = '' }) =>
          [...union.matchAll(/'([a-z-]+)'/g)]
            .filter(([, code]) => !known.has(code!))
            .map(([, code]) => `${file}:${line(index)}: ${code} stands in no catalogue`),
      );
      return [...made, ...named];
    });
}

/** `…` stands for a value that only a place knows: a catalogue can't say it. */
function unfinished(): string[] {
  return codes.flatMap(({ code, room, meaning, hint }) => {
    const wrong = Object.entries({ meaning, hint }).filter(
      ([, text]) => !/^[A-Z`‘“].*\.$/s.test(text) || text.includes('…'),
    );
    return wrong.map(([field]) => `${code} (${room}): its ${field} isn't one or more whole sentences`);
  });
}

function page(): string {
  const rooms = [...Map.groupBy(codes, ({ room }) => room)].toSorted(([a], [b]) => a.localeCompare(b));
  return `# Errors

Every error of Millrace has a \`code\`, a message, and a \`hint\` that says what to do. This page lists the codes by room, the folder of \`src/\` that owns them; *from* names the files that use a code. \`node --conditions=millrace-source scripts/error-pages.ts\` writes it from the catalogues, \`src/*/errors.ts\`.

- **Exit code** of the command line: 2 for *usage* (bad input: one message without a stack), 1 for the others.
- **Retryable**: the same call may succeed later with the same code and documents: the cause ends, or someone removes it outside of the program.
- In JSON an error is \`{"code", "message", "hint"}\`. A code keeps its meaning; messages and hints may change.
${rooms.map(([room, of]) => section(room, of)).join('')}`;
}

function section(room: string, of: readonly Code[]): string {
  const rows = of
    .toSorted((a, b) => a.code.localeCompare(b.code))
    .map(({ code, meaning, hint, usage, retryable, from }) => {
      const kind = [usage && 'usage', retryable && 'retryable'].filter(Boolean).join(', ');
      return `| \`${code}\` | ${cell(meaning)} | ${cell(hint)} | ${kind} | ${from.map((file) => file.replace(/^src\//, '')).join(' ')} |\n`;
    });
  return `
## ${room}

| code | meaning | hint | kind | from |
|---|---|---|---|---|
${rows.join('')}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function writeOrCheck(text: string): void {
  const path = join(root, 'docs', 'errors.md');
  if (!values.check) {
    writeFileSync(path, text);
    return console.log(`docs/errors.md: ${codes.length} codes of ${new Set(codes.map(({ room }) => room)).size} rooms`);
  }
  if (existsSync(path) && readFileSync(path, 'utf8') === text)
    return console.log(`errors: ${codes.length} codes, each in one catalogue, thrown, and explained`);
  console.error('docs/errors.md is stale: node --conditions=millrace-source scripts/error-pages.ts writes it');
  process.exitCode = 1;
}
