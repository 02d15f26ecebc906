import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const CLI_ERRORS = {
  'not-confirmed': {
    meaning: 'The command can’t be undone and needs `--yes`.',
    hint: 'Look with `--dry-run` first, then add `--yes`.',
    usage: true,
  },
  'schemas-missing': {
    meaning: 'A checkout has no schemas, because they are in no commit.',
    hint: 'Run `npm run reference`, which writes them. An installed package has them.',
    usage: true,
  },
  'schema-unknown': {
    meaning: '`millrace schema` names a verb that there is not.',
    hint: 'Write the verb as on the command line, for example `projections list`. The help of Millrace lists all.',
    usage: true,
  },
  'tool-ended': {
    meaning: 'The thread of a tool of `millrace mcp` ended without a result.',
    hint: 'Run the same verb on the command line with `--debug` to see its origin.',
  },
  'tool-field-unknown': {
    meaning: 'A call of a tool of `millrace mcp` has a field that the tool does not know.',
    hint: 'Correct or remove the field. The list of tools has the fields of each.',
    usage: true,
  },
  'tool-unknown': {
    meaning: 'A call names a tool that `millrace mcp` does not have.',
    hint: 'List the tools. Verbs that change something are not among them.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const cliError = errorsOf(CLI_ERRORS);
