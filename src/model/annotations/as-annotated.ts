// A design as the reader reads it, set right by the annotations: the rules on structure then judge the containers and keys
// that somebody saw in the document.
import type { ContainerDetail, Design } from '../documents.ts';
import { type Annotations, same } from './annotations.ts';

/** Containers that no annotation names were misread; a key is that which all annotations of the container state. */
export function asAnnotated(design: Design, annotations: Annotations): Design {
  const named = annotations.containers;
  if (named.length === 0) return design;
  const containers = design.containers
    .filter(({ container }) => named.some((name) => same(name, container.name)))
    .map((detail) => withKey(detail, annotations));
  return {
    ...design,
    containers,
    model: { ...design.model, containers: containers.map(({ container }) => container) },
    // What the reader didn't understand, somebody has read.
    findings: design.findings.filter(({ code }) => code.startsWith('waiver')),
  };
}

/** Where places differ, no key is taken for right: rule J1 reports them. */
function withKey(detail: ContainerDetail, annotations: Annotations): ContainerDetail {
  const { container } = detail;
  const stated = annotations.keysOf(container.name);
  if (stated.length === 0) return detail;
  const { otherKeys: _, ...others } = container;
  return { ...detail, container: { ...others, partitionKey: annotations.keyOf(container.name) ?? [] } };
}
