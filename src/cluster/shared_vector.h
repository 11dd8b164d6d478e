#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "cluster/copy_on_write.h"

namespace lockstep::cluster {

// A vector that is cheap to copy: in chunks that copies share until one of them changes something there.
template <class T>
class SharedVector {
 public:
  static constexpr size_t kChunk = 64;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t at) const { return (*chunks_[at / kChunk])[at % kChunk]; }
  // To change it; valid until the next call of a non-const member.
  T& Edit(size_t at) { return MakeOwn(chunks_[at / kChunk])[at % kChunk]; }
  void resize(size_t size) {
    size_t first = std::min(size, size_) / kChunk;  // the chunk that may be filled or cut
    chunks_.resize((size + kChunk - 1) / kChunk);
    for (size_t chunk = first; chunk < chunks_.size(); ++chunk) {
      if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_shared<std::vector<T>>();
      MakeOwn(chunks_[chunk]).resize(std::min(kChunk, size - chunk * kChunk));
    }
    size_ = size;
  }

 private:
  std::vector<std::shared_ptr<std::vector<T>>> chunks_;  // all full but the last
  size_t size_ = 0;
};

}  // namespace lockstep::cluster
