"""What an API server's audit log says of a run: times, rates, and the writes as a plan for the raw client."""
import datetime
import json

PLURALS = {"pods": "/api/v1", "services": "/api/v1", "events": "/api/v1", "gangs": "/apis/lockstep.dev/v1alpha1",
           "pytorchjobs": "/apis/kubeflow.org/v1"}
WRITES = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}


def when(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def is_write(entry):
    ref = entry.get("objectRef", {})
    return (entry["verb"] in WRITES and ref.get("resource") in PLURALS and 200 <= entry["responseStatus"]["code"] < 300
            and "dryRun" not in entry["requestURI"])


def ours(entry):
    """Writes of the operator and of the hollow nodes, not of the user."""
    return entry.get("userAgent", "").startswith("lockstep")


def name_of(entry):
    ref = entry["objectRef"]
    body = entry.get("requestObject") or {}
    return ref.get("name") or body.get("metadata", {}).get("name", "")


def request_of(entry):
    """The same write for another API server: guards that name UIDs and versions of the first one are left out."""
    ref, body = entry["objectRef"], json.loads(json.dumps(entry.get("requestObject")))
    if isinstance(body, dict) and entry["verb"] != "create":
        for guard in ("uid", "resourceVersion"):
            body.get("metadata", {}).pop(guard, None)
    path = f'{PLURALS[ref["resource"]]}/namespaces/{ref["namespace"]}/{ref["resource"]}'
    if entry["verb"] != "create":
        path += "/" + ref["name"] + ("/" + ref["subresource"] if ref.get("subresource") else "")
    kind = "application/json"
    if entry["verb"] == "patch":
        strategic = ref["resource"] in ("pods", "services", "events")
        kind = "application/strategic-merge-patch+json" if strategic else "application/merge-patch+json"
    if entry["verb"] == "delete":
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    return {"method": WRITES[entry["verb"]], "path": path, "type": kind, "body": json.dumps(body),
            "object": f'{ref["resource"]}/{name_of(entry)}'}


def plan_of(entries):
    return [request_of(e) for e in sorted(entries, key=lambda e: e["requestReceivedTimestamp"])]


def times(entries):
    """Seconds from the first job's create: per job to its last pod created, running and to the job's success."""
    start = min(when(e["requestReceivedTimestamp"]) for e in entries
                if e["verb"] == "create" and e["objectRef"]["resource"] == "pytorchjobs")
    assigned, running, succeeded = {}, {}, {}
    job_of_pod = {}
    for e in entries:
        resource, end = e["objectRef"]["resource"], when(e["stageTimestamp"]) - start
        if resource == "pods" and e["verb"] == "create":
            job = e["requestObject"]["metadata"]["labels"]["training.kubeflow.org/job-name"]
            job_of_pod[name_of(e)] = job
            assigned[job] = max(assigned.get(job, 0), end)
        elif resource == "pods" and e["verb"] == "patch":
            phase = (e["requestObject"] or {}).get("status", {}).get("phase")
            job = job_of_pod.get(name_of(e))
            if phase == "Running" and job:
                running[job] = max(running.get(job, 0), end)
        elif resource == "pytorchjobs" and e["verb"] == "patch":
            conditions = (e["requestObject"] or {}).get("status", {}).get("conditions", [])
            if any(c["type"] == "Succeeded" and c["status"] == "True" for c in conditions):
                succeeded[name_of(e)] = end
    return {"assigned": assigned, "running": running, "succeeded": succeeded}


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def held_while_incomplete(entries):
    """GPU-seconds: from each pod's create to its gang's last create, one GPU a pod."""
    created = {}
    for e in entries:
        if e["objectRef"]["resource"] == "pods" and e["verb"] == "create":
            labels = e["requestObject"]["metadata"]["labels"]
            key = (labels["training.kubeflow.org/job-name"], labels.get("lockstep.dev/attempt"))
            created.setdefault(key, []).append(when(e["stageTimestamp"]))
    return sum(max(ends) - end for ends in created.values() for end in ends)
