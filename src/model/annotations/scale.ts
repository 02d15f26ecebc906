// How much there is by the text, what the text accepts, and what it doesn't design. A rule asks here before it reports what
// matters only at size, or only of a design.
import { type Annotation, type Annotations, same } from './annotations.ts';

/** What holds fewer documents is in one physical partition, whatever its key. */
const SMALL = 10_000;

const ONE_PERSON =
  /\bsingle[- ]user (?:system|app\w*|tool|setup|deployment)\b|\bfor (?:one|a single) (?:person|user) only\b/i;

/** Words for the number of documents; a document alone may be small in a large container. */
const LITTLE = /\bsmall\b|\bfew\b|\bhandful\b|\blow[- ]volume\b|\bscale\b|\bdozens?\b|\bhundreds?\b/i;

/** A container, a type, or both. */
export interface Subject {
  readonly container?: string | undefined;
  readonly type?: string | undefined;
}

type Scale = Annotation<'scale'>;

/** The scale that the text states of a subject; of the whole document, too. A figure for each user bounds no container. */
function scalesOf(annotations: Annotations, { container, type }: Subject): readonly Scale[] {
  const home = container ?? annotations.containerOf({ type });
  return annotations.of('scale').filter(
    (one) =>
      // What a test environment has bounds nothing.
      one.environment === undefined &&
      (one.within === undefined || one.within.length === 0) &&
      (one.type === undefined || (type !== undefined && same(one.type, type))) &&
      (one.container === undefined || (home !== undefined && same(one.container, home))),
  );
}

/** Whether the text bounds the number of documents to so few that fan-outs, references and few key values don't matter. */
export function isSmall(annotations: Annotations, subject: Subject): boolean {
  const all = scalesOf(annotations, subject);
  const grown = all.some(({ documents = 0, users = 0 }) => documents > SMALL || users > SMALL);
  return (
    all.some(({ users }) => users === 1) ||
    (all.length === 0 && ONE_PERSON.test(annotations.lines.join('\n'))) ||
    (!grown &&
      all.some(
        ({ bounded, documents, users, perSecond, totalBytes, bytes, words }) =>
          bounded === true &&
          (documents !== undefined ||
            users !== undefined ||
            (perSecond === undefined && totalBytes === undefined && bytes === undefined && LITTLE.test(words))),
      ))
  );
}

/** The text knows what an access costs and takes it; where it also calls it frequent, its own figures speak against it. */
export const isAccepted = (
  annotations: Annotations,
  { accepted, says = [], often, container, type }: Annotation<'access'>,
): boolean =>
  accepted === true ||
  isSmall(annotations, { container, type }) ||
  (says.includes('all partitions') && often !== 'often');

/** The upkeep of data: a sweep, an archive, an export, a restore. */
const UPKEEP =
  /^(?:\w+ly )?(?:sweeps?|archiv(?:e|es|ing)|export(?:s|ing)?|restor(?:e|es|ing)|back ?up|backfill|migrat(?:e|es|ing)|rebuild)\b/i;

/** Whether an access serves upkeep, which runs at its own pace. What a screen shows or runs often doesn't. */
export const isMaintenance = ({ aim, name, operation, returns, often }: Annotation<'access'>): boolean =>
  aim === 'maintenance' ||
  (aim !== 'show' &&
    aim !== 'guard' &&
    often !== 'often' &&
    returns !== 'one' &&
    (operation === 'query' || operation === 'delete') &&
    UPKEEP.test(name));

/** There is a place that designs it, or no place calls it existing. */
const isDesigned = (places: readonly { readonly existing?: true | undefined }[]): boolean =>
  places.length === 0 || places.some(({ existing }) => existing !== true);

/** Whether the document only uses the container or type: its key, retention, index and uniqueness are no question of it. */
export function isExisting(annotations: Annotations, { container, type }: Subject): boolean {
  const home = container ?? annotations.containerOf({ type });
  return (
    (home !== undefined && !isDesigned(annotations.of('container').filter((one) => same(one.container, home)))) ||
    (type !== undefined && !isDesigned(annotations.of('type').filter((one) => same(one.type, type))))
  );
}

/** Whether a path is of the elements of a list, which are no documents. */
export const isOfElements = (path: string): boolean => path.includes('[]');

/** The other types of the type's container: what is set on the container holds for them, too. */
export function neighbours(annotations: Annotations, type: string): readonly string[] {
  const homes = annotations.containersOf(type);
  return annotations.types.filter(
    (other) =>
      !same(other, type) && annotations.containersOf(other).some((name) => homes.some((home) => same(home, name))),
  );
}
