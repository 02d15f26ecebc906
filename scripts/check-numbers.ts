// Checks that every cited number is defined once, and that every invariant names code and tests that exist (CONTRIBUTING.md,
// Numbers).
// Usage: node scripts/check-numbers.ts [ROOT]; exit code 1 with file:line for each fault.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { type Node, parseSync, Visitor } from 'oxc-parser';

/** With a prefix: `PROC-L1c`, `ASM-E18`, `BENCH-B2`. */
const NUMBER = /(?<![\w-])[A-Z]{2,9}-[A-Z]\d{1,2}[a-z]?(?![\w-])/g;
const HEADER = /^\| *\| holds \| enforced in \| shown by \|$/;
/** This test cites invented numbers. */
const OWN_TEST = 'test/scripts/check-numbers.e2e.test.ts';
const TESTS = new Set(['it', 'test', 'describe']);

interface Line {
  readonly text: string;
  readonly at: string;
}

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const list = (...patterns: string[]): string[] =>
  globSync(patterns, { cwd: root, exclude: (path) => /(^|[/\\])(node_modules|dist|\.millrace)$/.test(path) })
    .map((path) => path.split(sep).join('/'))
    .toSorted();
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const lines = (file: string): Line[] =>
  read(file)
    .split('\n')
    .map((text, at) => ({ text, at: `${file}:${at + 1}` }));

const code = list('{src,test,scripts,functions,infra,bench,examples}/**/*.{ts,mjs}').filter(
  (file) => file !== OWN_TEST,
);
const pages = list('*.md', 'docs/**/*.md').filter((file) => file !== 'CHANGELOG.md');
const others = list('{test,infra}/**/*.{py,java,bicep,yml,json}', '*.{yml,yaml}', '.github/**/*.yml');
const specs = pages.filter((file) => file.startsWith('docs/SPEC-'));
const sources = code.filter((file) => /^(src|scripts|functions|infra)\//.test(file));
const tests = code.filter((file) => file.endsWith('.test.ts'));

const problems: string[] = [];
const defined = new Map<string, string>();
let [cited, named] = [0, 0];

for (const file of list('bench/b*-*.ts')) defined.set(`BENCH-${/b\d+/.exec(file)![0].toUpperCase()}`, 'bench');
for (const { text, at } of existsSync(join(root, 'docs/assumptions.md')) ? lines('docs/assumptions.md') : [])
  define(/^- \*\*(ASM-\w+)\*\*/.exec(text)?.[1], at);
const invariants = specs.flatMap(invariantsOf);
const titles = new Map(tests.map((file) => [file, titlesOf(file)]));

for (const file of [...code, ...pages, ...others]) for (const line of lines(file)) lookAtNumbers(line);
for (const { cells, at } of invariants) {
  enforced(cells[2] ?? '', `${at}: ${cells[0]}`);
  shown(cells[3] ?? '', `${at}: ${cells[0]}`);
}

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else {
  const assumptions = [...defined.keys()].filter((number) => number.startsWith('ASM-')).length;
  console.log(
    `numbers: ${assumptions} assumptions, ${invariants.length} invariants in ${specs.length} documents; ${cited} citations, all of numbers that exist; ${named} tests named, all there`,
  );
}

function define(number: string | undefined, at: string): void {
  if (number === undefined) return;
  const before = defined.get(number);
  if (before === undefined) defined.set(number, at);
  else problems.push(`${at}: ${number} is defined twice, at ${before} too. Give one of them the next free number.`);
}

/** The rows of a SPEC's tables of invariants. Defines their numbers. */
function invariantsOf(file: string): { cells: string[]; at: string }[] {
  let inside = false;
  return lines(file).flatMap(({ text, at }) => {
    if (!text.startsWith('|')) inside = false;
    if (HEADER.test(text)) inside = true;
    if (!inside || HEADER.test(text) || text.startsWith('|---')) return [];
    const cells = text
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (cells.length !== 4 || cells[0]!.match(NUMBER)?.[0] !== cells[0]) {
      problems.push(`${at}: a row of invariants has four cells, of which the first is a number such as AGG-G1.`);
      return [];
    }
    define(cells[0], at);
    return [{ cells, at }];
  });
}

/** What `it`, `test` and `describe` are called, and the texts in the tables of `each`. */
function titlesOf(file: string): string {
  const found: string[] = [];
  const { program, errors } = parseSync(file, read(file));
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`);
  new Visitor({
    CallExpression: ({ callee, arguments: [title] }) => {
      if (isTable(callee)) return;
      let base: Node = callee;
      const given: (Node | undefined)[] = [title];
      while (base.type === 'CallExpression' || base.type === 'MemberExpression') {
        if (base.type === 'CallExpression') given.push(...base.arguments);
        base = base.type === 'CallExpression' ? base.callee : base.object;
      }
      if (base.type !== 'Identifier' || !TESTS.has(base.name)) return;
      for (const each of given) found.push(...wordsOf(each));
    },
  }).visit(program);
  return found.join('\n');
}

/** The call in `it.each(table)(title)` that takes the table. */
function isTable(callee: Node): boolean {
  return callee.type === 'MemberExpression' && callee.property.type === 'Identifier' && callee.property.name === 'each';
}

/** The texts in a node of the syntax tree, at any depth. */
function wordsOf(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const { type, value } = node as Partial<Record<string, unknown>>;
  if (type === 'Literal' && typeof value === 'string') return [value];
  if (type === 'TemplateElement') return [(value as { raw: string }).raw];
  return Object.values(node).flatMap(wordsOf);
}

function lookAtNumbers({ text, at }: Line): void {
  for (const [number] of text.matchAll(NUMBER)) {
    cited++;
    if (!defined.has(number)) problems.push(`${at}: ${number} is cited, and no document defines it.`);
  }
}

/** `a/{b,c}.ts` names two files. */
function spread(path: string): string[] {
  const [, before = '', choice, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(path) ?? [];
  return choice === undefined ? [path] : choice.split(',').map((one) => before + one + after);
}

/** The cell "enforced in" must name files of the sources, and functions that are in them. */
function enforced(cell: string, at: string): void {
  const found = [...cell.matchAll(/`([\w./{},-]+\.(?:ts|mjs))`(?: \(([^)]*)\))?/g)];
  if (found.length === 0) problems.push(`${at}: names no file that enforces it.`);
  for (const [, path = '', names = ''] of found) {
    const files = spread(path).map((one) => only(one, sources, (file) => `/${file}`.endsWith(`/${one}`), at));
    for (const [, name = ''] of names.matchAll(/`#?(\w+)`/g))
      if (files.every((file) => file !== undefined && !new RegExp(`\\b${name}\\b`).test(read(file))))
        problems.push(`${at}: ${path} has no ${name}.`);
  }
}

/** The cell "shown by" must be a list with commas: `file.tier` (words of a title; others), `npm run name`, BENCH-B1. */
function shown(cell: string, at: string): void {
  const ITEM =
    /^(?:`npm run ([\w:-]+)[^`]*`|(BENCH-B\d+)|`([\w./-]+\.(?:unit|int|model|e2e))`(?: \(([^)]*)\))?)(?:, |$)/;
  let rest = cell;
  do {
    const item = ITEM.exec(rest);
    if (item === null) {
      problems.push(
        `${at}: "${rest.slice(0, 60)}" names no test. Write \`file.tier\` (words of a title), with commas between.`,
      );
      return;
    }
    rest = rest.slice(item[0].length);
    named++;
    const [, script, , name, words] = item;
    if (script !== undefined && scripts()[script] === undefined)
      problems.push(`${at}: package.json has no script ${script}.`);
    if (name === undefined) continue;
    const file = only(name, tests, (each) => `/${each}`.endsWith(`/${name}.test.ts`), at);
    for (const title of file === undefined ? [] : (words?.split('; ') ?? []))
      if (!titles.get(file!)!.includes(title)) problems.push(`${at}: no test in ${file} has "${title}" in its title.`);
  } while (rest !== '');
}

function scripts(): Readonly<Record<string, string>> {
  return (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;
}

/** The one file of this name; undefined, and a problem, if there is none or several. */
function only(name: string, among: readonly string[], fits: (file: string) => boolean, at: string): string | undefined {
  const found = among.filter(fits);
  if (found.length === 0) problems.push(`${at}: there is no ${name}.`);
  if (found.length > 1) problems.push(`${at}: ${name} may be ${found.join(' or ')}. Name the folder too.`);
  return found.length === 1 ? found[0] : undefined;
}
