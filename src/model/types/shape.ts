// The union of the values that a field has in all examples.
import { isObject } from '../../base/json.ts';

export interface Shape {
  /** `string`, `number`, `boolean`, `null`, in the order seen. */
  readonly scalars: Set<string>;
  object?: ObjectShape;
  /** The union over all elements of all arrays; absent if there are no elements. */
  elements?: Shape;
  list: boolean;
}

export interface ObjectShape {
  seen: number;
  readonly fields: Map<string, { seen: number; readonly shape: Shape }>;
}

const emptyShape = (): Shape => ({ scalars: new Set(), list: false });

function see(shape: Shape, value: unknown): void {
  if (Array.isArray(value)) {
    shape.list = true;
    for (const element of value) see((shape.elements ??= emptyShape()), element);
  } else if (isObject(value)) {
    shape.object ??= { seen: 0, fields: new Map() };
    seeObject(shape.object, value);
  } else shape.scalars.add(value === null ? 'null' : typeof value);
}

export function seeObject(shape: ObjectShape, value: Readonly<Record<string, unknown>>): void {
  shape.seen += 1;
  for (const [name, member] of Object.entries(value)) {
    const field = shape.fields.get(name) ?? { seen: 0, shape: emptyShape() };
    shape.fields.set(name, field);
    field.seen += 1;
    see(field.shape, member);
  }
}
