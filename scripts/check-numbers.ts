// Checks that every cited number is defined, every invariant names code and tests that exist, and every model test names a
// number (CONTRIBUTING.md, Numbers).
// Usage: node scripts/check-numbers.ts [ROOT]; exit code 1 with file:line for each fault.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { type Node, type Program, parseSync, Visitor } from 'oxc-parser';

/** With a prefix: `PROC-L1c`, `ASM-E18`, `BENCH-B2`. */
const NUMBER = /(?<![\w-])[A-Z]{2,9}-[A-Z]\d{1,2}[a-z]?(?![\w-])/g;
/** Without a prefix: only rules of the model check and some benchmarks may be cited so. */
const BARE = /(?<![\w$%./:'"#-])[A-Z]\d{1,2}[a-z]?(?![\w'"=%-])/g;
const HEADER = /^\| *\| holds \| enforced in \| shown by \|$/;
/** Where rules of the model check may be cited, by their bare ids. */
const RULES =
  /^(src\/(model|contract|operations\/model|testing\/prove)\/|src\/runtime\/load-pipeline\.ts|test\/(model|contract|operations\/model)\/|docs\/(rules\/|reference\/commands\/model\.md|model\.md|patterns\.md|adr\/0021))/;
/** Where benchmarks may be cited without a prefix. */
const BENCHES = /^(bench\/|docs\/benchmarks\.md)/;

/** This test cites invented numbers. */
const OWN_TEST = 'test/scripts/check-numbers.e2e.test.ts';
const TESTS = new Set(['it', 'test', 'describe']);

interface Words {
  readonly text: string;
  readonly start: number;
}

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

const rules = new Set(
  [...list('docs/rules/*.md').map((file) => file.slice('docs/rules/'.length, -'.md'.length)), ...withdrawn()].filter(
    (id) => /^[A-Z]\d+$/.test(id),
  ),
);
const benches = new Set(list('bench/b*-*.ts').map((file) => /b\d+/.exec(file)![0].toUpperCase()));
for (const bench of benches) defined.set(`BENCH-${bench}`, 'bench');
for (const { text, at } of existsSync(join(root, 'docs/assumptions.md')) ? lines('docs/assumptions.md') : [])
  define(/^- \*\*(ASM-\w+)\*\*/.exec(text)?.[1], at);
const invariants = specs.flatMap(invariantsOf);
const titles = new Map<string, string>();
for (const file of specs) lookAtSpec(file);

for (const file of code) lookAtCode(file);
for (const file of pages) for (const line of lines(file)) lookAtPage(file, line);
for (const file of others) for (const { text, at } of lines(file)) lookAtNumbers(text, at);
for (const { cells, at } of invariants) {
  enforced(cells[2] ?? '', `${at}: ${cells[0]}`);
  shown(cells[3] ?? '', `${at}: ${cells[0]}`);
}

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else {
  const assumptions = [...defined.keys()].filter((number) => number.startsWith('ASM-')).length;
  console.log(
    `numbers: ${assumptions} assumptions, ${invariants.length} invariants in ${specs.length} documents, ${rules.size} rules; ${cited} citations, all of numbers that exist; ${named} tests named, all there`,
  );
}

function define(number: string | undefined, at: string): void {
  if (number === undefined) return;
  const before = defined.get(number);
  if (before === undefined) defined.set(number, at);
  else problems.push(`${at}: ${number} is defined twice, at ${before} too. Give one of them the next free number.`);
}

function withdrawn(): string[] {
  if (!existsSync(join(root, 'docs/rules/README.md'))) return [];
  const [, after = ''] = read('docs/rules/README.md').split('\n## Withdrawn\n');
  return [...after.matchAll(/^- ([A-Z]\d+) /gm)].map(([, id = '']) => id);
}

/** A SPEC must have one prefix and a table of gaps. */
function lookAtSpec(file: string): void {
  const prefixes = new Set(
    [...defined].flatMap(([number, at]) => (at.startsWith(`${file}:`) ? [number.split('-')[0]] : [])),
  );
  if (prefixes.size !== 1)
    problems.push(
      `${file}:1: a SPEC gives its invariants one prefix; this one gives ${[...prefixes].join(', ') || 'none'}.`,
    );
  if (!/^## Gaps\n\| gap \| consequence \| what would close it \|$/m.test(read(file)))
    problems.push(
      `${file}:1: a SPEC says what it doesn't solve. Add "## Gaps" with a table of gap, consequence and what would close it.`,
    );
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

function lookAtCode(file: string): void {
  const text = read(file);
  for (const { text: line, at } of lines(file)) lookAtNumbers(line, at);
  const { program, comments, errors } = parseSync(file, text);
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`);
  const prose = comments.map(({ start, end }) => ({ start, text: text.slice(start, end) }));
  if (tests.includes(file)) {
    const own = titlesOf(program);
    titles.set(file, own.map((each) => each.text).join('\n'));
    prose.push(...own);
    const about = [...prose.map((each) => each.text), ''].join('\n');
    if (file.endsWith('.model.test.ts') && about.match(NUMBER) === null && !(RULES.test(file) && namesRule(about)))
      problems.push(
        `${file}:1: a model test names what it shows. Name an invariant or an assumption in its head comment.`,
      );
  }
  for (const { start, text: words } of prose) {
    words.split('\n').forEach((line, at) => {
      lookAtBare(line.replaceAll(/`[^`]*`/g, ''), file, `${file}:${text.slice(0, start).split('\n').length + at}`);
    });
  }
}

function namesRule(text: string): boolean {
  return (text.match(BARE) ?? []).some((id) => rules.has(id));
}

/** What `it`, `test` and `describe` are called, and the texts in the tables of `each`. */
function titlesOf(program: Program): Words[] {
  const found: Words[] = [];
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
  return found;
}

/** The call in `it.each(table)(title)` that takes the table. */
function isTable(callee: Node): boolean {
  return callee.type === 'MemberExpression' && callee.property.type === 'Identifier' && callee.property.name === 'each';
}

/** The texts in a node of the syntax tree, at any depth. */
function wordsOf(node: unknown): Words[] {
  if (typeof node !== 'object' || node === null) return [];
  const { type, value, start } = node as Partial<Record<string, unknown>>;
  if (type === 'Literal' && typeof value === 'string') return [{ start: Number(start), text: value }];
  if (type === 'TemplateElement') return [{ start: Number(start), text: (value as { raw: string }).raw }];
  return Object.values(node).flatMap(wordsOf);
}

function lookAtPage(file: string, { text, at }: Line): void {
  lookAtNumbers(text, at);
  // Code, addresses and comments for tools cite nothing.
  const prose = text.replaceAll(/`[^`]*`|\]\([^)]*\)|<!--.*?-->|^ {2,}(?![-*\d]).*/g, '');
  lookAtBare(prose, file, at);
}

function lookAtNumbers(text: string, at: string): void {
  for (const [number] of text.matchAll(NUMBER)) {
    cited++;
    if (!defined.has(number)) problems.push(`${at}: ${number} is cited, and no document defines it.`);
  }
}

function lookAtBare(text: string, file: string, at: string): void {
  for (const [id] of text.matchAll(BARE)) {
    if (RULES.test(file) && rules.has(id)) cited++;
    else if (BENCHES.test(file) && benches.has(id)) cited++;
    else if (RULES.test(file)) problems.push(`${at}: ${id} isn't a rule of the model check.`);
    else problems.push(`${at}: ${id} has no prefix. An assumption is ASM-…, an invariant has the prefix of its SPEC.`);
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
