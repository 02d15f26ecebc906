// docs/reference/commands: a page for each noun of the command line, from the registry.
import { buildProgram, everyCommand, wordsOf } from '../../src/cli/program.ts';
import { everyOperation } from '../../src/cli/registry.ts';
import { offered } from '../../src/host/http/offered.ts';
import { type Operation, kebab, operationName } from '../../src/verbs/operation.ts';
import { code, table, written } from './text.ts';

const program = buildProgram(everyOperation, '0.0.0', async () => {});
const commands = new Map(
  everyCommand(program).map((command) => [wordsOf(command).replace(/^millrace ?/, ''), command]),
);
const overHttp = new Map(offered(everyOperation).map((operation) => [operationName(operation), operation]));
/** Flags of every verb, which README.md of the folder explains once. */
const COMMON = new Set(['--pipeline', '--env', '--json', '--no-color', '--debug', '--dry-run', '--yes']);

/** Name of the page → its text. */
export function commandPages(): Map<string, string> {
  const operations = everyOperation.all();
  const groups = Map.groupBy(operations, (operation) => operation.noun?.split(' ')[0] ?? 'millrace');
  const pages = [...groups].map(([noun, of]) => [`commands/${noun}.md`, page(noun, of)] as const);
  return new Map([['commands/README.md', index(groups)], ...pages]);
}

function index(groups: ReadonlyMap<string, readonly Operation[]>): string {
  const rows = [...groups].flatMap(([noun, of]) =>
    of.map((operation) => [
      `[${operationName(operation)}](${noun}.md#${anchor(operation)})`,
      operation.summary,
      effect(operation),
    ]),
  );
  const common = commands.get('run')!.options.filter(({ long }) => long && COMMON.has(long));
  return `${written('the registry of operations')}# Commands

Every verb of the command line. \`millrace NOUN VERB --help\` shows the same in a terminal, and \`millrace completion bash|zsh|fish|powershell\` prints a script that completes verbs and flags.

## Flags of every verb
${table(
  ['flag', 'meaning'],
  [
    ...common.map(({ flags, description }) => [code(flags), description]),
    ['`--dry-run`', 'of verbs that say *plan*: show what the command would do, and change nothing'],
    ['`--yes`', 'of verbs that say *destroys*: confirm a command that can’t be undone'],
  ],
)}
Exit codes: 0 success; 1 differences, findings, parked changes, rejected lines or a failure; 2 wrong usage or input; 130 interrupted. A verb that only shows, such as \`status\`, ends with 0 whatever it shows; \`doctor\` judges. Every verb that changes something leaves a record that \`millrace audit\` shows, except \`model apply\`, \`shards init\` and scheduled runs.

## All verbs
*Reads* changes nothing. *Changes* writes to the account or to files. *Destroys* can’t be undone, and needs \`--yes\`.

${table(['verb', 'does', 'effect'], rows)}`;
}

function page(noun: string, of: readonly Operation[]): string {
  const title = noun === 'millrace' ? 'millrace' : `millrace ${noun}`;
  return `${written('the registry of operations')}# ${title}

${of.map((operation) => `- [${operationName(operation)}](#${anchor(operation)}): ${operation.summary}\n`).join('')}
[Flags of every verb](README.md#flags-of-every-verb)

${of.map(section).join('\n')}`;
}

const anchor = (operation: Operation): string => operationName(operation).replaceAll(' ', '-');

const effect = ({ effect: kind, effects = {}, plan }: Operation): string =>
  [
    kind,
    ...Object.entries(effects).map(([field, of]) => `${of} with \`--${kebab(field)}\``),
    ...(plan ? ['plan'] : []),
  ].join(', ');

function section(operation: Operation): string {
  const command = commands.get(operationName(operation))!;
  const usage = command.createHelp().commandUsage(command).replace('[options]', '[flags]');
  const inputs = [
    ...command.registeredArguments.map((argument) => [code(argument.name()), argument.description]),
    ...command.options
      .filter(({ long }) => !long || !COMMON.has(long))
      .map(({ flags, description, argChoices }) => [
        code(flags),
        `${description}${argChoices ? `: ${argChoices.map(code).join(', ')}` : ''}`,
      ]),
  ];
  return `## ${operationName(operation)}
${operation.summary}. ${facts(operation)}

\`\`\`
${usage}
\`\`\`
${inputs.length > 0 ? `\n${table(['input', 'meaning'], inputs)}` : ''}
\`\`\`sh
${operation.examples.join('\n')}
\`\`\`
${operation.help === undefined ? '' : `\n\`\`\`text\n${operation.help}\n\`\`\`\n`}`;
}

function facts(operation: Operation): string {
  const { effect: kind, plan, bulk, shards } = operation;
  const what = {
    reads: 'It changes nothing.',
    changes: 'It changes something.',
    destroys: 'It can’t be undone: it needs `--yes`.',
  }[kind];
  return [
    what,
    plan && '`--dry-run` shows the steps and what they cost.',
    bulk && 'It is [bulk work](../../deploy.md#bulk-work-yields).',
    shards === 'every' && 'Over shards it works in every place, or in the one that `--shard` names.',
    shards === 'one' && 'Over shards it works in the place that `--shard` names.',
    http(operation),
  ]
    .filter(Boolean)
    .join(' ');
}

/** Who may run it in a function app and on the dashboard. */
function http(operation: Operation): string {
  const name = operationName(operation);
  if (!overHttp.has(name)) return 'Not over HTTP.';
  const route = name.replace(' ', '/');
  return operation.effect === 'reads'
    ? `Over [HTTP](../../functions.md#http): \`GET …/${route}\`, for readers and operators.`
    : `Over [HTTP](../../functions.md#http): \`POST …/${route}\`, for operators.`;
}
