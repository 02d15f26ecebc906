import type { Model } from '../../model/model.ts';
import type { Doc, OutsideSpec, Pipeline } from '../specs.ts';
import { layoutOf } from './layout.ts';
import { rowsOf } from './rows.ts';

/** A spec whose `map` gives its rows: those of a table follow from the model. */
export function withRows<S extends OutsideSpec>(spec: S, pipeline: Pipeline, model: Model): S {
  if (spec.kind !== 'table') return spec;
  const layout = layoutOf(spec, pipeline, model);
  return { ...spec, map: (doc: Doc) => rowsOf(layout, doc) };
}
