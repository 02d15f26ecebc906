/** One line of JSON for the log, told from others by its first field; infra/modules/alerts.bicep queries these. */
export const record = (kind: 'timer' | 'http', fields: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ millrace: kind, ...fields });
