#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cluster/copy_on_write.h"

namespace lockstep::cluster {

// What SharedMap and SharedSet have in common: entries in the order of their keys, in leaves of up to kLeaf.
// A copy copies the pointers to the leaves; whoever changes a leaf first makes its own copy of that leaf's
// pointers, and of one entry when it edits that.
//
// Entries stay where they are while others come and go; iterators end with any change. Copies may go to other
// threads.
template <class Key, class Entry>
class SharedEntries {
 protected:
  using Leaf = std::vector<std::shared_ptr<Entry>>;
  using Leaves = std::vector<std::shared_ptr<Leaf>>;

 public:
  static constexpr size_t kLeaf = 64;

  class const_iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using pointer = const Entry*;
    using reference = const Entry&;

    const_iterator() = default;
    reference operator*() const { return *(*(*leaves_)[leaf_])[at_]; }
    pointer operator->() const { return &**this; }
    const_iterator& operator++() {
      if (++at_ == (*leaves_)[leaf_]->size()) *this = {leaves_, leaf_ + 1, 0};
      return *this;
    }
    const_iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
    const_iterator& operator--() {
      if (at_ == 0) *this = {leaves_, leaf_ - 1, (*leaves_)[leaf_ - 1]->size()};
      --at_;
      return *this;
    }
    const_iterator operator--(int) { return std::exchange(*this, std::prev(*this)); }
    bool operator==(const const_iterator& other) const { return leaf_ == other.leaf_ && at_ == other.at_; }

   private:
    friend SharedEntries;
    const_iterator(const Leaves* leaves, size_t leaf, size_t at) : leaves_(leaves), leaf_(leaf), at_(at) {}

    const Leaves* leaves_ = nullptr;
    size_t leaf_ = 0, at_ = 0;
  };
  using iterator = const_iterator;
  using value_type = Entry;

  const_iterator begin() const { return {&leaves_, 0, 0}; }
  const_iterator end() const { return {&leaves_, leaves_.size(), 0}; }
  bool empty() const { return leaves_.empty(); }
  size_t size() const { return size_; }
  void clear() { *this = {}; }

  // The first that is not less than `key`, or that is greater.
  const_iterator lower_bound(const Key& key) const {
    return Bound([&](const std::shared_ptr<Entry>& entry) { return KeyOf(*entry) < key; });
  }
  const_iterator upper_bound(const Key& key) const {
    return Bound([&](const std::shared_ptr<Entry>& entry) { return !(key < KeyOf(*entry)); });
  }
  const_iterator find(const Key& key) const {
    const_iterator found = lower_bound(key);
    return found == end() || key < KeyOf(*found) ? end() : found;
  }
  bool contains(const Key& key) const { return find(key) != end(); }

  // True if there was one.
  bool erase(const Key& key) {
    const_iterator found = find(key);
    if (found == end()) return false;
    Leaf& leaf = OwnLeaf(found.leaf_);
    leaf.erase(leaf.begin() + static_cast<std::ptrdiff_t>(found.at_));
    --size_;
    if (leaf.empty()) {
      leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(found.leaf_));
    } else if (leaf.size() < kLeaf / 4) {
      Merge(found.leaf_);
    }
    return true;
  }

 protected:
  static const Key& KeyOf(const Entry& entry) {
    if constexpr (std::is_same_v<Key, Entry>) {
      return entry;  // NOLINT(bugprone-return-const-ref-from-parameter): of an entry that the map holds
    } else {
      return entry.first;
    }
  }

  // Puts an entry where `place`, the lower bound of its key, stands.
  Entry& Insert(const_iterator place, std::shared_ptr<Entry> entry) {
    size_t leaf = place.leaf_, at = place.at_;
    if (leaf > 0 && at == 0) at = leaves_[--leaf]->size();  // a leaf's end rather than the next one's begin
    if (leaves_.empty()) leaves_.push_back(std::make_shared<Leaf>());
    if (leaves_[leaf]->size() == kLeaf) {
      // Keys that come in order fill their leaves.
      size_t cut = at == kLeaf ? kLeaf - 1 : kLeaf / 2;
      Leaf& full = OwnLeaf(leaf);
      auto half = full.begin() + static_cast<std::ptrdiff_t>(cut);
      auto rest = std::make_shared<Leaf>(std::make_move_iterator(half), std::make_move_iterator(full.end()));
      full.erase(half, full.end());
      leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(leaf) + 1, std::move(rest));
      if (at > cut) ++leaf, at -= cut;
    }
    Leaf& to = OwnLeaf(leaf);
    ++size_;
    return **to.insert(to.begin() + static_cast<std::ptrdiff_t>(at), std::move(entry));
  }

  Entry& OwnEntry(const_iterator at) { return MakeOwn(OwnLeaf(at.leaf_)[at.at_]); }

 private:
  template <class Before>
  const_iterator Bound(const Before& before) const {
    auto leaf = std::ranges::partition_point(
        leaves_, [&](const std::shared_ptr<Leaf>& one) { return before(one->back()); });
    if (leaf == leaves_.end()) return end();
    auto at = std::ranges::partition_point(**leaf, before);
    return {&leaves_, static_cast<size_t>(leaf - leaves_.begin()),
            static_cast<size_t>(at - (*leaf)->begin())};
  }

  Leaf& OwnLeaf(size_t at) { return MakeOwn(leaves_[at]); }

  // A leaf that has become small joins a neighbour that has room.
  void Merge(size_t at) {
    size_t left = at + 1 < leaves_.size() ? at : at - 1;
    if (leaves_.size() < 2 || leaves_[left]->size() + leaves_[left + 1]->size() > kLeaf / 2) return;
    Leaf& into = OwnLeaf(left);
    into.insert(into.end(), leaves_[left + 1]->begin(), leaves_[left + 1]->end());
    leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(left) + 1);
  }

  Leaves leaves_;  // none is empty
  size_t size_ = 0;
};

// A sorted map that is cheap to copy: 100,000 entries in some 10 µs. What it shows is const; a value is
// changed through Edit or At, which give it to this map alone.
template <class Key, class Value>
class SharedMap : public SharedEntries<Key, std::pair<const Key, Value>> {
  using Entry = std::pair<const Key, Value>;
  using Base = SharedEntries<Key, Entry>;

 public:
  // Null if there is none.
  Value* Edit(const Key& key) {
    auto found = this->find(key);
    return found == this->end() ? nullptr : &this->OwnEntry(found).second;
  }
  // The value to edit, made if there is none; and whether it was made.
  std::pair<Value&, bool> At(const Key& key) {
    auto place = this->lower_bound(key);
    bool there = place != this->end() && !(key < place->first);
    if (there) return {this->OwnEntry(place).second, false};
    return {this->Insert(place, std::make_shared<Entry>(key, Value())).second, true};
  }
  void Put(const Key& key, Value value) { At(key).first = std::move(value); }
  // Null if there is none.
  const Value* Get(const Key& key) const {
    auto found = this->find(key);
    return found == this->end() ? nullptr : &found->second;
  }
  // There must be one.
  const Value& at(const Key& key) const {
    const Value* value = Get(key);
    CHECK(value != nullptr) << "no such key in a map";
    return *value;
  }
};

// The same without values.
template <class Key>
class SharedSet : public SharedEntries<Key, Key> {
 public:
  // True if it is new.
  bool insert(Key key) {
    auto place = this->lower_bound(key);
    if (place != this->end() && !(key < *place)) return false;
    this->Insert(place, std::make_shared<Key>(std::move(key)));
    return true;
  }
};

}  // namespace lockstep::cluster
