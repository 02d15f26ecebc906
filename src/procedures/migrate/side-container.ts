import { canonical } from '../../base/json.ts';
import { suggestion } from '../../base/near.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { Model } from '../../model/model.ts';

/**
 * For `--into`: a container of the model that can hold the documents of another one under the same keys. That it is in the
 * model lets an erasure find what is written there.
 * @throws UsageError `not-found`, `container-unfit`
 */
export function assertSideContainer(into: string, own: string, { containers }: Model): void {
  const keyOf = (name: string) => containers.find((of) => of.name === name)?.partitionKey;
  if (keyOf(into) === undefined) {
    const known = containers.map(({ name }) => name);
    throw sharedError('not-found', `The model has no container ${into}${suggestion(into, known)}`, {
      hint: 'Add it to the data model with the same partition key, and create it with `millrace model apply`.',
    });
  }
  if (canonical(keyOf(into)) === canonical(keyOf(own))) return;
  throw sharedError('container-unfit', `${into} has another partition key than ${own}`, {
    hint: `Name a container with the key ${(keyOf(own) ?? []).join(', ')}.`,
  });
}
