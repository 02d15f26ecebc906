// A24: types of documents that the text names, and shows nowhere.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { declaredIn } from './declared.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';

/** `- Documents: `TaskDocument`, `GoalDocument``: what a container holds. */
const HOLDS =
  /^\s*[-*+]\s+\**(?:documents?|document types?|item types?|entities|types|contains|holds|stores)\**\s*:?\**\s*:?\s*`/i;
const TYPE = /`(?<type>[A-Z]\w+)`/g;

const plain = (name: string): string =>
  name.toLowerCase().replaceAll(/document$|entity$|item$|model$|[^a-z0-9]|s$/g, '');

interface Named {
  readonly type: string;
  readonly at: Place;
}

const namedIn = (design: Design): Named[] =>
  linesSaying(design, HOLDS).flatMap(([line, text]) =>
    [...text.matchAll(TYPE)].map(({ groups }) => ({
      type: groups?.['type'] ?? '',
      at: { file: design.file, line },
    })),
  );

/** A heading, a class, an interface or a diagram has the name. */
function isShown({ lines }: Design, type: string): boolean {
  const opens = new RegExp(
    String.raw`^#+\s.*\b${type}\b|\b(?:class|interface|record|struct|type|enum)\s+${type}\b|^\s*(?:const|let|var)\s.*:\s*${type}\b`,
  );
  return lines.some((line) => opens.test(line));
}

export const UNSHOWN: readonly Rule[] = [
  {
    id: 'A24',
    title: 'A type of document that a container holds is shown',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A container "with `TaskDocument` and `GoalDocument`" of which the text shows only the first leaves open what the second has: its id, its key, what it refers to and how large it becomes. Who builds it decides, and other documents refer to it by an id that nobody stated. The rule reads the types in backticks that the bullets of containers name, in documents that show some of them by a heading, a class, an interface or an example.',
    hint: 'Show a document of the type: id, key, references, what grows. Or delete the type from the container.',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design) return;
      const all = namedIn(design);
      const examples = new Set(containers.flatMap(({ container }) => container.types.map(({ name }) => plain(name))));
      const entities = new Set(
        declaredIn(design).flatMap(({ entity }) => (entity === undefined ? [] : [plain(entity)])),
      );
      const open = all.filter(
        ({ type }) => !isShown(design, type) && !examples.has(plain(type)) && !entities.has(plain(type)),
      );
      // A document that shows none leaves them to the code.
      if (all.length === 0 || open.length === all.length) {
        yield missing('types of documents, of which some are shown');
        return;
      }
      yield* together(
        [...new Map(open.map((one) => [one.at.line, one])).values()],
        `${[...new Set(open.map(({ type }) => type))].join(', ')}: named as what a container holds, and shown nowhere`,
      );
    },
  },
];
