#!/usr/bin/env python3
"""deploy/ and examples/: every file parses, the operator's rights are exactly the list below."""
import pathlib
import re
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"

# What the operator sends, by (group, resource). A right that is not here is not needed; a need that is not here fails
# on the kube tier, which runs the operator with exactly these.
CLUSTER_RIGHTS = {
    ("", "nodes"): {"get", "list", "watch"},
    ("", "pods"): {"get", "list", "watch", "create", "delete", "patch"},
    ("scheduling.x-k8s.io", "podgroups"): {"get", "list", "watch"},
    ("", "persistentvolumeclaims"): {"list", "watch"},
    ("", "persistentvolumes"): {"list", "watch"},
    ("storage.k8s.io", "storageclasses"): {"list", "watch"},
    ("storage.k8s.io", "csinodes"): {"list", "watch"},
    ("storage.k8s.io", "volumeattachments"): {"list", "watch"},
    ("apps", "daemonsets"): {"list", "watch"},
    ("", "pods/binding"): {"create"},
    ("", "pods/status"): {"patch"},
    ("", "services"): {"get", "list", "watch", "create", "update", "delete"},
    ("", "resourcequotas"): {"get", "list", "watch"},
    ("", "namespaces"): {"get", "list", "watch"},
    ("", "limitranges"): {"get", "list", "watch"},
    ("scheduling.k8s.io", "priorityclasses"): {"get", "list", "watch"},
    ("node.k8s.io", "runtimeclasses"): {"get", "list", "watch"},
    **{("admissionregistration.k8s.io", resource): {"get", "list", "watch"}
       for kind in ("mutating", "validating")
       for resource in (f"{kind}webhookconfigurations", f"{kind}admissionpolicies", f"{kind}admissionpolicybindings")},
    ("", "events"): {"create", "patch"},
    ("kubeflow.org", "pytorchjobs"): {"get", "list", "watch", "patch"},
    ("kubeflow.org", "pytorchjobs/status"): {"patch"},
    ("kubeflow.org", "pytorchjobs/finalizers"): {"update"},
    ("kubeflow.org", "tfjobs"): {"get", "list", "watch", "patch"},
    ("kubeflow.org", "tfjobs/status"): {"patch"},
    ("kubeflow.org", "tfjobs/finalizers"): {"update"},
    ("lockstep.dev", "gangs"): {"get", "list", "watch", "create", "patch", "update", "delete"},
    ("lockstep.dev", "gangs/status"): {"patch", "update"},
    ("lockstep.dev", "gangs/finalizers"): {"update"},
}
AUDITOR_RIGHTS = {("", kind): {"list", "watch"} for kind in ("nodes", "pods", "services", "events")}
AUDITOR_RIGHTS |= {("kubeflow.org", kind): {"list", "watch"} for kind in (
    "pytorchjobs", "tfjobs", "mpijobs", "xgboostjobs", "paddlejobs", "jaxjobs")}
AUDITOR_RIGHTS |= {(group, "jobs"): {"list", "watch"} for group in ("batch", "batch.volcano.sh")}
AUDITOR_RIGHTS |= {(group, "podgroups"): {"list", "watch"} for group in (
    "scheduling.k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io")}
AUDITOR_RIGHTS[("lockstep.dev", "gangs")] = {"list", "watch"}
NAMESPACE_RIGHTS = {("coordination.k8s.io", "leases"): {"create", "get", "update"}}


def documents(path):
    return [doc for doc in yaml.safe_load_all(path.read_text()) if doc is not None]


def of_kind(kind):
    return [doc for path in sorted(DEPLOY.rglob("*.yaml")) for doc in documents(path) if doc["kind"] == kind]


def rights(role):
    found = {}
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


class Files(unittest.TestCase):
    def test_every_yaml_file_parses_and_names_its_kind(self):
        paths = [p for folder in ("deploy", "examples", "tests/manifests") for p in (ROOT / folder).rglob("*.yaml")]
        self.assertGreater(len(paths), 10)
        for path in paths:
            for doc in documents(path):
                self.assertIn("apiVersion", doc, path)
                self.assertIn("kind", doc, path)

    def test_every_file_of_deploy_is_in_a_kustomization(self):
        for folder in (DEPLOY, DEPLOY / "crds"):
            listed = set(documents(folder / "kustomization.yaml")[0]["resources"])
            there = {p.name for p in folder.glob("*.yaml")} | {p.name for p in folder.iterdir() if p.is_dir()}
            self.assertEqual(listed, there - {"kustomization.yaml"}, folder)


class Rights(unittest.TestCase):
    def test_the_cluster_roles_are_exactly_the_lists(self):
        roles = {r["metadata"]["name"]: rights(r) for r in of_kind("ClusterRole")}
        self.assertEqual(roles, {"lockstep-operator": CLUSTER_RIGHTS, "lockstep-auditor": AUDITOR_RIGHTS})

    def test_the_lease_role_is_exactly_the_list_and_stays_in_its_namespace(self):
        roles = of_kind("Role")
        self.assertEqual([r["metadata"]["namespace"] for r in roles], ["lockstep-system"])
        self.assertEqual(rights(roles[0]), NAMESPACE_RIGHTS)
        for rule in roles[0]["rules"]:
            if rule["verbs"] != ["create"]:
                self.assertEqual(rule["resourceNames"], ["lockstep-operator"])

    def test_no_wildcards_no_secrets_no_exec(self):
        for role in of_kind("ClusterRole") + of_kind("Role"):
            for (group, resource), verbs in rights(role).items():
                self.assertNotIn("*", (group, resource) + tuple(verbs))
                self.assertNotIn(resource.split("/")[0], ("secrets", "serviceaccounts", "roles", "clusterroles"))
                self.assertNotIn(resource, ("pods/exec", "pods/eviction"))

    def test_all_rights_are_in_one_file_and_bound_to_one_account(self):
        kinds = {"ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding", "ServiceAccount"}
        for path in DEPLOY.rglob("*.yaml"):
            if path.name != "rbac.yaml":
                self.assertFalse(kinds & {doc["kind"] for doc in documents(path)}, path)
        for binding in of_kind("ClusterRoleBinding") + of_kind("RoleBinding"):
            self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": "lockstep-operator",
                                                    "namespace": "lockstep-system"}])


class Deployment(unittest.TestCase):
    def setUp(self):
        self.deployment = of_kind("Deployment")[0]
        self.pod = self.deployment["spec"]["template"]["spec"]
        self.container = self.pod["containers"][0]

    def test_two_replicas_elect_a_leader(self):
        self.assertEqual(self.deployment["spec"]["replicas"], 2)
        self.assertEqual(self.container["args"][:2], ["operator", "--leader-elect"])
        self.assertEqual(self.pod["serviceAccountName"], "lockstep-operator")

    def test_it_meets_the_restricted_pod_security_standard(self):
        self.assertTrue(self.pod["securityContext"]["runAsNonRoot"])
        self.assertEqual(self.pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertEqual(self.container["securityContext"]["capabilities"], {"drop": ["ALL"]})
        self.assertFalse(self.container["securityContext"]["allowPrivilegeEscalation"])
        self.assertTrue(self.container["securityContext"]["readOnlyRootFilesystem"])

    def test_probes_and_ports(self):
        ports = {p["name"]: p["containerPort"] for p in self.container["ports"]}
        self.assertEqual(ports, {"metrics": 8080, "health": 8081})
        for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            self.assertEqual(self.container[probe]["httpGet"], {"path": path, "port": "health"})

    def test_its_flags_exist(self):
        source = (ROOT / "src/cli/operator.cc").read_text()
        for arg in self.container["args"][1:]:
            flag = re.match(r"--[a-z-]+", arg).group()
            self.assertIn(f'"{flag}"', source, f"lockstep operator has no {flag}")


if __name__ == "__main__":
    unittest.main()
