#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::cluster {

// The nodes grouped by the value of one label: the topology domains of rules between pods.
struct Domains {
  static constexpr int32_t kNone = -1;

  std::vector<int32_t> of;         // by node slot; kNone: there is no node, or it lacks the label
  std::vector<std::string> value;  // by domain; domains are numbered by the name of their first node
  bool one_node_each = true;       // as with kubernetes.io/hostname

  int32_t count() const { return static_cast<int32_t>(value.size()); }
};

// The domains of the labels last asked for, made anew when nodes come, go or change.
class DomainCache {
 public:
  static constexpr size_t kMaxKeys = 32;

  template <class Make>
  std::shared_ptr<const Domains> Get(std::string_view key, uint64_t facts_version, uint64_t order_version,
                                     const Make& make) {
    ++clock_;
    for (Entry& entry : entries_) {
      if (entry.key != key) continue;
      entry.last_used = clock_;
      if (entry.facts_version != facts_version || entry.order_version != order_version) {
        entry.domains = make();
        entry.facts_version = facts_version;
        entry.order_version = order_version;
      }
      return entry.domains;
    }
    if (entries_.size() == kMaxKeys) {
      size_t oldest = 0;
      for (size_t i = 1; i < entries_.size(); ++i) {
        if (entries_[i].last_used < entries_[oldest].last_used) oldest = i;
      }
      entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(oldest));
    }
    entries_.push_back({std::string(key), facts_version, order_version, clock_, make()});
    return entries_.back().domains;
  }

 private:
  struct Entry {
    std::string key;
    uint64_t facts_version = 0, order_version = 0, last_used = 0;
    std::shared_ptr<const Domains> domains;
  };

  std::vector<Entry> entries_;
  uint64_t clock_ = 0;
};

}  // namespace lockstep::cluster
