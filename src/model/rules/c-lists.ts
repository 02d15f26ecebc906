// Lists of a whole container: addresses without a parameter, types of a numbered page, and calls that read all (for C22).
import type { ContainerDetail, Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { saysCrossing } from '../reader/asked.ts';
import { namedLike } from '../reader/owners.ts';
import { type Facts, isOfId } from './facts.ts';
import { linesSaying, textAround } from './said.ts';

export interface Listed {
  readonly detail: ContainerDetail;
  readonly at: Place;
}

const GET = /\bGET\b[\s|*`]{1,8}(?:\/[\w-]+)*\/(?<last>[A-Za-z][\w-]*)(?:\?[^\s`|]*)?[`\s|]/;
const PAGE =
  /^\s*(?:export\s+)?(?:public\s+)?(?:class|interface|record|type)\s+(?:Paged|Paginated)?(?<entity>[A-Z]\w*?)(?:List|Page|Collection)(?:Response|Result|Dto|DTO|Model)?\b/;
const NUMBER = /^\s*["'`]?(?:page|page_?(?:number|size)|total|total_?pages)["'`]?\??\s*:/i;
const READS_ALL = /\.(?:readAll|read_all_items|ReadAllItems)\s*(?:<[^>]*>)?\(/;

/** Few documents, or few readers, or a list that something else keeps. */
const FEW = /setting|config|categor|role|plan|feature|flag|template|tag|countr|currenc|language|lookup|lease/i;
const RARE =
  /\badmin|\bcached?\b|\bmigrat|\bexport\b|\bbackup|\bseed|\bscript\b|\bjest\b|\bmock|\bone-?time|\brare|search index|ai search/i;

/** With one document in each partition, a list reads every partition. */
const isAlone = ({ container }: ContainerDetail): boolean => {
  const [first = '', ...further] = container.partitionKey;
  const own = `${container.name.replace(/ies$/i, 'y').replace(/s$/i, '')}id`;
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return further.length === 0 && (first === '/id' || isOfId(container) || plain(first) === plain(own));
};

const named = ({ containers }: Facts, word: string): ContainerDetail | undefined => {
  const container = namedLike(
    word,
    containers.map((detail) => detail.container),
  );
  return containers.find((detail) => detail.container === container);
};

/** So many lines above a call name its container. */
const ABOVE = 8;
/** And so many around a list may say that it crosses partitions. */
const NEAR = 2;

const called = ({ containers }: Facts, design: Design, line: number): ContainerDetail | undefined => {
  const names = [...textAround(design, line, ABOVE, 0).matchAll(/["'`]([\w-]+)["'`]/g)].map(([, name]) => name);
  const last = names.findLast((name) => containers.some(({ container }) => container.name === name));
  return containers.find(({ container }) => container.name === last);
};

export function listsIn(facts: Facts): Listed[] {
  const { design } = facts;
  if (!design) return [];
  const at = (line: number): Place => ({ file: design.file, line });
  const alone = (detail: ContainerDetail | undefined, line: number): Listed[] =>
    detail &&
    isAlone(detail) &&
    !FEW.test(detail.container.name) &&
    !RARE.test(design.lines[line - 1] ?? '') &&
    !saysCrossing(textAround(design, line, NEAR))
      ? [{ detail, at: at(line) }]
      : [];
  const addresses = linesSaying(design, GET).flatMap(([line, text]) =>
    alone(named(facts, GET.exec(text)?.groups?.['last'] ?? ''), line),
  );
  const pages = linesSaying(design, PAGE).flatMap(([line, text]) =>
    design.lines.slice(line, line + ABOVE).some((below) => NUMBER.test(below))
      ? alone(named(facts, PAGE.exec(text)?.groups?.['entity'] ?? ''), line)
      : [],
  );
  const calls = linesSaying(design, READS_ALL).flatMap(([line]) => {
    const detail = called(facts, design, line);
    return detail && !FEW.test(detail.container.name) && !RARE.test(textAround(design, line, ABOVE, 1))
      ? [{ detail, at: at(line) }]
      : [];
  });
  return [...addresses, ...pages, ...calls];
}
