// What the plan says of an embed: with the page or by a job, to how many children, and what comes back.
import type { Facts } from '../../model/rules/facts.ts';
import { words } from '../fan-outs.ts';
import { ref } from '../declaration.ts';
import { CHILDREN_WITH_THE_PAGE } from '../builders/embed.ts';
import { writtenBy } from '../field-flow.ts';
import type { EmbedSpec, Pipeline } from '../specs.ts';
import { feedReaders, sourcesOf } from '../pipeline.ts';

export interface Mode {
  readonly mode: string;
  readonly reason: string;
  readonly cheaper: string | undefined;
}

/** By the largest number of children that the documents state: with the page, or by a job that outlives its host. */
export function embedMode(spec: EmbedSpec, facts: Facts): Mode {
  const most = mostChildren(spec, facts);
  const pages = `${n(CHILDREN_WITH_THE_PAGE)} are written with their parent’s page`;
  const rest = 'any host goes on with the rest from a durable state, and a newer parent starts it over';
  if (most === undefined)
    return {
      mode: 'fields in place, with the page or by a resumable job',
      reason: `The documents state no largest number of ${spec.into.type} of one ${spec.from.type}: ${pages}, ${rest}`,
      cheaper: undefined,
    };
  const few = most <= CHILDREN_WITH_THE_PAGE;
  return {
    mode: few ? 'fields in place, with the page' : 'fields in place, by a resumable job',
    reason: few
      ? `One ${spec.from.type} has ${n(most)} children (${spec.into.type}) at most, and ${pages}`
      : `One ${spec.from.type} has up to ${n(most)} children (${spec.into.type}): ${pages}, ${rest}`,
    cheaper: undefined,
  };
}

/** Children of one parent at the most, by the entity relationships; elements of a list may be called by their own name. */
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

/** What a change of a parent makes it write, at the largest cardinality. */
export function childrenOf(spec: EmbedSpec, facts: Facts): string {
  const most = mostChildren(spec, facts);
  const told = `a change of ${spec.from.type}`;
  if (most === undefined)
    return `${told}: as many ${spec.into.type} as there are; the documents state no largest number`;
  const sink = facts.detail(spec.into.container);
  const ru = sink ? `, ${n(Math.round(most * facts.estimate('replace', sink)))} RU` : '';
  return `${told}: up to ${n(most)} children (${spec.into.type})${ru}`;
}

export const embedNotes = (spec: EmbedSpec, pipeline: Pipeline): string[] => [
  echo(spec, pipeline),
  `It begins with the parents that change from then on; \`millrace projections rebuild ${spec.name}\` fills in what the others say, for a new one or a new version.`,
];

/** What is written into a source comes back through its feed, and is read once more for nothing. */
function echo(spec: EmbedSpec, pipeline: Pipeline): string {
  const readers = feedReaders(pipeline).filter((other) => sourcesOf(other).some((of) => ref(of) === ref(spec.into)));
  return `Writes ${writtenBy(spec).join(', ')} of ${ref(spec.into)}: each write comes back through that feed to ${readers.map(({ name }) => name).join(', ') || 'nobody'}, some 0.3 RU and one comparison each.`;
}
