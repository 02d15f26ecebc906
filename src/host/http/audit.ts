/** One line of JSON for the log. Its first field marks it; infra/modules/alerts.bicep queries these lines. */
export const record = (kind: 'timer' | 'http', fields: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ millrace: kind, ...fields });
