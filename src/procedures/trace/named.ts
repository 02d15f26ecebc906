import { isKeyLevel } from '../../base/key-level.ts';
import { canonical } from '../../base/json.ts';
import { suggestion } from '../../base/near.ts';
import type { Identity, Key } from '../../feed/reading/change.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { operationsError } from '../errors.ts';
import { plural } from '../table.ts';

/**
 * The document that a person names. A key is one text, such as `store-1`, or a JSON array with a value for each level.
 * @throws UsageError `input-invalid`
 */
export function namedDocument(
  loaded: Pick<LoadedPipeline, 'model'>,
  { container, key: text, id }: { readonly container: string; readonly key: string; readonly id: string },
): Identity {
  const found = knownContainer(loaded, container);
  const key = keyOf(text);
  const levels = found.partitionKey.length;
  if (key.length !== levels)
    throw operationsError(
      'input-invalid',
      `The key has ${plural(key.length, 'value')}, and ${container} has ${plural(levels, 'level')}`,
      {
        hint: `Write '${exampleOf(found.partitionKey, key, id)}': a value for each of ${found.partitionKey.join(', ')}.`,
      },
    );
  return { container, key, id };
}

/** @throws UsageError `input-invalid` */
export function knownContainer(
  { model }: Pick<LoadedPipeline, 'model'>,
  container: string,
): LoadedPipeline['model']['containers'][number] {
  const known = model.containers.map(({ name }) => name);
  const found = model.containers.find(({ name }) => name === container);
  if (found) return found;
  throw operationsError('input-invalid', `The model has no container ${container}${suggestion(container, known)}`, {
    hint: `Name one of: ${known.join(', ')}.`,
  });
}

/** The values that are known; the others are names to replace. */
const exampleOf = (paths: readonly string[], key: Key, id: string): string =>
  canonical(paths.map((path, level) => key[level] ?? (path === '/id' ? id : path.slice(1).toUpperCase())));

function keyOf(text: string): Key {
  if (!text.startsWith('[')) return [text];
  try {
    const values: unknown = JSON.parse(text);
    if (Array.isArray(values) && values.every(isKeyLevel)) return values;
  } catch {
    // Reported below.
  }
  throw operationsError(
    'input-invalid',
    `The key ${text} is not a JSON array of texts, numbers, booleans, nulls and {}`,
    {
      hint: 'Write it as \'["store-1"]\', or as store-1 if it is one text. {} stands for a level that the document lacks.',
    },
  );
}
