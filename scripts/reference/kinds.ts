// docs/reference/kinds.md: every builder that `millrace` exports, with its options as the source declares them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as millrace from '../../src/index.ts';
import { type Member, docOf, membersOf } from './declarations.ts';
import { code, table, written } from './text.ts';

interface Builder {
  readonly name: string;
  readonly file: string;
  /** The interface of its options; absent: its docstring says what it takes. */
  readonly options?: string;
  /** The page and heading with a snippet. */
  readonly more: string;
}

const BUILDERS = 'src/pipeline/builders';
/** Where the interfaces are that options extend. */
const SHARED = ['src/pipeline/types.ts', 'src/pipeline/builders/embed.ts'];

const KINDS: readonly Builder[] = [
  { name: 'copy', file: `${BUILDERS}/copy.ts`, options: 'CopyOptions', more: '../projections.md#copy' },
  { name: 'aggregate', file: `${BUILDERS}/aggregate.ts`, options: 'AggregateOptions', more: 'measures.md' },
  { name: 'embed', file: `${BUILDERS}/embed.ts`, options: 'EmbedOptions', more: '../projections.md#embed' },
  { name: 'embedEach', file: `${BUILDERS}/embed.ts`, options: 'EmbedEachOptions', more: '../projections.md#embed' },
  {
    name: 'reference',
    file: `${BUILDERS}/reference.ts`,
    options: 'ReferenceOptions',
    more: '../projections.md#reference',
  },
  { name: 'publish', file: `${BUILDERS}/publish.ts`, options: 'PublishOptions', more: '../event-hubs.md' },
  { name: 'ingest', file: `${BUILDERS}/ingest.ts`, options: 'IngestOptions', more: '../event-hubs.md' },
  { name: 'table', file: `${BUILDERS}/table.ts`, options: 'TableOptions', more: '../tables.md' },
  { name: 'react', file: `${BUILDERS}/react.ts`, options: 'ReactOptions', more: '../projections.md#react' },
  { name: 'send', file: `${BUILDERS}/send.ts`, options: 'SendOptions', more: '../projections.md#send' },
  {
    name: 'custom',
    file: 'src/kinds/custom/custom-runner.ts',
    options: 'CustomOptions',
    more: '../projections.md#custom',
  },
  { name: 'archive', file: `${BUILDERS}/archive.ts`, options: 'ArchiveOptions', more: '../archive.md' },
];

const CODE = 'src/model/code/define-model.ts';
const FIELDS = [
  'text',
  'int',
  'number',
  'moment',
  'day',
  'bool',
  'any',
  'oneOf',
  'list',
  'object',
  'optional',
  'nullable',
];
const MODEL: readonly Builder[] = [
  { name: 'defineModel', file: CODE, options: 'ModelOptions', more: '../model.md#the-model-as-code' },
  { name: 'container', file: CODE, options: 'ContainerOptions', more: '../model.md#the-model-as-code' },
  ...['document', 'documentWithoutType', 'autoscale', 'manual', 'indexed', 'ordered'].map((name) => ({
    name,
    file: CODE,
    more: '../model.md#the-model-as-code',
  })),
  ...FIELDS.map((name) => ({ name, file: 'src/model/code/fields.ts', more: '../model.md#the-model-as-code' })),
];

const PARTS: readonly Builder[] = [
  {
    name: 'definePipeline',
    file: 'src/pipeline/pipeline.ts',
    options: 'PipelineOptions',
    more: '../projections.md#sources',
  },
  { name: 'source', file: 'src/pipeline/pipeline.ts', options: 'SourceOptions', more: '../projections.md#sources' },
  { name: 'timeWindow', file: 'src/pipeline/time-window.ts', more: 'measures.md#windows' },
  { name: 'shardMap', file: `${BUILDERS}/shards.ts`, more: '../shards.md' },
  { name: 'global', file: `${BUILDERS}/shards.ts`, more: '../shards.md' },
  { name: 'once', file: 'src/kinds/react/once.ts', more: '../outbox.md' },
  { name: 'untilDone', file: 'src/access/change.ts', more: '../projections.md#custom' },
  { name: 'compareVersions', file: 'src/feed/reading/change.ts', more: '../projections.md#custom' },
  { name: 'Poison', file: 'src/kinds/runner.ts', more: '../projections.md#custom' },
  { name: 'SinkRefusal', file: `${BUILDERS}/send.ts`, more: '../projections.md#send' },
  { name: 'MillraceError', file: 'src/base/errors.ts', more: '../errors.md' },
];

/** What an options object holds besides plain values. */
const NESTED: Readonly<Record<string, readonly { readonly title: string; readonly of: string }[]>> = {
  copy: [{ title: 'A document in `with`', of: 'JoinOf' }],
  table: [
    { title: 'A list in `children`', of: 'ChildGiven' },
    { title: 'A document in `references`', of: 'ReferenceGiven' },
  ],
};

export function kindsPage(): string {
  const shown = [...KINDS, ...MODEL, ...PARTS];
  const missing = Object.keys(millrace).filter((name) => !shown.some((builder) => builder.name === name));
  if (missing.length > 0)
    throw new Error(`scripts/reference/kinds.ts leaves out what src/index.ts exports: ${missing.join(', ')}`);
  return `${written('the builders in src/pipeline')}# Kinds

Everything that \`import { … } from 'millrace'\` gives to a \`pipeline.ts\`. Types are written as a pipeline sees them: \`m.Container.type\` is a type of the model, S the documents that are read, T those that are written. What isn't marked as needed is optional.

${table(
  ['kind', 'what it is'],
  KINDS.map(({ name, file }) => [`[${name}](#${name.toLowerCase()})`, docOf(file, name)]),
)}
${KINDS.map(section).join('\n')}
## The model

${MODEL.map(section).join('\n')}
## Parts of a pipeline

${PARTS.map(section).join('\n')}`;
}

function section({ name, file, options, more }: Builder): string {
  const doc = docOf(file, name);
  if (doc === '') throw new Error(`${file}: ${name} has no docstring`);
  const members = options ? membersOf(options, [file, ...SHARED]) : [];
  const signature = options ? '' : `\n\`\`\`text\n${signatureOf(file, name)}\n\`\`\`\n`;
  const nested = (NESTED[name] ?? []).map(
    ({ title, of }) => `\n${title}:\n\n${optionTable(name, membersOf(of, [file, ...SHARED]))}`,
  );
  return `## ${name}
${doc} [More](${more}).
${signature}${members.length > 0 ? `\n${optionTable(name, members)}` : ''}${nested.join('')}`;
}

function optionTable(of: string, members: readonly Member[]): string {
  const undocumented = members.filter(({ doc }) => doc === '').map(({ name }) => name);
  if (undocumented.length > 0) throw new Error(`${of}: these options have no docstring: ${undocumented.join(', ')}`);
  return table(
    ['option', 'type', 'needed', 'meaning'],
    members.map(({ name, type, required, doc }) => [code(name), code(type), required ? 'yes' : '', doc]),
  );
}

/** The head of a function, a constant or a class, as it is written. */
function signatureOf(file: string, name: string): string {
  const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
  const [, head = ''] =
    new RegExp(
      `^export ((?:async )?function ${name}\\b[^{]*?|const ${name} = [^=]*?|const ${name}: [^=]*?(?= =)|class ${name}\\b[^{]*?)(?:;| \\{| =>.*| = .*)\\s*$`,
      'm',
    ).exec(text) ?? [];
  if (head === '') throw new Error(`${file}: the head of ${name} can't be read`);
  return head
    .replaceAll(/\s+/g, ' ')
    .replace(/^const (\w+) = /, 'function $1')
    .trim();
}
