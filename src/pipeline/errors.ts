import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const DEFINITION_ERRORS = {
  'group-value': {
    meaning: '`groupBy` returned a value that can’t be part of a group.',
    hint: 'Return a string, a finite number, a boolean or null in every field of the group.',
  },
  'measure-value': {
    meaning: 'The function of a measure returned a value that the measure can’t add up.',
    hint: 'Return a finite number (`distinct`: a string), or leave the document out with `where`.',
  },
  'sink-id-unfit': {
    meaning: "`map` returned an id that Cosmos DB doesn’t accept, and the projection declares `badIds: 'park'`.",
    hint: "Return another id from `map`, or declare `badIds: 'hash'`.",
  },
  'sink-identity-collision': {
    meaning: 'A projection copies two source documents to the same id and partition key of its sink.',
    hint: 'Return an id from `map` that contains the partition key and the id of the source document.',
  },
  'table-field': {
    meaning: "A document has a field that its table has no column for, and the projection declares `extra: 'refuse'`.",
    hint: "Add the field to the model, or declare it in `columns`; or declare `extra: 'keep'`.",
  },
  'table-unbound': {
    meaning: 'A projection of tables was run where no database is opened, such as in the test kit.',
    hint: 'Run the pipeline with `millrace dev` or `millrace run`.',
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
  'trigger-all-versions': {
    meaning:
      'The pipeline reads a container by its all-versions feed. The triggers of the function app read latest versions only, so hard deletes would be lost.',
    hint: "Run the pipeline with `millrace run`. Or remove `feed: 'all-versions'` from `source()`, and mark deleted documents. `TRIGGER_ALL_VERSIONS=preview` allows the trigger's preview of this feed.",
    usage: true,
  },
  'window-date': {
    meaning: '`timeWindow` got a value that isn’t a date.',
    hint: 'Pass ISO 8601 text, or seconds or milliseconds since 1970. Or leave the document out with `where`.',
  },
  'window-zone': {
    meaning: '`timeWindow` got a time zone that doesn’t exist.',
    hint: 'Use a name of the IANA time zone database, such as `Europe/Berlin`.',
  },
} as const satisfies ErrorCatalogue;

export const definitionError = errorsOf(DEFINITION_ERRORS);
