"""The whole footprint of a gang: what admission makes of its pods (policies, webhooks, LimitRanges, runtime classes) and
what ResourceQuotas allow all of them together, on a real API server with its controllers."""
import time

import webhooks
from cluster import CORE, JOBS, Cluster, condition, is_true, live, pytorchjob, summary, wait_until

ADMISSION = "/apis/admissionregistration.k8s.io/v1beta1"
SIDECAR = {"name": "mesh", "image": "example.com/mesh", "restartPolicy": "Always",
           "resources": {"requests": {"cpu": "2"}}}


def namespace(cluster, name):
    cluster.api.create(f"{CORE}/namespaces", {"metadata": {"name": name}})
    wait_until("the namespace has its service account",
               lambda: cluster.api.find(f"{CORE}/namespaces/{name}/serviceaccounts/default"))
    return name


def create(cluster, ns, resource, name, spec):
    cluster.api.create(f"{CORE}/namespaces/{ns}/{resource}", {"metadata": {"name": name}, "spec": spec})


def placed(cluster, name, ns):
    return condition(cluster.job(name, ns), "Placed") or {}


def wait_for_reason(cluster, name, ns, code, *words):
    def said():
        at = placed(cluster, name, ns)
        return at.get("reason") == code and all(word in at["message"] for word in words)

    wait_until(f"{ns}/{name} says {code} {words}", said, describe=lambda: placed(cluster, name, ns))
    print(f"{ns}/{name}: {code}: {placed(cluster, name, ns)['message']}", flush=True)
    assert cluster.pods(name, ns) == []


def wait_for(cluster, name, ns, state):
    wait_until(f"{ns}/{name} {state}", lambda: is_true(cluster.job(name, ns), state),
               describe=lambda: summary(cluster.job(name, ns)))


def gang(cluster, name, ns):
    return cluster.gangs(ns)[f"pytorchjob-{name}"]["status"]


def runs_on_large(cluster, name, ns, pods):
    """One pod on each large node: two do not fit one, and a small one takes none."""
    wait_for(cluster, name, ns, "Running")
    nodes = [pod["spec"]["nodeName"] for pod in cluster.pods(name, ns)]
    print(f"{ns}/{name} on {nodes}", flush=True)
    assert len(set(nodes)) == pods and all(node.startswith("large-") for node in nodes), nodes
    assert gang(cluster, name, ns)["attempt"] == 1


def forever(name, pods, ns, requests):
    return pytorchjob(name, pods, ns=ns, requests=requests, annotations={"hollow.lockstep.dev/run-time": "forever"})


def end(cluster, name, ns):
    cluster.api.delete(f"{JOBS}/namespaces/{ns}/pytorchjobs/{name}")
    wait_until(f"{name} is gone", lambda: cluster.pods(name, ns) == [])


def check_policy(cluster):
    """A MutatingAdmissionPolicy of the API server itself adds a sidecar."""
    ns = namespace(cluster, "policy")
    container = ('Object.spec.initContainers{name: "mesh", image: "example.com/mesh", restartPolicy: "Always", '
                 'resources: Object.spec.initContainers.resources{requests: {"cpu": "2"}}}')
    cluster.api.create(f"{ADMISSION}/mutatingadmissionpolicies", {
        "apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "mesh"},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                                                         "resources": ["pods"]}]},
                 "failurePolicy": "Fail", "reinvocationPolicy": "Never",
                 "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {
                     "expression": f"Object{{spec: Object.spec{{initContainers: [{container}]}}}}"}}]}})
    cluster.api.create(f"{ADMISSION}/mutatingadmissionpolicybindings", {
        "apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "mesh"},
        "spec": {"policyName": "mesh", "matchResources": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns}}}}})

    def injects():  # a policy is compiled a moment after it is written
        pod = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        made = cluster.api.create(f"{CORE}/namespaces/{ns}/pods?dryRun=All", pod)
        return made["spec"].get("initContainers")

    wait_until("the policy is in force", injects)
    cluster.submit(forever("a", 2, ns, {"cpu": "3"}))
    runs_on_large(cluster, "a", ns, 2)
    assert all("mesh" in [c["name"] for c in pod["spec"]["initContainers"]] for pod in cluster.pods("a", ns))
    end(cluster, "a", ns)


def check_webhook(cluster, server):
    ns = namespace(cluster, "webhook")
    cluster.submit(forever("before", 1, ns, {"cpu": "3"}))
    wait_for(cluster, "before", ns, "Running")
    end(cluster, "before", ns)
    # The same template, whose dry run is remembered: the new webhook makes it be asked again.
    server.register(cluster, ns, lambda pod, call: [{"op": "add", "path": "/spec/initContainers", "value": [SIDECAR]}])
    wait_until("the webhook is called", lambda: probe(cluster, ns) and server.calls.get(f"/{ns}"))
    cluster.submit(forever("a", 2, ns, {"cpu": "3"}))
    runs_on_large(cluster, "a", ns, 2)
    end(cluster, "a", ns)


def probe(cluster, ns):
    pod = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return cluster.api.create(f"{CORE}/namespaces/{ns}/pods?dryRun=All", pod)


def check_overhead(cluster):
    ns = namespace(cluster, "overhead")
    cluster.api.create("/apis/node.k8s.io/v1/runtimeclasses", {
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"}, "handler": "heavy",
        "overhead": {"podFixed": {"cpu": "2"}}})
    job = forever("a", 2, ns, {"cpu": "3"})
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"]["runtimeClassName"] = "heavy"
    cluster.submit(job)
    runs_on_large(cluster, "a", ns, 2)
    end(cluster, "a", ns)


def check_limit_range(cluster):
    """What a LimitRange fills in is asked for; what it forbids is told; a change of it is seen at once."""
    ns = namespace(cluster, "limits")
    create(cluster, ns, "limitranges", "defaults",
           {"limits": [{"type": "Container", "defaultRequest": {"cpu": "5"}, "default": {"cpu": "5"}}]})
    job = forever("a", 2, ns, {"memory": "1Gi"})
    wait_until("the defaults are in force", lambda: probe(cluster, ns)["spec"]["containers"][0]["resources"])
    cluster.submit(job)
    runs_on_large(cluster, "a", ns, 2)
    end(cluster, "a", ns)
    create(cluster, ns, "limitranges", "most", {"limits": [{"type": "Container", "max": {"cpu": "2"}}]})
    cluster.submit(forever("b", 2, ns, {"cpu": "3"}))
    wait_for_reason(cluster, "b", ns, "AdmissionRefused", "maximum cpu usage per Container is 2")
    cluster.api.delete(f"{CORE}/namespaces/{ns}/limitranges/most")
    wait_for(cluster, "b", ns, "Running")
    end(cluster, "b", ns)


def used(cluster, ns, quota, name):
    return cluster.api.get(f"{CORE}/namespaces/{ns}/resourcequotas/{quota}").get("status", {}).get("used", {}).get(name)


def check_quota(cluster):
    ns = namespace(cluster, "quota")
    create(cluster, ns, "resourcequotas", "team", {"hard": {"requests.cpu": "4", "pods": "4"}})
    # At the same moment as the quota: nobody has counted yet.
    cluster.submit(forever("a", 4, ns, {"cpu": "1"}))
    cluster.submit(pytorchjob("b", 4, ns=ns, requests={"cpu": "1"}))
    cluster.submit(pytorchjob("big", 5, ns=ns, requests={"cpu": "1"}))
    wait_for(cluster, "a", ns, "Running")
    wait_for_reason(cluster, "b", ns, "QuotaExceeded", "quota team: asks for 4", "used 4 of 4")
    wait_for_reason(cluster, "big", ns, "QuotaTooSmall", "can never start: asks for 5", "allows 4")
    restart_within_quota(cluster, ns)
    end(cluster, "a", ns)
    wait_for(cluster, "b", ns, "Succeeded")
    assert gang(cluster, "b", ns)["attempt"] == 1, gang(cluster, "b", ns)
    cluster.api.patch(f"{CORE}/namespaces/{ns}/resourcequotas/team", {"spec": {"hard": {"requests.cpu": "5", "pods": "5"}}})
    wait_for(cluster, "big", ns, "Succeeded")
    assert gang(cluster, "big", ns)["attempt"] == 1, gang(cluster, "big", ns)


def restart_within_quota(cluster, ns):
    """A quota of exactly the job's size: its own leaving pods fill it; it takes its turn again before those that wait."""
    cluster.api.delete(f"{CORE}/namespaces/{ns}/pods/a-worker-1")
    wait_until("a restarted", lambda: gang(cluster, "a", ns)["attempt"] == 2 and gang(cluster, "a", ns)["phase"] == "Running",
               describe=lambda: gang(cluster, "a", ns))
    assert gang(cluster, "a", ns)["restarts"]["policy"] == 1, gang(cluster, "a", ns)
    assert gang(cluster, "b", ns).get("attempt", 0) == 0, gang(cluster, "b", ns)


def check_quota_scopes(cluster):
    ns = namespace(cluster, "scopes")
    create(cluster, ns, "resourcequotas", "urgent", {
        "hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": ["urgent"]}]}})
    create(cluster, ns, "resourcequotas", "bounded", {"hard": {"limits.cpu": "1"}, "scopes": ["Terminating"]})
    cluster.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "urgent"}, "value": 1000})
    urgent = forever("urgent", 2, ns, {"cpu": "1"})
    bounded = forever("bounded", 2, ns, {"cpu": "1"})
    for replica in urgent["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"]["priorityClassName"] = "urgent"
    for replica in bounded["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"]["activeDeadlineSeconds"] = 3600
        replica["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    cluster.submit(urgent)
    cluster.submit(bounded)
    cluster.submit(forever("plain", 2, ns, {"cpu": "1"}))
    wait_for(cluster, "plain", ns, "Running")
    wait_for_reason(cluster, "urgent", ns, "QuotaTooSmall", "quota urgent allows 1")
    wait_for_reason(cluster, "bounded", ns, "QuotaTooSmall", "asks for 2 limits.cpu, quota bounded allows 1")
    for name in ("plain", "urgent", "bounded"):
        end(cluster, name, ns)


def check_no_node_name(cluster, server):
    """Where pods may not be created with a node they are bound."""
    ns = namespace(cluster, "nodename")
    text = "pods must not choose their node"
    server.register(cluster, ns, lambda pod, call: text if pod["spec"].get("nodeName") else [])
    cluster.submit(pytorchjob("a", 2, ns=ns, requests={"cpu": "1"}))
    wait_for(cluster, "a", ns, "Succeeded")
    assert gang(cluster, "a", ns)["way"] == "Bind", gang(cluster, "a", ns)


def check_failing(cluster, server):
    """A webhook that fails one call in a hundred, and one that answers too late a few times: nobody is hurt."""
    ns = namespace(cluster, "failing")
    server.register(cluster, ns, lambda pod, call: 500 if call % 100 == 7 else [])
    for i in range(10):
        cluster.submit(pytorchjob(f"j{i}", 12, ns=ns, requests={"cpu": "100m"}))
    cluster.wait_for_jobs(10, ns=ns)
    assert server.calls[f"/{ns}"] > 107
    attempts = [gang(cluster, f"j{i}", ns)["attempt"] for i in range(10)]
    print(f"webhook calls: {server.calls[f'/{ns}']}, attempts: {attempts}", flush=True)
    assert attempts == [1] * 10, attempts

    ns = namespace(cluster, "late")
    server.register(cluster, ns, lambda pod, call: time.sleep(3) or [] if call in (1, 3, 4) else [], timeoutSeconds=1)
    cluster.submit(pytorchjob("a", 4, ns=ns, requests={"cpu": "1"}))
    wait_for(cluster, "a", ns, "Succeeded")
    assert gang(cluster, "a", ns)["attempt"] == 1


def main():
    cluster = Cluster()
    server = webhooks.Server(cluster.folder)
    cluster.hollow(4, "--cpu", "4", "--name-prefix", "small-", "--leases", run_time="100ms")
    cluster.hollow(2, "--cpu", "8", "--name-prefix", "large-", "--leases", run_time="100ms")
    operator = cluster.operator()
    check_policy(cluster)
    check_webhook(cluster, server)
    check_overhead(cluster)
    check_limit_range(cluster)
    check_quota(cluster)
    check_quota_scopes(cluster)
    check_no_node_name(cluster, server)
    check_failing(cluster, server)
    wait_until("no live pod", lambda: not live(cluster.api.items(f"{CORE}/pods")))
    assert operator.running(), operator.text()
    assert operator.stop() == 0
    cluster.audit()


if __name__ == "__main__":
    main()
