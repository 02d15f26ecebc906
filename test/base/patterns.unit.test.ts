// Every pattern of the code meets texts that others wrote: documents, messages, queries, addresses. One whose time grows with the
// square of a text's length stalls a host.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';
import { Visitor, parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { messageOf } from '../../src/base/errors.ts';
import { near } from '../../src/base/near.ts';
import { withoutSecrets } from '../../src/base/secrets.ts';
import { readTokens } from '../../src/base/sql-tokens.ts';
import { fit } from '../../src/cli/fit.ts';
import { readQuery } from '../../src/client/query-text.ts';
import { shownOnPage } from '../../src/dashboard/shown.ts';
import { exactParse } from '../../src/emulator/cosmos/wire/exact-json.ts';
import { parseQuery } from '../../src/emulator/sql/parse.ts';
import { parseJavaState } from '../../src/feed/leases/dialects/java-token.ts';
import { namesIn, renamed } from '../../src/procedures/erase/names.ts';
import { parseTarget } from '../../src/procedures/rewind/targets.ts';
import { withoutData } from '../../src/sql-check/ddl/dump.ts';
import { hostileTo } from '../support/hostile.ts';

const SRC = join(import.meta.dirname, '../../src');
/** In proportion, a text of this length takes milliseconds; by the square, minutes. So a slow machine changes nothing. */
const LENGTH = 200_000;
const LIMIT_MS = 3_000;
/** A tenth of the length takes a fast pattern less; what takes more is tried with the whole length. */
const SUSPECTED_MS = 50;
const context = vm.createContext({});
const call = new vm.Script('run()');

/** Whether `run` ends within the limit; it is broken off there. */
function ends(run: () => unknown): boolean {
  context['run'] = run;
  try {
    call.runInContext(context, { timeout: LIMIT_MS });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    // Otherwise it refuses the text.
    if (error instanceof RangeError) throw error;
  }
  return true;
}

/** The text that takes the pattern much more than time in proportion to its length, if there is one. */
function slowText(source: string, flags: string): string | undefined {
  const pattern = new RegExp(source, flags.includes('y') || flags.includes('g') ? flags : `${flags}g`);
  const replaced = (text: string): boolean => {
    pattern.lastIndex = 0;
    return ends(() => text.replace(pattern, ''));
  };
  const long = hostileTo(pattern, LENGTH);
  for (const text of hostileTo(pattern, LENGTH / 10)) {
    const before = process.cpuUsage();
    const ended = replaced(text);
    const suspected = process.cpuUsage(before).user > SUSPECTED_MS * 1_000;
    const { value } = long.next();
    if (!ended || (suspected && !replaced(value ?? ''))) return text.slice(0, 40);
  }
  return undefined;
}

function* patternsIn(file: string): Generator<readonly [string, string]> {
  const found: [string, string][] = [];
  new Visitor({
    Literal: (node) => {
      if ('regex' in node && node.regex) found.push([node.regex.pattern, node.regex.flags]);
    },
  }).visit(parseSync(file, readFileSync(join(SRC, file), 'utf8')).program);
  yield* found;
}

describe('patterns', () => {
  it.each([
    ['of tokens', 'eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}\\.', ''],
    ['of spaces at an end', '\\s+$', ''],
    ['of addresses', '\\b[a-z][a-z0-9+.-]*:\\/\\/', 'i'],
    ['of words in words', '^(\\w+\\s*)*=', ''],
    ['of comments', '\\/\\*(?:[^*]|\\*(?!\\/))*\\*\\/', ''],
  ])('a slow pattern is found: %s', (_, source, flags) => {
    expect(slowText(source, flags)).toBeDefined();
  });

  // Not src/model: it reads the documents of who runs it, within a limit of time (reader/text/source.ts).
  const files = globSync('**/*.{ts,js}', { cwd: SRC }).filter((file) => !/^model[\\/]|[\\/]template[\\/]/.test(file));
  it('a pattern of the code takes time in proportion to the text', { timeout: 300_000 }, () => {
    const all = files.flatMap((file) => [...patternsIn(file)].map(([source, flags]) => ({ file, source, flags })));
    expect(all.length).toBeGreaterThan(300);
    const slow = all.flatMap((one) => {
      const text = slowText(one.source, one.flags);
      return text === undefined ? [] : [{ ...one, text }];
    });
    expect(slow).toEqual([]);
  });
});

describe('functions that read what others wrote', () => {
  const text =
    (of: (text: string) => unknown, before = '') =>
    (piece: string): unknown =>
      of(before + piece);
  const FUNCTIONS: Readonly<Record<string, (text: string) => unknown>> = {
    'withoutSecrets, uncut': (of) => withoutSecrets(of, Infinity),
    messageOf: (of) => messageOf(new Error(of)),
    shownOnPage: (of) => shownOnPage({ fields: Array.from({ length: 20 }, () => of) }),
    near: (of) => near(of, ['Orders', 'Customers']),
    renamed: (of) => renamed(of, namesIn({ tenant: 'eyJ-', rule: { kind: 'text', ids: false } as never }), 'x'),
    readTokens: text(readTokens),
    readQuery: text(readQuery, 'SELECT * FROM c WHERE '),
    parseQuery: text(parseQuery, 'SELECT * FROM c WHERE '),
    withoutData: text(withoutData, '\\restrict a\n'),
    exactParse: text(exactParse),
    parseJavaState: text(parseJavaState),
    parseTarget: text(parseTarget),
    fit: (of) => fit(of, 80),
  };
  const PIECES = [
    'eyJ-',
    '"\\"',
    '\\"',
    "'",
    '--',
    '/*',
    '[',
    '{"a":',
    '((',
    'a.',
    'Password=',
    'a://',
    ' ',
    '\n',
    '@a',
    '0',
    '9.',
  ];
  it.each(Object.keys(FUNCTIONS))('%s takes time in proportion to the text', (name) => {
    const run = FUNCTIONS[name]!;
    const slow = PIECES.filter((piece) => !ends(() => run(`"${piece.repeat(LENGTH / piece.length)}`)));
    expect(slow).toEqual([]);
  });

  it('a document of 1.8 MB is made ready for a page in time', () => {
    const document = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`field${at}`, 'eyJ-'.repeat(5_000)]));
    expect(ends(() => shownOnPage(document))).toBe(true);
  });
});
