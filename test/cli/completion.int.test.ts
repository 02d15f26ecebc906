// The shells themselves say what they complete. One that isn't installed is skipped by name.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli } from './cli.ts';

const installed = (shell: string): boolean => spawnSync(shell, ['--version']).error === undefined;

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-completion-'));
  for (const shell of ['bash', 'zsh', 'fish', 'powershell'])
    writeFileSync(
      join(folder, shell === 'powershell' ? 'powershell.ps1' : shell),
      (await cli(['completion', shell])).stdout,
    );
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(shell: string, script: string): string[] {
  const { stdout, stderr } = spawnSync(shell, ['-c', script], { encoding: 'utf8', cwd: folder });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

/** What a shell offers for the last of the words, which may be empty. */
const OFFERS: Readonly<Record<string, (words: readonly string[]) => string[]>> = {
  bash: (words) =>
    run(
      'bash',
      `source ./bash; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
      _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ),
  // Its completion needs a terminal; what the function would describe needs none.
  zsh: (words) =>
    run(
      'zsh',
      `compdef() { }; _files() { }; _describe() { print -l -- \${(P)2%%:*}; }; source ./zsh
      words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; _millrace`,
    ).filter((offer) => offer.startsWith(words.at(-1) ?? '')),
  pwsh: (words) => {
    const line = words.join(' ');
    return run('pwsh', `. ./powershell.ps1; (TabExpansion2 '${line}' ${line.length}).CompletionMatches.CompletionText`);
  },
  fish: (words) =>
    run('fish', `source ./fish; complete -C '${words.join(' ')}'`).map((line) => line.split('\t')[0] ?? ''),
};

describe.each(Object.entries(OFFERS))('%s completes', (shell, offers) => {
  const absent = !installed(shell);

  it.skipIf(absent)('nouns, and verbs without a noun', () => {
    expect(offers(['millrace', ''])).toEqual(expect.arrayContaining(['init', 'plan', 'model', 'completion']));
    expect(offers(['millrace', 'mo'])).toEqual(['model']);
  });

  it.skipIf(absent)('the verbs of a noun', () => {
    expect(offers(['millrace', 'archive', ''])).toEqual(expect.arrayContaining(['sweep', 'verify', 'restore']));
    expect(offers(['millrace', 'archive', 've'])).toEqual(['verify']);
  });

  it.skipIf(absent)('a noun of a noun, its verbs and their flags', () => {
    expect(offers(['millrace', 'shards', 'ke'])).toEqual(['keys']);
    expect(offers(['millrace', 'shards', 'keys', 'lo'])).toEqual(['lock']);
    expect(offers(['millrace', 'shards', 'keys', 'lock', 'tenants', '--ow'])).toEqual(['--owner']);
  });

  it.skipIf(absent)('the flags of a verb, also behind its argument and another flag', () => {
    expect(offers(['millrace', 'archive', 'verify', '--sa'])).toEqual(['--sample']);
    expect(offers(['millrace', 'archive', 'verify', 'orders-cold', '--json', '--sa'])).toEqual(['--sample']);
    expect(offers(['millrace', 'plan', '--ag'])).toEqual(['--against']);
    expect(offers(['millrace', 'archive', 'sweep', '--hel'])).toEqual(['--help']);
  });

  it.skipIf(absent)('the values that a flag can have', () => {
    expect(offers(['millrace', 'model', 'check', '--fail-on', '']).toSorted()).toEqual(['error', 'warning']);
  });

  it.skipIf(absent)('the values that an argument can have', () => {
    expect(offers(['millrace', 'completion', 'z'])).toEqual(['zsh']);
  });
});

describe('completion', () => {
  // Windows PowerShell reads other characters by the machine's code page, and takes some that come of it for quotes.
  it('completion of PowerShell is plain ASCII, with an even number of quotes in each line', async () => {
    const { stdout } = await cli(['completion', 'powershell']);
    expect(stdout).toMatch(/^[\n\x20-\x7E]+$/);
    expect(stdout.split('\n').filter((line) => line.split("'").length % 2 === 0)).toEqual([]);
    expect(stdout).toContain("'model check --fail-on' = 'error error', 'warning warning'");
  });

  it('completion refuses another shell, and names those that there are', async () => {
    const { code, stderr } = await cli(['completion', 'tcsh']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/bash, zsh, fish, powershell/);
  });
});
