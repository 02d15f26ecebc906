import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const DEFINITION_ERRORS = {
  'table-field': {
    meaning: "A document has a field that its table has no column for, and the projection declares `extra: 'refuse'`.",
    hint: "Add the field to the model, or declare it in `columns`; or declare `extra: 'keep'`.",
  },
  'table-value': {
    meaning: 'A document has a value that its column doesn’t hold exactly.',
    hint: "Correct the document, or give the column another type: `columns: { field: 'jsonb' }`.",
  },
  'tenant-crossed': {
    meaning: 'A projection made a document of another tenant than the source document’s, or of no tenant.',
    hint: 'Return the source’s tenant from `map` or `groupBy`. If the projection is meant to combine tenants, declare `acrossTenants: true`.',
  },
  'tenant-invalid': {
    meaning: 'A tenant is not a value of the type that the model’s fields have, or is only white space.',
    hint: 'Write the tenant as the model’s field says.',
  },
  'tenant-missing': {
    meaning: 'A document of a container that belongs to tenants has no tenant: the field is missing, null or empty.',
    hint: 'Give the document its tenant. If all tenants share the container, state `reference: true` for it in the model.',
  },
} as const satisfies ErrorCatalogue;

export const definitionError = errorsOf(DEFINITION_ERRORS);
