// SARIF 2.1.0 for code scanning: paths relative to the working directory, waivers as suppressions.
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SourceLine } from '../../model/model.ts';
import type { Rule, RuleFinding, Severity } from '../../model/rules/rule.ts';
import type { Checked } from './check-text.ts';

const LEVELS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', information: 'note' };

export function sarif({ findings, waived, reading }: Checked, every: readonly Rule[]): string {
  // The concerns of a review have the numbers of its questions, which are no rules.
  const asked = new Set(findings.map(({ rule }) => rule).filter((id) => every.every((rule) => rule.id !== id)));
  const rules = [...every.map(({ id }) => id), ...asked];
  const location = ({ file, line }: SourceLine) => ({
    physicalLocation: {
      artifactLocation: isAbsolute(file)
        ? { uri: pathToFileURL(file).href }
        : { uri: file.split('/').map(encodeURIComponent).join('/'), uriBaseId: 'SRCROOT' },
      region: { startLine: line },
    },
  });
  const result = (finding: RuleFinding) => ({
    ruleId: finding.rule,
    ruleIndex: rules.indexOf(finding.rule),
    level: LEVELS[finding.severity],
    message: {
      text: [finding.message, finding.evidence, finding.hint].filter((part) => part !== undefined).join('. '),
    },
    locations: [location(finding.at)],
    ...(finding.related && { relatedLocations: finding.related.map((place, id) => ({ id, ...location(place) })) }),
  });
  const codes = [...new Set(reading.map(({ code }) => code))];
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'Millrace',
            rules: [
              ...every.map(({ id, title, why, hint, severity }) => ({
                id,
                shortDescription: { text: title },
                fullDescription: { text: why },
                help: { text: hint },
                defaultConfiguration: { level: LEVELS[severity] },
              })),
              ...[...asked].map((id) => ({ id, shortDescription: { text: 'A concern of the review' } })),
              ...codes.map((id) => ({ id, shortDescription: { text: `Reading: ${id.replaceAll('-', ' ')}` } })),
            ],
          },
        },
        originalUriBaseIds: { SRCROOT: { description: { text: 'The working directory' } } },
        results: [
          ...findings.map(result),
          ...waived.map(({ finding, reason }) => ({
            ...result(finding),
            suppressions: [{ kind: 'inSource', justification: reason }],
          })),
          ...reading.map(({ code, severity, message, at }) => ({
            ruleId: code,
            ruleIndex: rules.length + codes.indexOf(code),
            level: LEVELS[severity],
            message: { text: message },
            locations: [location(at)],
          })),
        ],
      },
    ],
  };
  return JSON.stringify(log, undefined, 2);
}
