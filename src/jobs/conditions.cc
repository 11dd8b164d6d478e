#include "jobs/conditions.h"

namespace lockstep::jobs {

namespace {

std::string StatusText(bool status) { return status ? "True" : "False"; }

json::Doc Make(const Condition& condition, const json::Doc* old, WallTime now) {
  std::string time = FormatTime(now);
  std::string since = time;
  if (old != nullptr && json::GetString(*old, "status") == StatusText(condition.status)) {
    since = json::GetString(*old, "lastTransitionTime", time);
  }
  return {{"type", condition.type},     {"status", StatusText(condition.status)},
          {"reason", condition.reason}, {"message", condition.message},
          {"lastUpdateTime", time},     {"lastTransitionTime", since}};
}

bool Same(const json::Doc* old, const Condition& condition) {
  return old != nullptr && json::GetString(*old, "status") == StatusText(condition.status) &&
         json::GetString(*old, "reason") == condition.reason;
}

}  // namespace

json::Doc& ConditionsOf(json::Doc& status) {
  json::Doc& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = json::Doc::array();
  return conditions;
}

const json::Doc* FindCondition(const json::Doc& conditions, std::string_view type) {
  for (const json::Doc& condition : conditions) {
    if (json::GetString(condition, "type") == type) return &condition;
  }
  return nullptr;
}

bool IsTrue(const json::Doc& conditions, std::string_view type) {
  const json::Doc* found = FindCondition(conditions, type);
  return found != nullptr && json::GetString(*found, "status") == "True";
}

void RemoveCondition(json::Doc& conditions, std::string_view type) {
  json::Doc kept = json::Doc::array();
  for (json::Doc& condition : conditions) {
    if (json::GetString(condition, "type") != type) kept.push_back(std::move(condition));
  }
  conditions = std::move(kept);
}

void SetCondition(json::Doc& conditions, const Condition& condition, WallTime now) {
  if (IsTrue(conditions, "Failed")) return;
  const json::Doc* old = FindCondition(conditions, condition.type);
  if (Same(old, condition)) return;
  json::Doc made = Make(condition, old, now);
  RemoveCondition(conditions, condition.type);
  if (condition.type == "Restarting") RemoveCondition(conditions, "Running");
  if (condition.type == "Running") RemoveCondition(conditions, "Restarting");
  if (condition.type == "Failed" || condition.type == "Succeeded") {
    for (json::Doc& other : conditions) {
      if (json::GetString(other, "type") == "Running") other["status"] = "False";
    }
  }
  conditions.push_back(std::move(made));
}

void SetFirstCondition(json::Doc& conditions, const Condition& condition, WallTime now) {
  const json::Doc* old = FindCondition(conditions, condition.type);
  if (Same(old, condition) && json::GetString(*old, "message") == condition.message) return;
  json::Doc made = Make(condition, old, now);
  RemoveCondition(conditions, condition.type);
  conditions.insert(conditions.begin(), std::move(made));
}

}  // namespace lockstep::jobs
