"""The operator under exactly the rights that deploy/ gives it: jobs run, nothing is forbidden, leaders follow leaders,
urgent requests have a line of their own."""
import json
import os
import re
import subprocess
import time

import yaml
from cluster import CORE, JOBS, LEASE, Cluster, holder, is_true, pytorchjob, tfjob, wait_until

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def apply_deploy(cluster):
    """All of deploy/ but the programs: nobody runs pods here."""
    text = cluster.kubectl("kustomize", os.path.join(ROOT, "deploy"))
    objects = [o for o in yaml.safe_load_all(text) if o["kind"] != "Deployment"]
    assert {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
            "CustomResourceDefinition", "FlowSchema", "PriorityLevelConfiguration"} <= {o["kind"] for o in objects}
    text = yaml.safe_dump_all(objects)
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")


def service_account_kubeconfig(cluster, name="lockstep-operator"):
    token = cluster.kubectl("create", "token", name, "-n", "lockstep-system").strip()
    path = os.path.join(cluster.folder, f"kubeconfig.{name}")
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "here", "cluster": {"server": cluster.api.server,
                                                  "certificate-authority": os.path.join(cluster.folder, "operator-ca")}}],
        "users": [{"name": "operator", "user": {"token": token}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "operator"}}],
    }
    with open(config["clusters"][0]["cluster"]["certificate-authority"], "w") as f:
        f.write(cluster.api.ca)
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        yaml.safe_dump(config, f)
    return path


def run_job(cluster, name):
    cluster.submit(pytorchjob(name, 4))
    wait_until(f"{name} succeeded", lambda: is_true(cluster.job(name), "Succeeded"))


def run_tfjob(cluster):
    cluster.submit(tfjob("tf", Chief=1, PS=1, Worker=2))
    wait_until("tf succeeded", lambda: is_true(cluster.job("tf", kind="TFJob"), "Succeeded"))
    wait_until("its pods are cleaned up", lambda: cluster.pods("tf") == [])


def fail_and_delete(cluster):
    """Failure, cleaning up and deletion need other rights than a life without them."""
    job = pytorchjob("fails", 2, annotations={"hollow.lockstep.dev/exit-code": "1"})
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["restartPolicy"] = "Never"
    job["spec"]["runPolicy"] = {"cleanPodPolicy": "All"}
    cluster.submit(job)
    wait_until("fails failed", lambda: is_true(cluster.job("fails"), "Failed"))
    wait_until("its pods are cleaned up", lambda: cluster.pods("fails") == [])
    cluster.submit(pytorchjob("deleted", 4, annotations={"hollow.lockstep.dev/run-time": "forever"}))
    wait_until("deleted runs", lambda: is_true(cluster.job("deleted"), "Running"))
    cluster.api.delete(f"{JOBS}/namespaces/default/pytorchjobs/deleted")
    wait_until("its pods are gone", lambda: cluster.pods("deleted") == [])


def check_flow_control(cluster, kubeconfig):
    """What ends a gang does not stand in line behind what starts one; the server says in which line a request stood."""
    lines = {name: cluster.api.get(f"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/{name}")["metadata"]["uid"]
             for name in ("lockstep-urgent", "lockstep-creates")}

    def line_of(*command):
        done = subprocess.run(["kubectl", "--kubeconfig", kubeconfig, "-v=8", *command], input="{}", text=True,
                              capture_output=True)
        uid = re.search(r"X-Kubernetes-Pf-Flowschema-Uid: *(\S+)", done.stderr, re.IGNORECASE).group(1)
        return next((name for name, known in lines.items() if known == uid), uid)

    pods = f"{CORE}/namespaces/default/pods"
    assert line_of("create", "--raw", pods, "-f", "-") == "lockstep-creates"
    assert line_of("delete", "--raw", f"{pods}/nobody") == "lockstep-urgent"
    assert line_of("replace", "--raw", LEASE, "-f", "-") == "lockstep-urgent"
    assert line_of("get", "--raw", LEASE) == "lockstep-urgent"
    assert line_of("get", "--raw", pods) not in lines


def bind(cluster, kubeconfig):
    """Pods that wait for their binding, and are bound."""
    operator = cluster.operator("--assign=bind", kubeconfig=kubeconfig)
    cluster.submit(pytorchjob("holder", 4, annotations={"hollow.lockstep.dev/run-time": "forever"}))
    wait_until("holder runs", lambda: is_true(cluster.job("holder"), "Running"))
    cluster.submit(pytorchjob("waits", 4))
    wait_until("its pods wait and say so", lambda: len(pods := cluster.pods("waits")) == 4 and all(
        "Unschedulable" in [c.get("reason") for c in pod["status"].get("conditions", [])] for pod in pods))
    cluster.api.delete(f"{JOBS}/namespaces/default/pytorchjobs/holder")
    wait_until("it succeeds", lambda: is_true(cluster.job("waits"), "Succeeded"))
    return operator


def take_over(cluster, kubeconfig, operators, end):
    """Ends the leader; returns the seconds until another holds the lease."""
    leader = holder(cluster)
    program = next(p for p in operators if f"_{p.pid}_" in leader)
    begin = time.monotonic()
    end(program)
    wait_until("another leader", lambda: (now := holder(cluster)) and now != leader)
    took = time.monotonic() - begin
    operators.remove(program)
    operators.append(cluster.operator("--leader-elect", kubeconfig=kubeconfig))
    return took


def audit_with_its_role(cluster):
    """`lockstep audit` reads a live cluster with ClusterRole lockstep-auditor, and says what it lacks without."""
    cluster.kubectl("create", "serviceaccount", "looks-on", "-n", "lockstep-system")
    kubeconfig = service_account_kubeconfig(cluster, "looks-on")
    command = [cluster.lockstep, "audit", "-o", "json", "--for", "2s", "--kubeconfig", kubeconfig]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 2 and "cannot list resource" in refused.stderr, refused
    cluster.kubectl("create", "clusterrolebinding", "looks-on", "--clusterrole=lockstep-auditor",
                    "--serviceaccount=lockstep-system:looks-on")

    def judged():  # the authorizer learns of the binding a little later
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode == 0 and json.loads(done.stdout)

    report = wait_until("the audit may look", judged)
    assert report["nodes"] == 4 and report["gangs"] and report["notSeen"] == [], report


def check_rights(cluster, logs):
    for log in logs:
        assert "forbidden" not in log.lower(), [line for line in log.splitlines() if "forbidden" in line.lower()]
    user = "system:serviceaccount:lockstep-system:lockstep-operator"
    refused = []
    with open(os.environ["LOCKSTEP_AUDIT_LOG"]) as audit:
        events = [json.loads(line) for line in audit if line.endswith("}\n") and user in line]
    assert len(events) > 20
    for event in events:
        ours = event["user"]["username"] == user and event.get("userAgent", "").startswith("lockstep")
        if ours and event["responseStatus"].get("code") == 403:
            refused.append((event["verb"], event["requestURI"], event["responseStatus"].get("message")))
    assert not refused, refused


def main():
    cluster = Cluster(crds=False)
    apply_deploy(cluster)
    kubeconfig = service_account_kubeconfig(cluster)
    try:
        cluster.kubectl("--kubeconfig", kubeconfig, "get", "secrets", "-A")
    except AssertionError as e:
        assert "forbidden" in str(e)  # so this is not the administrator
    else:
        raise AssertionError("the operator may read secrets")
    check_flow_control(cluster, kubeconfig)
    cluster.hollow(4, gpu=1, run_time="100ms")
    operators = [cluster.operator("--leader-elect", kubeconfig=kubeconfig) for _ in range(2)]
    everybody = list(operators)
    wait_until("a leader", lambda: holder(cluster), describe=lambda: operators[0].text()[-2000:])
    run_job(cluster, "first")
    run_tfjob(cluster)
    fail_and_delete(cluster)

    after_kill = take_over(cluster, kubeconfig, operators, lambda p: p.kill())
    run_job(cluster, "after-kill")
    everybody.append(operators[-1])
    after_term = take_over(cluster, kubeconfig, operators, lambda p: p.stop())
    run_job(cluster, "after-term")
    print(f"another leader {after_kill:.2f} s after kill -9, {after_term:.2f} s after SIGTERM", flush=True)
    assert after_kill < 15
    assert after_term < after_kill, "a lease that is given back is taken sooner than one that runs out"
    for operator in operators:
        operator.stop()
    everybody.append(bind(cluster, kubeconfig))
    check_rights(cluster, [p.text() for p in everybody])
    audit_with_its_role(cluster)
    cluster.audit()


if __name__ == "__main__":
    main()
