"""The Kubeflow SDK (kubeflow-training on PyPI) makes a job, waits for it, reads its state and deletes it.

Skipped, and says so, where the SDK is not installed: pip install kubeflow-training==1.9.4
"""
import sys

from cluster import Cluster, live, wait_until

SKIPPED = 77

try:
    from kubeflow.training import TrainingClient
    from kubeflow.training.models import (KubeflowOrgV1PyTorchJob, KubeflowOrgV1PyTorchJobSpec, KubeflowOrgV1ReplicaSpec,
                                          KubeflowOrgV1RunPolicy)
    from kubernetes.client import V1Container, V1ObjectMeta, V1PodSpec, V1PodTemplateSpec, V1ResourceRequirements
except ImportError as e:
    print(f"skipped: {e}; pip install kubeflow-training==1.9.4")
    sys.exit(SKIPPED)


def replica(count):
    container = V1Container(name="pytorch", image="example.com/train", args=["--epochs=1"],
                            resources=V1ResourceRequirements(limits={"nvidia.com/gpu": "1"}))
    template = V1PodTemplateSpec(spec=V1PodSpec(containers=[container]))
    return KubeflowOrgV1ReplicaSpec(replicas=count, template=template, restart_policy="OnFailure")


def main():
    cluster = Cluster()
    cluster.hollow(4, gpu=1, run_time="500ms")
    operator = cluster.operator()
    client = TrainingClient(config_file=cluster.kubeconfig, job_kind="PyTorchJob")
    job = KubeflowOrgV1PyTorchJob(
        api_version="kubeflow.org/v1", kind="PyTorchJob", metadata=V1ObjectMeta(name="from-sdk", namespace="default"),
        spec=KubeflowOrgV1PyTorchJobSpec(run_policy=KubeflowOrgV1RunPolicy(clean_pod_policy="None"),
                                         pytorch_replica_specs={"Master": replica(1), "Worker": replica(3)}))
    client.create_job(job, namespace="default")
    done = client.wait_for_job_conditions("from-sdk", namespace="default", timeout=120, polling_interval=1)
    assert done.status.completion_time is not None
    assert client.is_job_succeeded("from-sdk", namespace="default")
    assert not client.is_job_running("from-sdk", namespace="default")
    names = client.get_job_pod_names("from-sdk", namespace="default")
    assert sorted(names) == ["from-sdk-master-0", "from-sdk-worker-0", "from-sdk-worker-1", "from-sdk-worker-2"], names
    assert client.get_job_pod_names("from-sdk", namespace="default", is_master=True) == ["from-sdk-master-0"]
    client.delete_job("from-sdk", namespace="default")
    wait_until("the job's pods are gone", lambda: cluster.pods("from-sdk") == [])
    # The SDK's short form, with torchrun's environment made by the operator.
    client.create_job(name="short", namespace="default", base_image="example.com/train", num_workers=2,
                      num_procs_per_worker=1, resources_per_worker={"gpu": "1"}, command=["torchrun", "train.py"])
    client.wait_for_job_conditions("short", namespace="default", timeout=120, polling_interval=1)
    wait_until("no live pod", lambda: not live(cluster.pods()))
    assert operator.stop() == 0
    cluster.audit()


if __name__ == "__main__":
    main()
