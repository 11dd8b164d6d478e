#include "web/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <ctime>

namespace lockstep::web {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// A step is microseconds when idle and must stay within a millisecond; the rest shows when it does not.
const Buckets kStepBuckets{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1};
const Buckets kRequestBuckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30};
const Buckets kStartBuckets{0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14'400, 86'400};

// A metric without labels.
template <class Builder>
auto& Plain(prometheus::Registry& registry, Builder&& builder) {
  return builder.Register(registry).Add({});
}

}  // namespace

struct Metrics::Families {
  prometheus::Registry registry;

  Counter& steps = Plain(registry, BuildCounter().Name("lockstep_steps_total").Help("Turns of the engine."));
  Histogram& step_duration = BuildHistogram()
                                 .Name("lockstep_step_duration_seconds")
                                 .Help("Time one turn of the engine takes.")
                                 .Register(registry)
                                 .Add({}, kStepBuckets);
  Family<Counter>& actions =
      BuildCounter().Name("lockstep_actions_total").Help("Actions by kind and result.").Register(registry);
  Gauge& in_flight = Plain(
      registry, BuildGauge().Name("lockstep_actions_in_flight").Help("Actions sent and not yet answered."));
  Family<Counter>& requests = BuildCounter()
                                  .Name("lockstep_api_requests_total")
                                  .Help("Requests to the API server; code 0: no answer.")
                                  .Register(registry);
  Family<Histogram>& request_duration =
      BuildHistogram()
          .Name("lockstep_api_request_duration_seconds")
          .Help("Time from a request to its answer, queue and retries included.")
          .Register(registry);
  Family<Counter>& watch_ends = BuildCounter()
                                    .Name("lockstep_watch_ends_total")
                                    .Help("Watches that ended, and why.")
                                    .Register(registry);
  Family<Gauge>& queue_length =
      BuildGauge().Name("lockstep_queue_length").Help("Gangs that wait in a queue.").Register(registry);
  Family<Gauge>& gangs = BuildGauge().Name("lockstep_gangs").Help("Gangs by phase.").Register(registry);
  Histogram& start_duration = BuildHistogram()
                                  .Name("lockstep_gang_start_duration_seconds")
                                  .Help("Time from queuing a gang to all its members running.")
                                  .Register(registry)
                                  .Add({}, kStartBuckets);
  Histogram& commit_duration = BuildHistogram()
                                   .Name("lockstep_gang_commit_duration_seconds")
                                   .Help("Time from the recorded placement to all members running.")
                                   .Register(registry)
                                   .Add({}, kStartBuckets);
  Gauge& leader =
      Plain(registry, BuildGauge().Name("lockstep_leader").Help("1 in the process that may write."));
  Family<Counter>& impossible = BuildCounter()
                                    .Name("lockstep_impossible_total")
                                    .Help("Doubtful states that were counted and passed over.")
                                    .Register(registry);
  Family<Gauge>& build_info =
      BuildGauge().Name("lockstep_build_info").Help("The running version; always 1.").Register(registry);
  Gauge& start_time = Plain(registry, BuildGauge()
                                          .Name("process_start_time_seconds")
                                          .Help("Start of the process, in seconds since the Unix epoch."));
};

Metrics::Metrics(std::string_view version) : families_(std::make_unique<Families>()) {
  families_->build_info.Add({{"version", std::string(version)}}).Set(1);
  families_->start_time.Set(static_cast<double>(std::time(nullptr)));
}

Metrics::~Metrics() = default;

void Metrics::StepDone(Duration took) {
  families_->steps.Increment();
  families_->step_duration.Observe(Seconds(took));
}

void Metrics::ActionDone(std::string_view kind, std::string_view result) {
  families_->actions.Add({{"kind", std::string(kind)}, {"result", std::string(result)}}).Increment();
}

void Metrics::SetActionsInFlight(int64_t count) { families_->in_flight.Set(static_cast<double>(count)); }

void Metrics::RequestDone(std::string_view verb, std::string_view resource, int code, Duration took) {
  families_->requests
      .Add({{"verb", std::string(verb)}, {"resource", std::string(resource)}, {"code", std::to_string(code)}})
      .Increment();
  families_->request_duration.Add({{"verb", std::string(verb)}}, kRequestBuckets).Observe(Seconds(took));
}

void Metrics::WatchEnded(std::string_view resource, std::string_view reason) {
  families_->watch_ends.Add({{"resource", std::string(resource)}, {"reason", std::string(reason)}})
      .Increment();
}

void Metrics::SetQueueLength(std::string_view queue, int64_t length) {
  families_->queue_length.Add({{"queue", std::string(queue)}}).Set(static_cast<double>(length));
}

void Metrics::SetGangs(std::string_view phase, int64_t count) {
  families_->gangs.Add({{"phase", std::string(phase)}}).Set(static_cast<double>(count));
}

void Metrics::GangStarted(Duration since_queued) { families_->start_duration.Observe(Seconds(since_queued)); }

void Metrics::GangCommitted(Duration since_placed) {
  families_->commit_duration.Observe(Seconds(since_placed));
}

void Metrics::SetLeader(bool leads) { families_->leader.Set(leads ? 1 : 0); }

void Metrics::Impossible(std::string_view what) {
  families_->impossible.Add({{"what", std::string(what)}}).Increment();
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace lockstep::web
