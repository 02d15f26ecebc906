// A21 and A22: what the text says of all keys and containers, against the keys and containers that it designs.
import type { Place } from '../model.ts';
import { type Facts, examplesIn, valueAt } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';

const HIERARCHICAL = /\bhierarchical partition keys?\b|\bHPKs?\b|\bsub-?partition(?:ing|s|ed)?\b/i;
const NOT_SAID =
  /\b(?:not?|never|future|later|if|consider\w*|instead|than|simple|would|could|migrat\w*|alternative\w*|option\w*|vs\.?|without|unlike|requires?)\b/i;
/** What only a key of several levels gives. */
const CLAIMED =
  /\b(?:by|on) \w+(?:, | or |,? or by | and )(?:by )?\w+,? or both\b|\bprefix (?:quer|filter|of the key)\w*|\b(?:overcom|exceed|bypass|lift|beyond)\w*\b[^.|]{0,40}\b20 ?GB/i;
const GLUED = /^[^|:#_-]+[|:#_][^|:#]+/;

/** Containers with a key of one level whose values are of several fields in one string. */
const gluedKeys = (facts: Facts) =>
  facts.containers.filter(({ container }) => {
    const [path = ''] = container.partitionKey;
    const values = examplesIn(container).map((one) => valueAt(one, path));
    return (
      container.partitionKey.length === 1 &&
      values.length > 0 &&
      values.every((value) => typeof value === 'string' && GLUED.test(value) && !/^\d|@|:\/\//.test(value))
    );
  });

/** `/tenantId/day (hierarchical)`, where documents have both fields side by side. */
const AS_PATH = /(?<path>\/(?<first>[a-z]\w*)\/(?<second>[a-z]\w*))[`"')\s]{0,4}\(?[^|`/]{0,20}\bhierarch/i;

function pathsAsLevels({ design, containers }: Facts): { readonly path: string; readonly at: Place }[] {
  if (!design) return [];
  return linesSaying(design, AS_PATH).flatMap(([line, text]) => {
    const { path = '', first = '', second = '' } = AS_PATH.exec(text)?.groups ?? {};
    const levels = [`/${first}`, `/${second}`].join();
    return containers.some(
      ({ container }) =>
        container.partitionKey.join() === levels &&
        examplesIn(container).every((one) => typeof one[first] === 'string'),
    )
      ? [{ path, at: { file: design.file, line } }]
      : [];
  });
}

const NUMBERS = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
];
const COUNT = String.raw`(?<count>two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})`;
/** The sentence is about all containers of the design. */
const COUNTED = new RegExp(
  String.raw`(?:^\W*|\b(?:exactly|has|have|uses?|using|consists? of|contains?|all|there are|split (?:in)?to|the following|of) )${COUNT} (?:cosmos(?: db)? )?containers?\b`,
  'i',
);
const SOME =
  /\b(?:more|other|further|additional|new|extra|lease|per (?:tenant|user|customer)|each|first|example|e\.g\.|could|would|instead|option\w*|between|across)\b/i;
const ONE_KEY =
  /\b(?:both|all|each|every one)\b[^.;|]{0,30}\b(?:partitioned|keyed|partition key)\b[^.;|`]{0,20}`(?<key>\/\w+)`/i;

export const CLAIMS: readonly Rule[] = [
  {
    id: 'A21',
    title: 'A key that is called hierarchical has levels',
    severity: 'error',
    source: SOURCES.microsoft('Hierarchical partition keys in Azure Cosmos DB'),
    why: 'A hierarchical key is two or three paths of the container. The single path `/tenantId/day` means a property of an object, which no document has. A string such as `north|2026-01` in one path is a simple key: a query by a part of it asks every partition, and its value is one logical partition with the limit of 20 GB and 10,000 RU/s (ASM-E136). The rule looks at documents that speak of a hierarchical key, have none, and show values of several fields in one string. C8 checks what is said beside a container’s own key.',
    hint: 'Create the container with the paths (`/region`, `/month`, MultiHash), or call it a synthetic key and delete what only levels give.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design, containers } = facts;
      if (!design) return;
      const paths = pathsAsLevels(facts);
      yield* together(
        paths,
        `${[...new Set(paths.map(({ path }) => path))].join(', ')} is one path, into an object: in documents without that object the key is undefined. The levels of a hierarchical key are several paths`,
      );
      if (containers.some(({ container }) => container.partitionKey.length > 1)) return;
      const glued = gluedKeys(facts);
      if (glued.length === 0) {
        yield missing('a key of one level with several values in it');
        return;
      }
      const at = ([line]: readonly [number, string]): { at: Place } => ({ at: { file: design.file, line } });
      const said = linesSaying(design, HIERARCHICAL).filter(([, text]) => !NOT_SAID.test(text));
      yield* together(
        said.map(at),
        `${glued.map(({ container }) => container.name).join(', ')}: one string of several values isn’t a hierarchical key; a query by a part of it asks every partition, and 20 GB stays the limit of each value`,
        said.length === 0
          ? []
          : [
              ...linesSaying(design, CLAIMED).map((line) => at(line).at),
              ...glued.map((detail) => facts.place(detail, 'partitionKey')),
            ],
      );
    },
  },
  {
    id: 'A22',
    title: 'What is said of all containers is true of each',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'Whoever creates the database by "two containers, both partitioned by `/email`" creates another one than the sections below describe, and costs and reasons that count on it are wrong. The rule compares a stated number of containers with those that the document designs, if it designs more, and a key that all are said to have with the key of each.',
    hint: 'Correct the sentence, and read again what it is a reason for.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const own = facts.containers.filter(({ container }) => !/lease/i.test(container.name));
      const counted = linesSaying(design, COUNTED).flatMap(([line, text]) => {
        const { count = '' } = COUNTED.exec(text)?.groups ?? {};
        const named = NUMBERS.indexOf(count.toLowerCase());
        const number = named < 0 ? Number(count) : named;
        return text.length < 600 && !SOME.test(text) ? [{ number, text, at: { file: design.file, line } }] : [];
      });
      if (counted.length === 0) {
        yield missing('a sentence about all containers');
        return;
      }
      for (const { number, text, at } of counted) {
        const key = ONE_KEY.exec(text)?.groups?.['key'];
        const others = own.filter(
          ({ container: { partitionKey } }) =>
            key !== undefined && partitionKey.length > 0 && partitionKey.join() !== key,
        );
        const isFewer = number < own.length;
        if (!isFewer && others.length === 0) continue;
        yield {
          message: [
            ...(isFewer ? [`The text says ${number} containers, and designs ${own.length}`] : []),
            ...(others.length > 0
              ? [
                  `${others.map(({ container }) => `${container.name} has the key ${container.partitionKey.join(', ')}`).join(', ')}, not ${key}`,
                ]
              : []),
          ].join('; '),
          at,
          related: (others.length > 0 ? others : own).map((detail) => facts.place(detail, 'partitionKey')),
        };
      }
    },
  },
];
