// Holds the code to the rooms' catalogues of errors, which users read as docs/errors.md: a code stands in one catalogue
// and is thrown somewhere, every code that is thrown stands in one, and meaning and hint are sentences.
// Usage: node scripts/check-errors.ts [ROOT]; exit code 1 with a line for each fault.
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { codesOf, isCatalogue } from './reference/catalogues.ts';

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const sources = globSync('{src,functions}/**/*.ts', { cwd: root }).map((file) => file.split(sep).join('/'));
const texts = new Map(sources.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

/** The files by the literals that they hold, and by the entries of catalogues that they name. */
const filesOf = new Map<string, Set<string>>();
for (const [file, text] of texts)
  for (const [, quoted, entry] of text.matchAll(/['"`]([a-z][a-z0-9-]*)['"`]|\b\w+_ERRORS\.(\w+)\b/g)) {
    const word = quoted ?? entry ?? '';
    filesOf.set(word, (filesOf.get(word) ?? new Set()).add(file));
  }

const codes = await codesOf(root);
const problems = [...twice(), ...unused(), ...strewn(), ...unfinished()];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`errors: ${codes.length} codes, each in one catalogue, thrown, and explained`);

function twice(): string[] {
  return [...Map.groupBy(codes, ({ code }) => code)]
    .filter(([, all]) => all.length > 1)
    .map(([code, all]) => `${code}: stands in the catalogues of ${all.map(({ room }) => room).join(' and ')}`);
}

function unused(): string[] {
  const thrown = (code: string): boolean => [...(filesOf.get(code) ?? [])].some((file) => !isCatalogue(file));
  return codes.filter(({ code }) => !thrown(code)).map(({ code, room }) => `${code} (${room}): nothing throws it`);
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
