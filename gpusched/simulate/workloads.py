"""What a workload object itself is told when it is applied: the verdict on its pod templates."""

from gpusched.admission.admission import Admission
from gpusched.admission.judge_workload import Judge, judge_workload, merged
from gpusched.admission.templates import templates_of
from gpusched.core.fault import Fault
from gpusched.core.read_pod import read_template
from gpusched.simulate.amounts import judge_amounts
from gpusched.simulate.manifest import InputFault, Manifest, located
from gpusched.simulate.world import World


def judge_templates(manifest: Manifest, world: World, faults: list[InputFault] | None = None) -> Admission:
    """One answer for the object. With `faults`, what cannot be read in it is reported there."""
    cluster = world.cluster
    judge = Judge(
        namespace=manifest.namespace,
        facts=cluster.facts,
        config=cluster.config,
        resources=cluster.resources,
        resolve=lambda annotations: cluster.resolution(manifest.namespace, annotations),
    )
    admission = merged(judge_workload(manifest.tree, None, judge))
    if faults is not None:
        found: list[Fault] = []
        for template in templates_of(manifest.tree, found) or ():
            read_template(template.tree, found, template.path, manifest.namespace, manifest.name, None)
            if admission.allowed:
                judge_amounts(template.tree, template.path, cluster.resources, found)
        faults.extend(located(manifest, found))
    return admission
