// The plan of an embed: whether children are written with the page or by a job, how many, and which writes come back.
import type { Facts } from '../../model/rules/facts.ts';
import { words } from '../../model/relations.ts';
import { ref } from '../declaration.ts';
import { CHILDREN_WITH_THE_PAGE } from '../builders/embed.ts';
import { writtenBy } from '../fields/field-flow.ts';
import type { EmbedSpec, Pipeline } from '../specs.ts';
import { feedReaders, sourcesOf } from '../pipeline.ts';

export interface Mode {
  readonly mode: string;
  readonly reason: string;
  readonly cheaper: string | undefined;
}

/** How an embed is kept: its children are written with the page, or by a job if the documents state too many children. */
export function embedMode(spec: EmbedSpec, facts: Facts): Mode {
  const most = mostChildren(spec, facts);
  const pages = `${n(CHILDREN_WITH_THE_PAGE)} are written with their parent’s page`;
  const rest = 'a job with durable state writes the rest, any host can resume it, and a newer parent restarts it';
  if (most === undefined)
    return {
      mode: 'fields in place, with the page or by a resumable job',
      reason: `The documents state no largest number of ${spec.into.type} of one ${spec.from.type}: ${pages}; ${rest}`,
      cheaper: undefined,
    };
  const few = most <= CHILDREN_WITH_THE_PAGE;
  return {
    mode: few ? 'fields in place, with the page' : 'fields in place, by a resumable job',
    reason: few
      ? `One ${spec.from.type} has ${n(most)} children (${spec.into.type}) at most, and ${pages}`
      : `One ${spec.from.type} has up to ${n(most)} children (${spec.into.type}): ${pages}; ${rest}`,
    cheaper: undefined,
  };
}

/** The largest number of children of one parent, by the entity relationships. Elements of a list may have another name. */
function mostChildren({ from, into, each }: EmbedSpec, { requirements }: Facts): number | undefined {
  const maxima = (requirements?.relationships ?? [])
    .filter(({ many, parent }) => many && [words(from.type), words(from.container)].includes(words(parent)))
    .filter(({ child }) => {
      const name = words(child);
      return each ? name.startsWith(words(into.type)) : [words(into.type), words(into.container)].includes(name);
    })
    .flatMap(({ max }) => (max === undefined ? [] : [max]));
  return maxima.length > 0 ? Math.max(...maxima) : undefined;
}

const n = (value: number): string => value.toLocaleString('en-US');

/** The writes that a change of a parent causes, at the largest cardinality. */
export function childrenOf(spec: EmbedSpec, facts: Facts): string {
  const most = mostChildren(spec, facts);
  const change = `a change of ${spec.from.type}`;
  if (most === undefined) return `${change}: all of its ${spec.into.type}; the documents state no largest number`;
  const sink = facts.detail(spec.into.container);
  const ru = sink ? `, ${n(Math.round(most * facts.estimate('replace', sink)))} RU` : '';
  return `${change}: up to ${n(most)} children (${spec.into.type})${ru}`;
}

export const embedNotes = (spec: EmbedSpec, pipeline: Pipeline): string[] => [
  echo(spec, pipeline),
  `A new projection or version begins with the parents that change after its start; \`millrace projections rebuild ${spec.name}\` embeds the other parents.`,
];

/** A write into a source comes back through the source's feed, and costs a read that changes nothing. */
function echo(spec: EmbedSpec, pipeline: Pipeline): string {
  const readers = feedReaders(pipeline).filter((other) => sourcesOf(other).some((of) => ref(of) === ref(spec.into)));
  return `Writes ${writtenBy(spec).join(', ')} of ${ref(spec.into)}: each write comes back through that feed to ${readers.map(({ name }) => name).join(', ') || 'no reader'}, about 0.3 RU and one comparison each.`;
}
