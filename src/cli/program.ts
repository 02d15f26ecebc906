import { Command, Option } from 'commander';
import { type Operation, kebab, operationName } from '../verbs/operation.ts';
import type { Registry } from '../verbs/registry.ts';
import { completionOf } from './completion.ts';
import { type Flag, flagsOf, optionOf } from './flags.ts';
import { EXIT_CODES, purposeOf } from './help.ts';

/** The flags of every verb. */
export interface CommonFlags {
  readonly pipeline?: string;
  readonly env?: string;
  readonly json: boolean;
  readonly color: boolean;
  readonly debug: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

export interface CommandInvocation {
  readonly operation: Operation;
  readonly input: Readonly<Record<string, unknown>>;
  readonly flags: CommonFlags;
}

/**
 * The commander program for a registry: `millrace <noun> <verb> [name]`. Each verb calls `invoke`. `argv`: where it names a
 * verb, only this one has its flags. To work out those of all verbs takes longer than many a verb.
 */
export function buildProgram(
  registry: Registry,
  version: string,
  invoke: (invocation: CommandInvocation) => Promise<void>,
  argv: readonly string[] = [],
): Command {
  const program = new Command('millrace').version(version).showSuggestionAfterError();
  const nouns = new Map<string, Command>();
  const operations = registry.all();
  const named = operations.find((of) =>
    operationName(of)
      .split(' ')
      .every((word, at) => argv[at] === word),
  );
  for (const operation of operations) {
    const parent = operation.noun === undefined ? program : noun(program, nouns, operation.noun);
    const isAsked = named === undefined || named === operation;
    parent.addCommand(isAsked ? verb(operation, invoke) : new Command(operation.verb).description(operation.summary));
  }
  for (const [name, command] of nouns) {
    const own = operations.filter((of) => of.noun === name || of.noun?.startsWith(`${name} `));
    command
      .description(purposeOf(name) ?? command.commands.map((of) => of.name()).join(', '))
      .addHelpText('after', `${examplesText(own.flatMap(({ examples: [first] }) => first ?? []))}${EXIT_CODES}`);
  }
  return program.addCommand(completionOf(program));
}

const examplesText = (examples: readonly string[]): string =>
  `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}\n`;

function noun(program: Command, nouns: Map<string, Command>, name: string): Command {
  const known = nouns.get(name);
  if (known) return known;
  const words = name.split(' ');
  const last = words.pop() ?? name;
  const parent = words.length === 0 ? program : noun(program, nouns, words.join(' '));
  const command = parent.command(last).showSuggestionAfterError();
  nouns.set(name, command);
  return command;
}

function verb(operation: Operation, invoke: (invocation: CommandInvocation) => Promise<void>): Command {
  const command = new Command(operation.verb)
    .description(operation.summary)
    .showSuggestionAfterError()
    .allowExcessArguments(false);
  const flags = flagsOf(operation);
  for (const flag of flags) {
    if (positionsOf(operation).includes(flag.field)) command.argument(argumentOf(flag), flag.description);
    else command.addOption(optionOf(flag));
  }
  for (const option of commonOptions(operation)) command.addOption(option);
  refuseTwice(command, flags);
  command.addHelpText(
    'after',
    `${examplesText(operation.examples)}${operation.help === undefined ? '' : `\n${operation.help}\n`}${EXIT_CODES}`,
  );
  command.action(async () => {
    await invoke({ operation, input: inputOf(operation, command, flags), flags: commonFlags(command) });
  });
  return command;
}

/** Commander takes the last value of a flag that is given twice, and says nothing of the others. */
function refuseTwice(command: Command, flags: readonly Flag[]): void {
  const lists = new Set(flags.filter(({ isList }) => isList).map(({ field }) => kebab(field)));
  for (const option of command.options) {
    const takesOne = (option.required || option.optional) && !lists.has(option.name());
    let isGiven = false;
    command.on(`option:${option.name()}`, () => {
      if (takesOne && isGiven) command.error(`error: --${option.name()} takes one value, and is given twice`);
      isGiven = true;
    });
  }
}

/** The fields that are given by position. */
const positionsOf = ({ argument, arguments: several = [] }: Operation): readonly string[] =>
  argument === undefined ? several : [argument];

const argumentOf = ({ field, isList, required }: Flag): string => {
  const name = isList ? `${field}...` : field;
  return required ? `<${name}>` : `[${name}]`;
};

function commonOptions({ plan, effect, effects = {} }: Operation): Option[] {
  const options = [
    new Option(
      '--pipeline <directory>',
      'pipeline folder (default: "millrace".pipeline of package.json, else pipeline/)',
    ),
    new Option('--env <name>', 'also read settings from millrace.NAME.env'),
    new Option('--json', 'print one JSON value to standard output, and everything else to standard error'),
    new Option('--no-color', 'print text without colours (NO_COLOR does the same)'),
    new Option('--debug', 'show the stack of an error'),
  ];
  if (plan) options.push(new Option('--dry-run', 'show what the command would do, and change nothing'));
  if ([effect, ...Object.values(effects)].includes('destroys'))
    options.push(new Option('--yes', 'confirm a command that can’t be undone'));
  return options;
}

function inputOf(operation: Operation, command: Command, flags: readonly Flag[]): Record<string, unknown> {
  const options = command.opts<Record<string, unknown>>();
  const input: Record<string, unknown> = {};
  const positions = positionsOf(operation);
  for (const { field, isList } of flags) {
    const at = positions.indexOf(field);
    const given = isList ? command.args : command.args[at];
    const value = at < 0 ? options[field] : given;
    if (value !== undefined) input[field] = value;
  }
  return input;
}

function commonFlags(command: Command): CommonFlags {
  const { pipeline, env, json, color, debug, dryRun, yes } = command.opts<Partial<CommonFlags>>();
  return {
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(env === undefined ? {} : { env }),
    json: json ?? false,
    color: color ?? true,
    debug: debug ?? false,
    dryRun: dryRun ?? false,
    yes: yes ?? false,
  };
}

/** A command and all below it: commander does not pass settings on to commands that were added before. */
export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

/** The words of a command, beginning with `millrace`. */
export const wordsOf = (command: Command): string =>
  command.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name();
