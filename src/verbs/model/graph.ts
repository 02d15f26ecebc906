// What a drawing of a model shows: containers with their keys and types, and a line for each projection of the document.
import { Contract } from '../../contract/declared.ts';
import { outsideOf } from '../../contract/section.ts';
import type { ContainerDetail, ProjectionRow } from '../../model/documents.ts';
import type { Model } from '../../model/model.ts';
import type { Pipeline } from '../../pipeline/specs.ts';

export interface Box {
  readonly name: string;
  /** Absent: it isn't a container of the model, such as a blob container or an event hub. */
  readonly key?: string;
  readonly types: readonly string[];
  readonly derived: boolean;
  /** 0 for a box that no projection writes, otherwise one more than its farthest source. */
  readonly column: number;
}

export interface GraphLine {
  readonly from: string;
  readonly to: string;
  readonly name: string;
  readonly kind: string;
  /** The projection reads it beside its source. */
  readonly joined: boolean;
}

export interface Graph {
  readonly title: string;
  readonly boxes: readonly Box[];
  readonly lines: readonly GraphLine[];
}

/** Of a document, or of code. */
interface Designed {
  readonly title: string;
  readonly containers: readonly Pick<ContainerDetail, 'container' | 'derived'>[];
  readonly projections: readonly Pick<ProjectionRow, 'name' | 'kind' | 'source' | 'joins' | 'sink' | 'sinkText'>[];
}

export function designOfCode({ title, containers }: Model, pipeline: Pipeline): Designed {
  const { declared } = new Contract(pipeline, undefined);
  const written = new Set(declared.map(({ into }) => into?.container));
  return {
    title,
    containers: containers.map((container) => ({ container, derived: written.has(container.name) })),
    projections: declared.map(({ name, kind, from, joins, into, spec }) => ({
      name,
      kind,
      source: from,
      joins,
      sink: into,
      sinkText: outsideOf(spec),
    })),
  };
}

export function graphOf({ title, containers, projections }: Designed): Graph {
  const lines = projections.flatMap(({ name, kind, source, joins, sink, sinkText }): GraphLine[] => {
    const to = sink?.container ?? sinkText.replaceAll('`', '').trim();
    const froms = [source, ...joins].flatMap((of) => of?.container ?? []);
    if (to === '') return [];
    return [...new Set(froms)].map((from, at) => ({ from, to, name, kind, joined: at > 0 }));
  });
  const designed = new Map(containers.map((detail) => [detail.container.name, detail]));
  const names = [...new Set([...designed.keys(), ...lines.flatMap(({ from, to }) => [from, to])])];
  const columns = columnsOf(names, lines);
  const boxes = names.map((name): Box => {
    const detail = designed.get(name);
    return {
      name,
      ...(detail && { key: detail.container.partitionKey.join(', ') }),
      types: detail?.container.types.map((type) => type.name) ?? [],
      derived: detail ? detail.derived && !onlyEmbeds(lines.filter(({ to }) => to === name)) : true,
      column: columns.get(name) ?? 0,
    };
  });
  return { title, boxes, lines };
}

/** An embed writes fields into documents of the application: they are no derived ones. */
const onlyEmbeds = (lines: readonly GraphLine[]): boolean =>
  lines.length > 0 && lines.every(({ kind }) => kind.toLowerCase().startsWith('embed'));

/** Each pass moves sinks behind their sources. As many passes as boxes end it, also where projections are in a circle. */
function columnsOf(names: readonly string[], lines: readonly GraphLine[]): Map<string, number> {
  const columns = new Map(names.map((name) => [name, 0]));
  for (const _ of names.slice(1))
    for (const { from, to } of lines) {
      const behind = (columns.get(from) ?? 0) + 1;
      if (from !== to && behind > (columns.get(to) ?? 0) && behind < names.length) columns.set(to, behind);
    }
  return columns;
}
