"""`lockstep explain` on a real API server: what stands behind a waiting job, with the user's own rights and without."""
import json
import subprocess

from cluster import CORE, Cluster, is_true, pytorchjob, wait_until
from rbac_test import service_account_kubeconfig


def explain(cluster, *args):
    done = subprocess.run([cluster.lockstep, "explain", *args], capture_output=True, text=True)
    assert done.returncode == 0, done
    return done


def starts(text):
    """The lines that say what would start it."""
    lines = [line[12:] for line in text.splitlines()]
    first = next(i for i, line in enumerate(text.splitlines()) if line.startswith("  starts"))
    return lines[first:]


def reader(cluster, name, rules):
    """A kubeconfig of somebody with these rights in the whole cluster."""
    cluster.kubectl("create", "namespace", "lockstep-system")
    cluster.kubectl("create", "serviceaccount", name, "-n", "lockstep-system")
    cluster.api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": name}, "rules": rules})
    cluster.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}",
                    f"--serviceaccount=lockstep-system:{name}")
    return service_account_kubeconfig(cluster, name)


def main():
    cluster = Cluster()
    cluster.hollow(3, gpu=8, run_time="forever")
    cluster.operator()
    # What admission adds to each pod is told.
    cluster.api.create(f"{CORE}/namespaces/default/limitranges", {
        "metadata": {"name": "defaults"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "500m"}}]}})
    for name in ("a", "b"):
        cluster.submit(pytorchjob(name, 8))
        wait_until(f"{name} runs", lambda name=name: is_true(cluster.job(name), "Running"))
    cluster.submit(pytorchjob("c", 16))
    wait_until("c waits", lambda: is_true(cluster.job("c"), "Created") and cluster.gangs().get("pytorchjob-c", {})
               .get("status", {}).get("reason"))

    text = explain(cluster, "pytorchjob/c").stdout
    assert text.startswith("PyTorchJob default/c waits: needs 16 nvidia.com/gpu, 8 free; a holds 8, b holds 8\n"), text
    assert "500m cpu" in text and "not in the template" in text, text
    assert starts(text)[0] == "when a or b has ended", text
    assert any(line.startswith("with 1 more node like node-") for line in starts(text)), text

    why = json.loads(explain(cluster, "pytorchjob/c", "-o", "json").stdout)["why"]
    assert why["possible"] and why["checked"] and why["starts"][0]["jobs"] == ["a", "b"], why
    assert why["queue"] == {"ahead": 0, "next": [], "waiting": 1}, why

    # It does not wait: where its seats are. Asked by the name of its Gang, or of one of its pods.
    assert "seats" in explain(cluster, "pytorchjob/a").stdout
    assert explain(cluster, "gang/pytorchjob-a").stdout == explain(cluster, "pytorchjob/a").stdout
    pod = cluster.pods("a")[0]["metadata"]["name"]
    assert explain(cluster, f"pod/{pod}").stdout == explain(cluster, "pytorchjob/a").stdout

    # A node: what is free, who is on it, and why those who wait do not use it.
    nodes = [explain(cluster, f"node/{node['metadata']['name']}").stdout
             for node in cluster.api.get(f"{CORE}/nodes")["items"]]
    empty = [text for text in nodes if "is empty" in text]
    assert len(empty) == 1 and "1 job (c): a pod would fit here" in empty[0], nodes
    assert sum("is full" in text and "1 job (c): it has too little nvidia.com/gpu" in text for text in nodes) == 2, nodes

    # Who may not look at nodes is told what the operator wrote, and why no more.
    kubeconfig = reader(cluster, "job-owner", [{"apiGroups": ["lockstep.dev", "kubeflow.org"], "resources": ["*"],
                                               "verbs": ["get", "list", "watch"]}])

    def told():  # the authorizer learns of the binding a little later
        done = subprocess.run([cluster.lockstep, "explain", "pytorchjob/c", "--kubeconfig", kubeconfig],
                              capture_output=True, text=True)
        return done if done.returncode == 0 else None

    done = wait_until("its owner may read it", told)
    assert "needs 16 nvidia.com/gpu, 8 free" in done.stdout and "cannot list resource" in done.stderr, done
    cluster.audit()


if __name__ == "__main__":
    main()
