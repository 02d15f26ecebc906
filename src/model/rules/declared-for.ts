// Which declarations are of a container's documents, wherever they stand, and whether any field is the key.
import type { ContainerDetail, Design } from '../documents.ts';
import { namedLike } from '../reader/owners.ts';
import type { RuleDeclared } from './declaration.ts';
import { declaredIn, isIn, linesOf } from './declared.ts';
import { type Facts, examplesIn, fieldsIn } from './facts.ts';

/** The declarations of a container's documents: in its section, or of a type that is called like it. */
export function declaredFor(design: Design, detail: ContainerDetail): RuleDeclared[] {
  const span = linesOf(design, detail);
  return declaredIn(design).filter(({ at }) => {
    if (design.containers.length === 1 || isIn(span, at.line)) return true;
    const opened =
      design.lines.slice(Math.max(0, at.line - LONGEST), at.line).findLast((line) => OPENS.test(line)) ?? '';
    return namesType(opened, detail.container.name);
  });
}

const OPENS = /^\s*(?:export\s+)?(?:public\s+)?(?:sealed\s+)?(?:interface|class|type|record|struct)\s+\w|^#|^\s*\{\s*$/;
/** A type has no more lines. */
const LONGEST = 80;

/** `interface Order`, `class OrderDocument`, `"order": {` and `### Order Document` for the container orders. */
function namesType(line: string, container: string): boolean {
  const named =
    /^\s*(?:export\s+)?(?:public\s+)?(?:sealed\s+)?(?:interface|class|type|record|struct)\s+(\w+?)(?:Document|Entity|Item|Model)?\b/.exec(
      line,
    ) ?? /^#+\s+`?(\w[\w ]*?)`?\s+(?:document|schema|entity|fields)\b/i.exec(line);
  return named !== null && namedLike(named[1] ?? '', [{ name: container }]) !== undefined;
}

/** Fewer fields aren't a description of the documents. */
const DESCRIBED = 10;

/** Fewer fields don't describe the documents of one container. */
const DECLARED = 3;

/** Whether nothing names the key as a field, in a text that describes the documents of this container. */
export function isLost({ design, containers }: Facts, detail: ContainerDetail): boolean {
  const { container } = detail;
  const [first = ''] = container.partitionKey;
  const name = first.split('/')[1] ?? '';
  if (!design || name === '' || name === 'id' || examplesIn(container).length > 0) return false;
  const fields = new Set([
    ...declaredIn(design).map(({ field }) => field),
    ...containers.flatMap((one) => [...fieldsIn(one.container)]),
  ]);
  if (fields.size < DESCRIBED || fields.has(name)) return false;
  if (declaredFor(design, detail).length < DECLARED) return false;
  const named = new RegExp(`[.'"]${name}\\b`, 'i');
  return !design.lines.some((line) => named.test(line));
}
