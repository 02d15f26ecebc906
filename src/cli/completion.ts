import { Argument, Command, type Option } from 'commander';

/** A command of the tree: its words after `millrace`, and what may follow. */
interface Node {
  readonly path: string;
  readonly next: readonly Word[];
  /** Whether no command is below it. */
  readonly leaf: boolean;
  readonly options: readonly Option[];
}

interface Word {
  readonly name: string;
  readonly summary: string;
}

const SHELLS = { bash, zsh, fish, powershell } as const;

const HELP = `
Examples:
  millrace completion bash > ~/.local/share/bash-completion/completions/millrace
  millrace completion zsh > "\${fpath[1]}/_millrace"
  millrace completion fish > ~/.config/fish/completions/millrace.fish
  millrace completion powershell | Out-String | Invoke-Expression
  source <(npx millrace completion bash)

A new shell completes verbs, flags and the values that a flag can have. Write the script again after an update.`;

/** `millrace completion SHELL`: prints a script that completes every command of `program`. */
export function completionOf(program: Command): Command {
  const command = new Command('completion')
    .description('Print a script by which bash, zsh, fish or PowerShell complete the verbs and their flags')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', HELP);
  return command.action((shell: keyof typeof SHELLS) => {
    command.configureOutput().writeOut?.(SHELLS[shell](nodesOf(program)));
  });
}

function nodesOf(command: Command, path: readonly string[] = []): Node[] {
  const options = command.createHelp().visibleOptions(command);
  const verbs = command.commands.map((of) => ({
    name: of.name(),
    summary: of.description(),
  }));
  const [argument] = command.registeredArguments;
  const values = (argument?.argChoices ?? []).map((name) => ({
    name,
    summary: argument?.description ?? '',
  }));
  const own = { path: path.join(' '), next: [...verbs, ...values], leaf: verbs.length === 0, options };
  return [own, ...command.commands.flatMap((child) => nodesOf(child, [...path, child.name()]))];
}

const flagOf = ({ long, short }: Option): string => long ?? short ?? '';
const takesValue = ({ required, optional }: Option): boolean => required || optional;

/** The values of each flag that has some: the words of its command and its name, and the values. */
const valuesOf = (nodes: readonly Node[]): [at: string, values: readonly string[]][] =>
  nodes.flatMap(({ path, options }) =>
    options.flatMap((of): [string, readonly string[]][] =>
      of.argChoices ? [[`${path} ${flagOf(of)}`.trim(), of.argChoices]] : [],
    ),
  );

/** In single quotes, as the shells of Unix read them: fish alone gives a backslash there a meaning. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '/').replaceAll("'", '’')}'`;
/** The first line; a list shows no more. */
const summaryOf = (text: string): string => quoted(text.split('\n')[0] ?? '');

function bash(nodes: readonly Node[]): string {
  const words = nodes.map(
    ({ path, next, options }) =>
      `    ${quoted(path)}) verbs=${quoted(next.map((of) => of.name).join(' '))} flags=${quoted(options.map(flagOf).join(' '))} ;;`,
  );
  const values = valuesOf(nodes).map(([at, of]) => `    ${quoted(at)}) values=${quoted(of.join(' '))} ;;`);
  return `# bash completion of millrace
_millrace() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path= verbs= flags= values= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && break
    path+="\${path:+ }$word"
    _millrace_words "$path"
    [[ -z $verbs ]] && break
  done
  _millrace_words "$path"
  case "$path $previous" in
${values.join('\n')}
  esac
  if [[ -n $values ]]; then COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current"))
  else COMPREPLY=($(compgen -W "$verbs" -- "$current")); fi
}
_millrace_words() {
  verbs= flags=
  case "$1" in
${words.join('\n')}
  esac
}
complete -o default -F _millrace millrace
`;
}

function zsh(nodes: readonly Node[]): string {
  const described = (of: readonly (readonly [name: string, text: string])[]): string =>
    of.map(([name, text]) => quoted(`${name.replaceAll(':', '\\:')}:${text.split('\n')[0]}`)).join(' ');
  const cases = nodes.map(({ path, next, options }) => {
    const verbs = described(next.map((of) => [of.name, of.summary]));
    const flags = described(options.map((of) => [flagOf(of), of.description]));
    return `    ${quoted(path)}) verbs=(${verbs}) flags=(${flags}) ;;`;
  });
  const values = valuesOf(nodes).map(([at, of]) => `    ${quoted(at)}) values=(${of.map(quoted).join(' ')}) ;;`);
  return `#compdef millrace
_millrace_words() {
  verbs=() flags=()
  case "$1" in
${cases.join('\n')}
  esac
}
_millrace() {
  local path_of= word
  local -a verbs flags values
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && break
    path_of+="\${path_of:+ }$word"
    _millrace_words "$path_of"
    (( \${#verbs} )) || break
  done
  _millrace_words "$path_of"
  case "$path_of \${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  if (( \${#values} )); then _describe 'value' values
  elif [[ \${words[CURRENT]} == -* ]]; then _describe 'flag' flags
  elif (( \${#verbs} )); then _describe 'verb' verbs
  else _files; fi
}
if [[ \${funcstack[1]} == _millrace ]]; then _millrace "$@"; else compdef _millrace millrace; fi
`;
}

function fish(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, next, options }) => {
    const at = `complete -c millrace -n ${quoted(`__millrace_at ${path}`.trimEnd())}`;
    return [
      ...next.map((of) => `${at} -f -a ${of.name} -d ${summaryOf(of.summary)}`),
      ...options.map((of) => {
        const values = of.argChoices ? ` -f -a ${quoted(of.argChoices.join(' '))}` : '';
        const name = of.long ? ` -l ${of.long.slice(2)}` : '';
        const short = of.short ? ` -s ${of.short.slice(1)}` : '';
        return `${at}${name}${short}${takesValue(of) ? ' -r' : ''}${values} -d ${summaryOf(of.description)}`;
      }),
    ];
  });
  return `# fish completion of millrace
function __millrace_at
    set -l words (commandline -opc)[2..]
    set -l path
    for word in $words
        string match -q -- '-*' $word; and break
        set -a path $word
        contains -- "$path" ${nodes.flatMap(({ path, leaf }) => (leaf ? [quoted(path)] : [])).join(' ')}; and break
    end
    test "$path" = "$argv"
end
${lines.join('\n')}
`;
}

/** In ASCII alone: Windows PowerShell reads a file by the code page of its machine. It takes ’ for a quote. */
const literal = (text: string): string => `'${text.replaceAll(/['‘’]/g, "''").replaceAll(/[^\x20-\x7E]/g, '-')}'`;

function powershell(nodes: readonly Node[]): string {
  // A tooltip must not be empty.
  const offers = (of: readonly Word[]): string =>
    of.map(({ name, summary }) => literal(`${name} ${summary.split('\n')[0] || name}`)).join(', ');
  const table = (rows: readonly (readonly [at: string, of: readonly Word[]])[]): string =>
    rows.flatMap(([at, of]) => (of.length === 0 ? [] : [`    ${literal(at)} = ${offers(of)}\n`])).join('');
  const flags = ({ options }: Node): Word[] => options.map((of) => ({ name: flagOf(of), summary: of.description }));
  return `# PowerShell completion of millrace
Register-ArgumentCompleter -Native -CommandName millrace -ScriptBlock {
  param($current, $command, $cursor)
  $verbs = @{
${table(nodes.map((node) => [node.path, node.next]))}  }
  $flags = @{
${table(nodes.map((node) => [node.path, flags(node)]))}  }
  $values = @{
${table(valuesOf(nodes).map(([at, of]) => [at, of.map((name) => ({ name, summary: '' }))]))}  }
  $words = @($command.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.Extent.Text })
  $path = ''
  foreach ($word in $words) {
    if ($word.StartsWith('-') -or -not $verbs.ContainsKey($path)) { break }
    $path = "$path $word".Trim()
  }
  $offers = if ($words.Count -gt 0 -and $values.ContainsKey("$path $($words[-1])")) { $values["$path $($words[-1])"] }
    elseif ("$current".StartsWith('-')) { $flags[$path] }
    else { $verbs[$path] }
  foreach ($offer in $offers) {
    $name, $text = $offer -split ' ', 2
    if ($name.StartsWith("$current")) { [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $text) }
  }
}
`;
}
