/** The name of a metric or attribute of OpenTelemetry in the format of Prometheus, without the suffix of its kind. */
export const prometheusName = (name: string): string => name.replaceAll('.', '_');
