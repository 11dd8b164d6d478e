#pragma once

#include "base/result.h"
#include "jobs/kind.h"
#include "json/doc.h"
#include "kube/model/meta.h"
#include "kube/model/quantity.h"
#include "kube/model/taint.h"
#include "sim/words.h"

namespace lockstep::sim {

// Objects from the options of a statement. Each takes the options it knows; those left over are the caller's
// errors.

// `gpu=1 cpu=2 memory=4Gi pods=20 rdma/ib=1`: resources by name; gpu is nvidia.com/gpu. With a prefix
// ("master.") only options that begin with it are taken.
Result<kube::Resources> TakeResources(Words& words, const std::string& prefix = "");

// `runtime=60s exit=1 start-delay=2s start-error=ImagePullBackOff ignore-term=yes hang=yes term-exit=143`:
// the annotations by which a hollow node knows what the program does.
Result<kube::Labels> TakeProgramme(Words& words, const std::string& prefix = "");

// A job without name: `workers=8 master=1`, or `chief=1 ps=2` and so on by the types of its kind, and for all
// roles, or with `worker.` or `ps.` in front for one: resources, programme, `restart=OnFailure select=k=v
// tolerate=key affinity=key:a|b port=23456 near=zone apart=host spread=zone:1` (the last three: rules between
// the job's own pods, by a node label); for the job: `backoff=3 clean=All suspend=yes managed-by=x
// label=k=v`, for a TFJob also `success=AllWorkers dynamic=yes`.
Result<json::Doc> TakeJob(const jobs::Kind& kind, Words& words);

// A bare Pod without name: resources, programme, `node=node-2 select=k=v tolerate=key`; as one of a gang:
// `gang=ring gang-size=4 gate=yes`, or `scheduler=lockstep` with `pod-group=ring`.
Result<json::Doc> TakePod(Words& words);

// "k=v:NoSchedule", "k:NoExecute".
Result<kube::Taint> ParseTaint(std::string_view text);
// "k=v"
Result<std::pair<std::string, std::string>> ParsePair(std::string_view text);

// Divides every duration of a hollow node's programme in a manifest (a job's templates or a pod) by `factor`.
void ScaleProgrammes(json::Doc& manifest, double factor);
// The same for a programme on its own.
kube::Labels Scaled(kube::Labels programme, double factor);

// Gives every pod of the named job a rendezvous with all the others.
void AddRendezvous(json::Doc& manifest, const std::string& job);

}  // namespace lockstep::sim
