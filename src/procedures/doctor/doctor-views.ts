import { wholeOf } from '../../pipeline/places.ts';
import { type Pipeline, projectionId } from '../../pipeline/specs.ts';
import { undeclaredHint } from '../../engine/views/held.ts';
import { type View, Views, type ViewVersion, type ViewsByName } from '../../engine/views/views.ts';
import { readAnother, sayUnwritten, unwrittenOf } from '../projections/still-written.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { plural } from '../table.ts';
import { type DoctorFinding, bad, doubtful, good } from './finding.ts';

/** A rebuild that takes longer than this was probably forgotten. */
const FORGOTTEN_MS = 86_400_000;

/** Which versions are current, paused or being built, and what keeps them from it. */
export async function views(
  { pipeline: part }: LoadedPipeline,
  { global: { state } }: Services,
): Promise<DoctorFinding[]> {
  const pipeline = wholeOf(part);
  const all = await new Views(state, pipeline.name).read();
  if (!all)
    return [
      doubtful(
        'views',
        'no version is current yet, because no host has read a change',
        'Start `millrace run`, or deploy the function app. The first host that reads a change makes the lowest version of each projection current.',
      ),
    ];
  const names = new Set([...Object.keys(all), ...pipeline.projections.map(({ name }) => name)]);
  const findings = [...names].flatMap((name) => viewFindings(name, all, pipeline));
  const current = Object.values(all).filter((view) => view.current !== null).length;
  return findings.length > 0 ? findings : [good('views', `${plural(current, 'projection')} with a current version`)];
}

function viewFindings(name: string, all: ViewsByName, pipeline: Pipeline): DoctorFinding[] {
  const view = all[name];
  // Only they have versions side by side; the view of another says that it is paused, or filled again.
  if (!view?.current && pipeline.projections.some((spec) => spec.name === name))
    return [
      doubtful(
        'views',
        `${name} was added to a running pipeline and never built`,
        `Run \`millrace projections rebuild ${name}\`, then \`millrace projections promote ${name}\`.`,
      ),
    ];
  if (!view) return [];
  return [...(view.current ? currentFindings(name, view.current, all, pipeline) : []), ...workFindings(name, view)];
}

function currentFindings(name: string, is: ViewVersion, all: ViewsByName, pipeline: Pipeline): DoctorFinding[] {
  const findings: DoctorFinding[] = [];
  const current = projectionId({ name, version: is.version });
  const unwritten = unwrittenOf(is.reads, pipeline, all);
  if (unwritten)
    findings.push(
      (unwritten.until === undefined ? bad : doubtful)(
        'views',
        `${current} ${sayUnwritten(unwritten)}`,
        readAnother(name, unwritten, all),
      ),
    );
  const declared = new Set(pipeline.projections.map(projectionId));
  if (!declared.has(current))
    findings.push(
      bad(
        'views',
        `${current} is current, but the pipeline does not declare it: its sources wait`,
        undeclaredHint(name, all, declared, Date.now()),
      ),
    );
  return findings;
}

/** What was begun and has not ended. */
function workFindings(name: string, { paused, staged, current }: View): DoctorFinding[] {
  const findings: DoctorFinding[] = [];
  if (paused)
    findings.push(
      doubtful(
        'views',
        `${paused.by} paused ${name} at ${paused.since}`,
        `Run \`millrace projections resume ${name}\`.`,
      ),
    );
  if (staged?.phase === 'frozen' && Date.parse(staged.frozenUntil ?? '') < Date.now())
    findings.push(
      doubtful(
        'views',
        `a promotion of ${name}@${staged.version} was interrupted; hosts continued with ${current ? projectionId({ name, version: current.version }) : 'the content before'}`,
        `Run \`millrace projections promote ${name}\` again.`,
      ),
    );
  else if (staged && Date.now() - Date.parse(staged.since) > FORGOTTEN_MS)
    findings.push(
      doubtful(
        'views',
        `${name}@${staged.version} has been in a rebuild since ${staged.since}; no document is archived meanwhile`,
        `Resume it with \`millrace projections rebuild ${name}\`${staged.container === '' ? '' : ', or drop it'}.`,
      ),
    );
  return findings;
}
