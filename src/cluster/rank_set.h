#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace lockstep::cluster {

// A set of small numbers that finds its next member in a few instructions: one bit per number, one bit per
// non-empty word above it. Memory: a bit and a bit per number up to the largest ever put in.
class RankSet {
 public:
  static constexpr uint32_t kEnd = UINT32_MAX;

  void Insert(uint32_t rank) {
    size_t word = rank / 64;
    if (word >= words_.size()) {
      words_.resize(word + 1);
      summary_.resize(word / 64 + 1);
    }
    words_[word] |= Bit(rank);
    summary_[word / 64] |= Bit(word);
  }

  void Erase(uint32_t rank) {
    size_t word = rank / 64;
    if (word >= words_.size()) return;
    words_[word] &= ~Bit(rank);
    if (words_[word] == 0) summary_[word / 64] &= ~Bit(word);
  }

  // The smallest member that is at least `from`, or kEnd.
  uint32_t Next(uint32_t from) const {
    size_t word = from / 64;
    if (word >= words_.size()) return kEnd;
    if (uint64_t rest = words_[word] & (~uint64_t{0} << (from % 64))) return At(word, rest);
    size_t block = (word + 1) / 64;
    if (block >= summary_.size()) return kEnd;
    uint64_t blocks = summary_[block] & (~uint64_t{0} << ((word + 1) % 64));
    while (blocks == 0) {
      if (++block == summary_.size()) return kEnd;
      blocks = summary_[block];
    }
    word = At(block, blocks);
    return At(word, words_[word]);
  }

  bool empty() const { return Next(0) == kEnd; }
  void clear() {
    words_.clear();
    summary_.clear();
  }

 private:
  static uint64_t Bit(size_t number) { return uint64_t{1} << (number % 64); }
  static uint32_t At(size_t word, uint64_t bits) {
    return static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(std::countr_zero(bits));
  }

  std::vector<uint64_t> words_;
  std::vector<uint64_t> summary_;
};

}  // namespace lockstep::cluster
