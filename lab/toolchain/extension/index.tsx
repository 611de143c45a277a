// A UI extension of Argo CD for tests: a Rollout's tab, with the component that Argo Rollouts' own dashboard shows a Rollout by. It stands for
// argoproj-labs/rollout-extension, which is in no registry that the lab builds from.
import * as React from 'react';
import {RolloutWidget} from '../src/app/components/rollout/rollout';
import {RolloutReplicaSetInfo, RolloutRolloutInfo} from '../src/models/rollout/generated';

// ResourceNode is what Argo CD knows of an object in an Application's tree.
interface ResourceNode {
    kind: string;
    name: string;
    uid: string;
    images?: string[];
    info?: {name: string; value: string}[];
    health?: {status?: string};
    parentRefs?: {kind: string; uid: string}[];
}

const childrenOf = (nodes: ResourceNode[], kind: string, parent: string) => nodes.filter(n => n.kind === kind && (n.parentRefs || []).some(p => p.uid === parent));

const said = (node: ResourceNode, name: string) => (node.info || []).filter(i => i.name === name).map(i => i.value)[0] || '';

const replicaSet = (nodes: ResourceNode[], node: ResourceNode): RolloutReplicaSetInfo => ({
    objectMeta: {name: node.name, uid: node.uid},
    status: node.health && node.health.status,
    revision: said(node, 'Revision').replace('Rev:', '') as any,
    images: node.images,
    pods: childrenOf(nodes, 'Pod', node.uid).map(pod => ({
        objectMeta: {name: pod.name, uid: pod.uid},
        status: said(pod, 'Status Reason'),
        ready: said(pod, 'Containers')
    }))
});

const rolloutInfo = (live: any, nodes: ResourceNode[]): RolloutRolloutInfo => {
    const canary = live.spec.strategy.canary;
    const steps: any[] = (canary && canary.steps) || [];
    const done = (live.status && live.status.currentStepIndex) || 0;
    const weights = steps.slice(0, done + 1).filter(step => step.setWeight !== undefined);
    return {
        objectMeta: live.metadata,
        strategy: canary ? 'Canary' : 'BlueGreen',
        steps,
        step: `${done}/${steps.length}`,
        setWeight: `${done === steps.length ? 100 : weights.length ? weights[weights.length - 1].setWeight : 0}`,
        containers: live.spec.template.spec.containers.map((c: any) => ({name: c.name, image: c.image})),
        replicaSets: childrenOf(nodes, 'ReplicaSet', live.metadata.uid).map(node => replicaSet(nodes, node))
    };
};

const RolloutTab = (props: {resource: any; tree: {nodes?: ResourceNode[]}}) => <RolloutWidget rollout={rolloutInfo(props.resource, props.tree.nodes || [])} />;

(window as any).extensionsAPI.registerResourceExtension(RolloutTab, 'argoproj.io', 'Rollout', 'Canary', {icon: 'fa fa-dove'});
