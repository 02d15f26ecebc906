// Fields as a document declares them: in TypeScript, C#, Java or Python, in a table of fields, in a
// list, or in a diagram of entities.
// Declarations have no values, so they are no examples.
import type { ContainerDetail, Design } from '../documents.ts';
import type { Container } from '../model.ts';
import { namedLike } from '../reader/owners.ts';
import { jsonName } from '../reader/resources.ts';
import type { RuleDeclared } from './declaration.ts';
import { listedIn } from './declared-lists.ts';
import { FENCE } from './fenced.ts';

const FORMS: readonly RegExp[] = [
  /^\s*(?:readonly\s+)?(?<field>[a-z_]\w*)(?<optional>\?)?\s*:\s*(?<type>[A-Za-z'"{(][^;,=]*?(?:\[\])?)\s*[;,]?\s*(?:\/\/.*)?$/,
  // A dataclass of Python: a type, a default and a comment.
  /^\s+(?<field>[a-z_]\w*)\s*:\s*(?<type>(?:str|int|float|bool|datetime|date|dict|list|Dict|List|Optional|Set|UUID)\b[^=#]*?)\s*(?:=\s*[^#]*?)?\s*(?:#.*)?$/,
  /^\s*(?:\[[^\]]*\]\s*)*public\s+(?:required\s+)?(?<type>[\w.<>?,[\] ]+?)(?<optional>\?)?\s+(?<field>\w+)\s*\{\s*get;/,
  /^\s*private\s+(?:final\s+)?(?<type>[\w.<>?,[\] ]+?)\s+(?<field>[a-z]\w*)\s*(?:=[^;]*)?;/,
  /^\s*\|\s*`(?<field>[\w.]+)`\s*\|\s*`?(?!\/)(?<type>[^|`]+?)`?\s*\|/,
  // Without backticks only a word for a type shows that the row is about a field.
  /^\s*\|\s*(?<field>[A-Za-z_][\w.]*)\s*\|\s*(?<type>(?:string|number|boolean|bool|int\w*|long|float|double|decimal|object|array|list|map|date\w*|timestamp|uuid|guid)\b[^|`]*?)\s*\|/i,
  // Names in a column, with a type: `soldAt    string — ISO date`.
  /^(?<field>[a-z_]\w*)\s{2,}(?<type>(?:string|number|bool(?:ean)?|int\w*|enum|object|array|list|date\w*|timestamp|uuid)\b.*)$/,
  // And with words: `watchlist    — [{ itemId }]`.
  /^(?<field>[a-z_]\w*)\s{2,}[—–-]\s+(?<type>\S.*)$/,
];
/** `{ itemId: Item }`: an object whose names are values. */
const MAP = /^\{\s*\w*[a-z]Id\s*:/;
const ARRAY =
  /\[\]\s*$|^\[|^(Array|List|IList|ICollection|IEnumerable|ReadonlyArray|Sequence|Set)\s*[<[]|^(array|list)\b/i;

const read = new WeakMap<Design, readonly RuleDeclared[]>();

/** All declarations of a document, read once. */
export function declaredIn(design: Design): readonly RuleDeclared[] {
  const known = read.get(design);
  if (known) return known;
  /** An attribute above a property gives its name in JSON. */
  let named: string | undefined;
  const found = design.lines.flatMap((text, index): RuleDeclared[] => {
    // The forms take time with the square of the blanks in a line.
    if (text.length > 400) return [];
    const above = named;
    named = /^\s*[[@]/.test(text) ? (jsonName(text) ?? above) : undefined;
    for (const form of FORMS) {
      const { field, type, optional } = form.exec(text)?.groups ?? {};
      if (field === undefined || type === undefined) continue;
      named = undefined;
      return [
        {
          field: jsonName(text) ?? above ?? field,
          array: ARRAY.test(type.trim()),
          ...(MAP.test(type) && { map: true }),
          optional: optional !== undefined,
          at: { file: design.file, line: index + 1 },
        },
      ];
    }
    return [];
  });
  const all = [...found, ...entitiesIn(design), ...listedIn(design)];
  read.set(design, all);
  return all;
}

/** `ORDER { string storeId FK }` in a diagram of entities, `class Order { +String storeId }` in one of classes. */
function entitiesIn({ lines, file }: Design): RuleDeclared[] {
  let [diagram, entity] = [false, ''];
  return lines.flatMap((text, index): RuleDeclared[] => {
    if (/^\s*(?:erDiagram|classDiagram)\b/.test(text)) diagram = true;
    else if (FENCE.test(text)) [diagram, entity] = [false, ''];
    if (!diagram) return [];
    const begun = /^\s*(?:class\s+)?"?([\w-]+)"?\s*(?:\[[^\]]*\])?\s*\{\s*$/.exec(text)?.[1];
    if (begun !== undefined || /^\s*\}/.test(text)) entity = begun ?? '';
    const { type, field } =
      /^\s+[+#~-]?(?<type>[A-Za-z][\w[\]()<>~-]*)\s+(?<field>\w+)(?:\s+(?:PK|FK|UK)\b.*|\s+".*|\s+\([^)]*\))?\s*$/.exec(
        text,
      )?.groups ?? {};
    if (entity === '' || begun !== undefined || type === undefined || field === undefined) return [];
    return [{ field, array: ARRAY.test(type), optional: false, entity, at: { file, line: index + 1 } }];
  });
}

/** The declarations in the section of a container; several rules ask for them. */
export function declaredOf(design: Design, detail: ContainerDetail): readonly RuleDeclared[] {
  // In a document about one container, all declarations are of its documents.
  if (design.containers.length === 1) return declaredIn(design);
  const known = own.get(detail);
  if (known) return known;
  const span = linesOf(design, detail);
  const containers = containersOf(design);
  const found = declaredIn(design).filter(
    ({ at, entity }) =>
      isIn(span, at.line) || (entity !== undefined && namedLike(entity, containers) === detail.container),
  );
  own.set(detail, found);
  return found;
}

const own = new WeakMap<ContainerDetail, readonly RuleDeclared[]>();

/** The same list for each container, so that it is searched by its names. */
function containersOf(design: Design): readonly Container[] {
  const known = listed.get(design) ?? design.containers.map(({ container }) => container);
  listed.set(design, known);
  return known;
}

const listed = new WeakMap<Design, readonly Container[]>();

export interface TextSpan {
  readonly from: number;
  readonly to: number;
}

export const isIn = ({ from, to }: TextSpan, line: number): boolean => line >= from && line < to;

const spans = new WeakMap<ContainerDetail, TextSpan>();

/** The lines of a container: from its heading to the next heading that isn't a part of it. */
export function linesOf(design: Design, detail: ContainerDetail): TextSpan {
  const known = spans.get(detail);
  if (known) return known;
  const { container, prose } = detail;
  // An example of it may stand far away, below another container.
  const below = design.containers.map((other) => other.container.at.line).filter((line) => line > container.at.line);
  const last = Math.max(
    container.at.line,
    ...prose.map(({ at }) => at.line),
    ...container.types.map(({ at }) => at.line).filter((line) => !below.some((other) => other < line)),
  );
  const next = design.headings.find(({ at }) => at.line > last);
  const span = { from: container.at.line, to: Math.min(design.lines.length + 1, next?.at.line ?? Infinity) };
  spans.set(detail, span);
  return span;
}
