// A23: what a program does with containers, against the role that it has.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';

const ROLE = /\bBuilt-?in Data (?:Contributor|Reader)\b|\b00000000-0000-0000-0000-00000000000[12]\b/i;
const APPLICATION = String.raw`(?:apps?|application|services?|api|functions?|worker|program|client|repository|backend|host)`;
/** The application itself does it, when it starts. */
const CREATES = new RegExp(
  String.raw`\b${APPLICATION}\b[^.|]{0,40}\b(?:initiali[sz]e|create|provision|set up|ensure)\w*\b[^.|]{0,40}\b(?:containers?|databases?)\b|\b(?:containers?|databases?)\b[^.|]{0,40}\b(?:created|initiali[sz]ed|provisioned)\b[^.|]{0,30}\b(?:automatically|by the ${APPLICATION}|(?:on|at|during) (?:first |application )?(?:start-?up|run|launch))|\bCreate(?:Database|Container)IfNotExists\w*\b|\bcreate_(?:database|container)_if_not_exists\b`,
  'i',
);
/** A script of a person with another role, or the role that can. */
const ABLE =
  /\b(?:scripts?|bicep|terraform|pipeline|az cosmosdb|DocumentDB Account Contributor|Cosmos DB Operator|account key|connection string|emulator|not|never)\b/i;

const places = (design: Design, words: RegExp): { readonly at: Place; readonly text: string }[] =>
  linesSaying(design, words).map(([line, text]) => ({ at: { file: design.file, line }, text }));

export const ROLES: readonly Rule[] = [
  {
    id: 'A23',
    title: 'A program with a role for data creates no containers',
    severity: 'error',
    source: SOURCES.microsoft('Use role-based access control with Azure Cosmos DB for NoSQL'),
    why: 'The built-in roles Data Contributor and Data Reader are for items and queries. They may not create a database or a container, so a program that does this at its start gets 403 and doesn’t start (ASM-E150). With a key or in the emulator it works, so a test doesn’t show it. The rule reads documents that give one of these roles, and sentences and calls in which the application creates containers.',
    hint: 'Create the containers by the deployment (Bicep, Terraform or the Azure CLI), and let the program only open them.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const roles = places(design, ROLE);
      if (roles.length === 0) {
        yield missing('a role of the data plane');
        return;
      }
      yield* together(
        places(design, CREATES).filter(({ text }) => !ABLE.test(text)),
        'The role of the program is for data only: it may not create a database or a container',
        roles.map(({ at }) => at),
      );
    },
  },
];
