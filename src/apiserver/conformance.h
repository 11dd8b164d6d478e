#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/doc.h"
#include "kube/api/api.h"

// What Lockstep relies on of a Kubernetes API, as cases that run against any kube::Api: the server in memory
// and a real kube-apiserver must pass the same ones, or the first is wrong.
namespace lockstep::apiserver {

// Where the cases run.
struct Ground {
  kube::Api& api;
  // Exists, is empty and is the suite's own; objects are left behind in it.
  std::string ns;
  // Runs api.loop() until `done` holds; false if `limit` passed first.
  std::function<bool(const std::function<bool()>& done, Duration limit)> run_until;
};

// One case under way: requests that wait for their answer, and what differed from the expected.
class Session {
 public:
  Session(const Ground& ground, std::string_view name);

  kube::Response Send(kube::Request request);
  kube::Request Make(kube::Verb verb, const kube::Resource& resource, const std::string& name) const;
  kube::Response Create(const kube::Resource& resource, const json::Doc& object);
  kube::Response Update(const kube::Resource& resource, const json::Doc& object, const std::string& sub = "");
  kube::Response Patch(const kube::Resource& resource, const std::string& name, const json::Doc& patch,
                       const std::string& sub = "", kube::PatchType type = kube::PatchType::kMerge);
  kube::Response Delete(const kube::Resource& resource, const std::string& name,
                        std::optional<int64_t> grace = {});
  // The stored object; null if there is none.
  json::Doc Stored(const kube::Resource& resource, const std::string& name);

  // Objects of a case have names of their own.
  std::string Name(std::string_view short_name = "a") const;
  json::Doc Pod(const std::string& name, const std::string& node = "") const;
  json::Doc Job(const std::string& name) const;

  void Expect(bool holds, std::string_view what);
  void ExpectText(const std::string& is, const std::string& should_be, std::string_view what);
  // Code, reason and the start of the message.
  void ExpectStatus(const kube::Status& status, int code, std::string_view reason, std::string_view message);

  const Ground& ground() const { return ground_; }
  std::vector<std::string> differences;

 private:
  const Ground& ground_;
  std::string name_;
};

// Follows a watch: "ADDED x", "MODIFIED x", "DELETED x", where x is the name without the case's prefix.
class Follower : public kube::WatchHandler {
 public:
  Follower(Session& session, const kube::Resource& resource, const std::string& labels,
           const std::string& version);

  void OnEvent(kube::WatchEventType type, std::string object) override;
  void OnEnd(kube::Status status) override;
  // Waits for these events and no more.
  void Expect(const std::vector<std::string>& events);

 private:
  Session& session_;
  std::vector<std::string> events_;
  std::unique_ptr<kube::Watch> watch_;
};

struct ConformanceCase {
  std::string_view name;
  void (*run)(Session&);
};

std::span<const ConformanceCase> WriteCases();   // create, update, patch, status
std::span<const ConformanceCase> DeleteCases();  // deletion, lists, watches

// Every case; "name: what differed" for each difference.
std::vector<std::string> RunConformance(const Ground& ground);

}  // namespace lockstep::apiserver
