// What the reader reads of a published design, against the facts that a person read in it.
import { annotationsOf } from '../../../src/model/annotations/annotations.ts';
import { asAnnotated } from '../../../src/model/annotations/as-annotated.ts';
import { annotationsSchema } from '../../../src/model/annotations/schema.ts';
import type { Design } from '../../../src/model/documents.ts';
import type { Container } from '../../../src/model/model.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { plainLines } from '../../../src/model/reader/source.ts';
import { parseRequirements } from '../../../src/model/reader/requirements.ts';
import { checkDocuments } from '../../../src/model/rules/index.ts';
import type { RuleFinding } from '../../../src/model/rules/rule.ts';
import type { Defect, Fact, Published } from './labels.ts';

export interface Measured {
  /** The document couldn't be read at all. */
  readonly error?: string;
  readonly containers: number;
  readonly stated: number;
  readonly read: number;
  readonly unread: readonly Fact[];
  /** Containers of the model that the document doesn't design. */
  readonly extra: readonly string[];
  /** Without information. */
  readonly findings: readonly RuleFinding[];
  /** Defects without a finding at one of their lines. */
  readonly missed: readonly Defect[];
}

/** `annotated`: the text of its file of annotations. */
export function measured(
  { facts, defects }: Published,
  text: string,
  requirements?: string,
  annotated?: string,
): Measured {
  const annotations =
    annotated === undefined
      ? undefined
      : annotationsOf(
          annotationsSchema.parse(JSON.parse(annotated)),
          plainLines(text).split('\n'),
          'm.md',
          'm.annotations.json',
        );
  const { design, error } = designOf(text);
  const unread = facts.filter((fact) => !design || !isRead(design, fact));
  const designed = new Set(facts.filter(({ kind }) => kind === 'key').map(({ container }) => container.toLowerCase()));
  const findings =
    design || annotations
      ? checkDocuments({
          requirements: requirements === undefined ? undefined : parseRequirements(requirements, 'r.md'),
          design: design && annotations ? asAnnotated(design, annotations) : design,
          ...(annotations && { annotations }),
        }).findings.filter(({ severity }) => severity !== 'information')
      : [];
  const names = design?.model.containers.map(({ name }) => name) ?? [];
  return {
    ...(error !== undefined && { error }),
    containers: names.length,
    stated: facts.length,
    read: facts.length - unread.length,
    unread,
    extra: designed.size === 0 ? [] : names.filter((name) => !designed.has(name.toLowerCase())),
    findings,
    missed: defects.filter(
      ({ lines }) =>
        !findings.some(({ at, related = [] }) => [at, ...related].some(({ line }) => lines.includes(line))),
    ),
  };
}

function designOf(text: string): { readonly design?: Design; readonly error?: string } {
  try {
    return { design: parseDesign(text, 'm.md') };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function isRead(design: Design, { kind, line, container: name, value }: Fact): boolean {
  const container = design.model.containers.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
  if (!container) return false;
  const near = (at: number | undefined): boolean => at !== undefined && Math.abs(at - line) <= 1;
  switch (kind) {
    case 'key':
      return container.partitionKey.join(' ') === value;
    case 'ttl':
      return container.defaultTtl === Number(value);
    case 'unique':
      return (container.uniqueKeys ?? []).some(({ paths }) => paths.join(' ') === value);
    case 'throughput':
      return container.throughput?.max === Number(value);
    case 'composite':
      return compositesOf(container).includes(value);
    case 'policy':
      return near(container.places.indexingPolicy?.line);
    case 'example':
      return container.types.some(({ examples }) => examples.some((example) => near(design.exampleLines.get(example))));
    case 'query':
      return (
        design.asked.some(
          ({ container: of, at, queries }) => of === container.name && queries.length > 0 && near(at.line),
        ) || design.mapping.some(({ containers, at }) => containers.includes(container.name) && near(at.line))
      );
    default:
      throw new Error(`facts.tsv has the kind ${kind}, which nothing measures`);
  }
}

const compositesOf = ({ indexingPolicy }: Container): string[] =>
  (indexingPolicy?.compositeIndexes ?? []).map((index) => index.map(({ path }) => path).join(' '));
