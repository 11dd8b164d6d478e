#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/check.h"

namespace lockstep {

// Strings as small numbers. The same string has the same id for the life of the interner; ids depend on the
// order of first sight, so no order of output may depend on them.
class Interner {
 public:
  using Id = uint32_t;

  Interner() = default;
  Interner(const Interner& other) : texts_(other.texts_) { Index(); }
  Interner& operator=(const Interner& other) {
    texts_ = other.texts_;
    Index();
    return *this;
  }
  Interner(Interner&&) noexcept = default;
  Interner& operator=(Interner&&) noexcept = default;

  Id Intern(std::string_view text) {
    if (auto found = ids_.find(text); found != ids_.end()) return found->second;
    texts_.emplace_back(text);
    Id id = static_cast<Id>(texts_.size() - 1);
    ids_.emplace(texts_.back(), id);
    return id;
  }

  const std::string& text(Id id) const {
    CHECK(id < texts_.size()) << "id " << id << " of another interner";
    return texts_[id];
  }
  size_t size() const { return texts_.size(); }

 private:
  void Index() {
    ids_.clear();
    for (Id id = 0; id < texts_.size(); ++id) ids_.emplace(texts_[id], id);
  }

  std::deque<std::string> texts_;  // a deque never moves its elements, so views into it stay valid
  std::unordered_map<std::string_view, Id> ids_;
};

}  // namespace lockstep
