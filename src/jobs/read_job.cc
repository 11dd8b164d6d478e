#include "jobs/read_job.h"

#include "jobs/run_policy.h"

namespace lockstep::jobs {

namespace {

void CheckName(const kube::Meta& meta, FieldErrors& errors) {
  if (IsDns1035Label(meta.name)) return;
  errors.Add("metadata.name",
             "must be a DNS-1035 label (a-z, 0-9, '-', first a letter, at most 63 characters)",
             json::Doc(meta.name));
}

json::DocPtr ObjectOrEmpty(const json::Doc* value) {
  return std::make_shared<json::Doc>(value != nullptr && value->is_object() ? *value : json::Doc::object());
}

}  // namespace

std::variant<Job, InvalidJob> ReadJob(const Framework& framework, const json::Doc& object, OwnRules rules) {
  Job job;
  job.framework = &framework;
  job.meta = kube::ParseMeta(object);
  job.spec = ObjectOrEmpty(json::Key(&object, "spec"));
  job.status = ObjectOrEmpty(json::Key(&object, "status"));
  job.run_policy.managed_by = json::GetString(*job.spec, "runPolicy.managedBy");
  if (!job.ours()) return job;  // another controller judges it

  FieldErrors errors;
  CheckName(job.meta, errors);
  if (const json::Doc* spec = json::Key(&object, "spec"); spec == nullptr || !spec->is_object()) {
    errors.Add("spec", "must be an object");
  }
  job.run_policy = ReadRunPolicy(*job.spec, errors);
  job.roles = ReadRoles(*job.spec, framework.kind(), errors);
  rules(job, errors);
  if (!errors.empty()) return InvalidJob{job.meta, job.status, errors.Take()};
  return job;
}

}  // namespace lockstep::jobs
