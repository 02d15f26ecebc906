// The first help. It imports no verb: to load them takes longer than anyone wants to wait for a list.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipelineFolder } from '../runtime/pipeline/pipeline-folder.ts';

/** What there is by what it is for: nouns, and verbs without one, with what each is for. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Start: {
    init: 'Write a new project: pipeline, function app, infrastructure, tests',
    dev: 'Run a pipeline on this machine, with nothing to install',
    completion: 'Have a shell complete verbs and flags',
  },
  Model: {
    model: 'Check the model; derive its types, infrastructure and costs',
    plan: 'Show how each projection is kept, and what a change costs',
    sql: 'Create, migrate and check the tables of PostgreSQL',
  },
  Run: {
    run: 'Run the pipeline against the account of the settings',
    functions: 'Run the function app on this machine',
    status: 'Show projections, hosts, lag, dead letters and jobs',
    doctor: 'Check settings, account, rights and leases; say how to mend each',
    projections: 'Rebuild, promote, replay, pause and verify projections',
    jobs: 'Work off and list background jobs',
  },
  Repair: {
    trace: 'Follow a document: where each projection has it, and why one has not',
    'dead-letters': 'Look at changes that could not be applied; redrive or discard them',
    leases: 'See who reads which range; rewind; take over from .NET and Java',
    checkpoints: 'Keep positions of the feeds under names, and go back to one',
    recover: 'Correct what no longer fits after a restore or a failover',
    audit: 'List the changes made by hand',
  },
  Archive: { archive: 'Move old documents to Blob Storage; verify, hold and restore them' },
  Scale: {
    tenants: 'Fill in, export, erase and admit tenants',
    shards: 'Keep the map of shards; split, merge and move keys',
    migrate: 'Give a container another key or account while it is written',
  },
  Lab: {
    emulator: 'Run the embedded server of Cosmos DB; break it on purpose',
    mcp: 'Serve the verbs that only read as tools for an assistant',
    schema: 'Print the JSON Schema of what a verb prints with --json',
  },
};

/** What a noun is for. */
export const purposeOf = (noun: string): string | undefined => Object.values(GROUPS).find((of) => noun in of)?.[noun];

/** What a pipeline's code has to say for it to have a part. */
const PARTS: Readonly<Record<string, RegExp>> = {
  sql: /\btable\b/,
  archive: /\barchive\b/,
  tenants: /\btenant\b/,
  shards: /\bshardMap\b/,
};

/** Those of `PARTS` that the pipeline of a directory doesn't have. Its code is read, not run. */
function absentFrom(directory: string): string[] {
  try {
    const folder = pipelineFolder(directory);
    const code = globSync('**/*.{ts,js,mjs}', { cwd: folder, exclude: ['**/node_modules'] }).map((file) =>
      readFileSync(join(folder, file), 'utf8'),
    );
    // Files elsewhere may have what these don't.
    if (code.length === 0 || code.some((text) => /from '\.\.\//.test(text))) return [];
    return Object.keys(PARTS).filter((part) => !code.some((text) => PARTS[part]?.test(text)));
  } catch {
    return [];
  }
}

/** The help of the command line itself, in a directory. */
export function helpText(directory: string): string {
  const absent = absentFrom(directory);
  const groups = Object.entries(GROUPS).flatMap(([group, of]) => {
    const lines = Object.entries(of).flatMap(([name, what]) =>
      absent.includes(name) ? [] : [`  ${name.padEnd(14)}${what}`],
    );
    return lines.length === 0 ? [] : [group, ...lines];
  });
  return `Usage: millrace [-V, --version] [-h, --help] COMMAND

${groups.join('\n')}
${absent.length === 0 ? '' : `\n${absent.join(', ')}: parts that this pipeline does not have.\n`}
Examples:
  millrace init my-app              write a project
  millrace dev                      run a pipeline on this machine
  millrace dev --once               the same: compare with what a recomputation gives, and end
  millrace status --env production  show a pipeline of an account

millrace NOUN --help lists the verbs of a noun, and millrace NOUN VERB --help has flags and examples of one.
${EXIT_CODES}
`;
}

export const EXIT_CODES =
  '\nExit codes: 0 success; 1 differences, findings, parked changes or a failure; 2 wrong usage or input; 130 interrupted.';
